"""The stop lever: a file that halts everything and lets nothing new begin, until it is taken away."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text

FILE = "STOP"


@dataclass(frozen=True, slots=True)
class Stop:
    why: str
    at: str


class Lever:
    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE

    def pulled(self) -> Stop | None:
        try:
            text = self.path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            # It is there, or may be: the safe side is to stop.
            return Stop(f"{self.path.name}: {error.strerror}", "")
        try:
            said = json.loads(text)
            return Stop(str(said["why"]), str(said["at"]))
        except (ValueError, KeyError, TypeError):
            # Anybody may make the file by hand, with anything in it.
            return Stop(text.strip()[:200] or "somebody made the file", "")

    def pull(self, why: str) -> Stop:
        stop = Stop(why, time_text(now_us()))
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"why": stop.why, "at": stop.at}) + "\n", "utf-8")
        except OSError as error:
            if (held := self.pulled()) is not None:
                return held  # Such as a folder of that name: it cannot be written, but it stops everything.
            raise RunError(f"{self.path}: {error.strerror}: the stop lever could not be pulled") from None
        return stop

    def release(self) -> bool:
        """Whether it was pulled."""
        try:
            if self.path.is_dir() and not self.path.is_symlink():
                self.path.rmdir()
            else:
                self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            problem = (
                f"{self.path}: {error.strerror}: the stop lever could not be released; take it away by hand"
            )
            raise RunError(problem) from None
        return True
