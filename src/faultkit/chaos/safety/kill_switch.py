"""The kill switch: a file that stops every run and lets nothing new start until it is removed.

`fault chaos stop` pulls it, `fault chaos stop --release` releases it. It is a file, so that it works without
a server, across processes, and by hand with `touch`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.errors import RunError
from faultkit.base.times import now_us, time_text

FILE_NAME = "STOP"


@dataclass(frozen=True, slots=True)
class StopOrder:
    """The reason and the time of a pulled switch."""

    why: str
    at: str
    """RFC 3339, UTC; empty if the file does not say."""


class KillSwitch:
    """The switch of one state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / FILE_NAME

    def pulled(self) -> StopOrder | None:
        """Return the order to stop, or None if the switch is not pulled."""
        try:
            text = self.path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            # The file exists, or may exist: stopping is the safe side.
            return StopOrder(f"{self.path.name}: {error.strerror}", "")
        try:
            document = json.loads(text)
            return StopOrder(str(document["why"]), str(document["at"]))
        except (ValueError, KeyError, TypeError):
            # Users may create the file by hand, with any content.
            return StopOrder(text.strip()[:200] or "the file was made by hand", "")

    def pull(self, why: str) -> StopOrder:
        """Stop everything. Raises RunError if the file cannot be written."""
        order = StopOrder(why, time_text(now_us()))
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"why": order.why, "at": order.at}) + "\n", "utf-8")
        except OSError as error:
            if (pulled := self.pulled()) is not None:
                return pulled  # For example a folder of that name: it cannot be written, but it stops all.
            raise RunError(f"{self.path}: {error.strerror}: the kill switch could not be pulled") from None
        return order

    def release(self) -> bool:
        """Remove the file, and return whether there was one. Raises RunError if it cannot be removed."""
        try:
            if self.path.is_dir() and not self.path.is_symlink():
                self.path.rmdir()
            else:
                self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            problem = (
                f"{self.path}: {error.strerror}: the kill switch could not be released; remove it by hand"
            )
            raise RunError(problem) from None
        return True
