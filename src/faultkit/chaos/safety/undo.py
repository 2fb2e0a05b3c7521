"""Undo: the way to undo an effect, as a value that is written to the ledger before the effect starts.

The owner of the effect, its guardian process and `fault chaos recover` all carry it out in the same way, so
an Undo contains everything that another process needs. Carrying one out twice does no harm. The documents of
`undo_document` are kept in ledgers on disk: newer versions must read what older ones wrote.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

from faultkit.base.errors import FaultkitError, InputError

USUAL_LIMIT_S = 10.0
_GRACE_S = 0.5
"""Extra time for actions that keep the limit themselves and report more precisely what happened."""


@dataclass(frozen=True, slots=True)
class Undo:
    """One effect to undo."""

    kind: str
    """A key of UNDO_ACTIONS."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON. It may contain secrets, such as the token of a control API; `says` must not."""
    says: str = ""
    """Description for people: "remove rule cut-redis from 127.0.0.1:7070"."""
    limit_s: float = USUAL_LIMIT_S


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The outcome of an undo."""

    ok: bool
    message: str
    """What was done, what had been undone before, or why it failed."""


UndoAction: TypeAlias = Callable[[Mapping[str, Any], float], UndoResult]
"""Gets the data of an Undo and the number of seconds it may take."""

UNDO_ACTIONS: dict[str, str] = {
    "rule": "faultkit.chaos.safety.undo_actions:remove_rule",
    "removed_rule": "faultkit.chaos.safety.undo_actions:add_rule",
    "plan": "faultkit.chaos.safety.undo_actions:put_plan",
    "end_process": "faultkit.chaos.safety.undo_actions:end_process",
    "continue_process": "faultkit.chaos.safety.undo_actions:continue_process",
    "http": "faultkit.chaos.safety.undo_actions:send_http",
    "command": "faultkit.chaos.safety.undo_actions:run_command",
    "python": "faultkit.chaos.safety.undo_actions:call_python",
    "toolkit_rollbacks": "faultkit.chaos.experiment.toolkit_process:run_rollbacks",
}
"""The function of each kind, by name, because a guardian imports only what it needs."""

RENEWALS: dict[str, str] = {"rule": "faultkit.chaos.safety.undo_actions:renew_rule"}
"""The functions that extend effects with a time limit of their own."""


def renew(undo: Undo, for_s: float) -> None:
    """Extend the effect for `for_s` seconds from now, if it has a time limit of its own.

    Failures are ignored: an effect that is not renewed ends, which is the safe side."""
    if undo.kind in RENEWALS:
        with suppress(Exception):
            _import_name(RENEWALS[undo.kind])(undo.data, for_s)


def carry_out(undo: Undo) -> UndoResult:
    """Undo the effect and return the outcome.

    Never raises, and never takes much longer than the limit, because other undos wait for this one. An action
    that hangs is left behind in its thread."""
    results: list[UndoResult] = []

    def work() -> None:
        try:
            if undo.kind not in UNDO_ACTIONS:
                raise InputError("kind", f'expected one of {", ".join(UNDO_ACTIONS)}, got "{undo.kind}"')
            action: UndoAction = _import_name(UNDO_ACTIONS[undo.kind])
            results.append(action(undo.data, undo.limit_s))
        except FaultkitError as error:
            results.append(UndoResult(False, str(error)))
        except Exception as error:
            results.append(UndoResult(False, f"{type(error).__name__}: {error}"))

    thread = threading.Thread(target=work, name=f"undo-{undo.kind}", daemon=True)
    thread.start()
    thread.join(undo.limit_s + _GRACE_S)
    return results[0] if results else UndoResult(False, f"it did not end within {undo.limit_s:g} s")


def _import_name(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def undo_document(undo: Undo) -> dict[str, Any]:
    """Return an Undo as a ledger contains it."""
    return {"kind": undo.kind, "data": dict(undo.data), "says": undo.says, "limit_s": undo.limit_s}


def parse_undo(document: Mapping[str, Any]) -> Undo:
    """Return the Undo of a ledger's document. Raises KeyError for a missing key."""
    return Undo(document["kind"], document["data"], document["says"], document["limit_s"])
