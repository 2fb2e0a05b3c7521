"""The result of a proof: the comparison for each fault, the parts of the change that ran, and the verdict.
Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from faultkit.base.numbers import duration
from faultkit.code.proof.exercised import ChangedPart, ranges_text
from faultkit.code.proof.verdict import BLACKHOLE, HEALTHY, NOTICED, FaultComparison, Verdict, overall_verdict


@dataclass(frozen=True, slots=True)
class Proof:
    """The comparison for each fault, and which parts of the change it is about."""

    url: str
    """The route that was called."""
    upstreams: tuple[str, ...]
    """Descriptions of what was behind the service."""
    compared: tuple[FaultComparison, ...]
    parts: tuple[ChangedPart, ...]
    notes: tuple[str, ...] = ()
    """What a user should know about the choice of the route."""

    @property
    def not_exercised(self) -> tuple[ChangedPart, ...]:
        """Parts of the change with lines that never ran."""
        return tuple(each for each in self.parts if each.not_run)

    @property
    def verdict(self) -> Verdict:
        """Of what ran; not shown if no line of the change ran in a call, and some ran never."""
        found = overall_verdict(self.compared)
        if found != "worse" and self.not_exercised and all(each.only_at_start for each in self.parts):
            return "not shown"
        return found

    @property
    def trade_off(self) -> bool:
        """Whether the change is worse under one fault, and better under another."""
        return {"worse", "better"} <= {each.verdict for each in self.compared}

    def summary(self) -> str:
        """Return the verdict as a short sentence."""
        by = {
            verdict: ", ".join(each.fault for each in self.compared if each.verdict == verdict)
            for verdict in ("worse", "better", "not shown")
        }
        seen = [f"{verdict} under: {faults}" for verdict, faults in by.items() if faults]
        text = f"{self.verdict}{' (a trade-off)' if self.trade_off else ''}"
        text += f"; {'; '.join(seen)}" if seen else ""
        if self.parts and all(each.not_run and not each.exercised_by for each in self.parts):
            text += "; the change was not seen to run" if self._has_ended else "; the change never ran"
        elif self.not_exercised:
            count = f"{len(self.not_exercised)} of {len(self.parts)} parts of the change"
            text += f"; only for what ran: {count} not exercised, or not all of it"
        return text

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know beside the verdicts."""
        return (*self.notes, *filter(None, [self._untried_limit()]))

    def unexercised(self) -> tuple[str, ...]:
        """Return a line on each part of the change that has not run, or not all of it."""
        return tuple(map(self._unexercised, self.not_exercised))

    def _unexercised(self, part: ChangedPart) -> str:
        by = ", ".join(part.exercised_by)
        if by:
            return f"lines {part.place}: {by}; not run: {ranges_text(part.not_run)}"
        if any((each.after if part.version == "after" else each.before).ended for each in self.compared):
            return f"lines {part.place}: not seen to run before the process ended"
        return f"lines {part.place}: not exercised"

    @property
    def _has_ended(self) -> bool:
        return any(each.endings for each in self.compared)

    def _untried_limit(self) -> str:
        """Return that no answer was slower than a limit that the change sets; empty if one was."""
        black = next((each for each in self.compared if each.fault == BLACKHOLE), None)
        slow = [each for each in self.compared if each.fault not in (HEALTHY, BLACKHOLE)]
        if black is None or not slow or not black.after.answered:
            return ""
        was, now = black.before.mean_ms, black.after.mean_ms
        is_new = not black.before.answered or max(was, now) > NOTICED * min(was, now)
        longest_ms = max(each.before.mean_ms for each in self.compared if each is not black)
        if not is_new or now <= longest_ms:
            return ""
        return (
            f"The new limit ({duration(now)} under {BLACKHOLE}) is longer than any other answer took "
            f"({duration(longest_ms)}): what happens to answers that take longer than the limit was not tried"
        )

    def document(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "trade_off": self.trade_off,
            "route": self.url,
            "upstreams": list(self.upstreams),
            "notes": list(self.remarks),
            "faults": [each.document() for each in self.compared],
            "parts": [each.document() for each in self.parts],
            "not_exercised": [each.place for each in self.not_exercised],
        }
