"""How an effect is taken back: a value that is written down before the effect, and carried out by anybody.

The runner, the guardian and `fault chaos recover` all carry it out in the same way, so it must hold all that
another process needs. To carry it out twice does no harm.
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


@dataclass(frozen=True, slots=True)
class Undo:
    kind: str
    """A row of UNDOS."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON. It may hold what is secret, such as the token of a control API: `says` must not."""
    says: str = ""
    """For people: "remove rule cut-redis from 127.0.0.1:7070"."""
    limit_s: float = USUAL_LIMIT_S


@dataclass(frozen=True, slots=True)
class UndoResult:
    ok: bool
    message: str
    """What was done, what was found undone already, or why it failed."""


Undoer: TypeAlias = Callable[[Mapping[str, Any], float], UndoResult]
"""Gets the data and how many seconds it may take."""

UNDOS: dict[str, str] = {
    "rule": "faultkit.chaos.undoing:remove_rule",
    "removed_rule": "faultkit.chaos.undoing:add_rule",
    "plan": "faultkit.chaos.undoing:put_plan",
    "end_process": "faultkit.chaos.undoing:end_process",
    "continue_process": "faultkit.chaos.undoing:continue_process",
    "http": "faultkit.chaos.undoing:send_http",
    "command": "faultkit.chaos.undoing:run_command",
    "python": "faultkit.chaos.undoing:call_python",
    "toolkit_rollbacks": "faultkit.chaos.toolkit.rollbacks:run_rollbacks",
}
"""Where each kind is carried out: by name, since a guardian loads only what it needs."""


RENEWALS: dict[str, str] = {"rule": "faultkit.chaos.undoing:renew_rule"}
"""Of those effects that end by themselves after a while: how they are kept for another one."""


def renew(undo: Undo, for_s: float) -> None:
    """Keep the effect for so long from now on, if it has an end of its own. As good as it can: what cannot be
    renewed ends, which is the safe side."""
    if undo.kind in RENEWALS:
        with suppress(Exception):
            _named(RENEWALS[undo.kind])(undo.data, for_s)


def carry_out(undo: Undo) -> UndoResult:
    """Never raises, and never takes much longer than its limit: others wait behind it."""
    results: list[UndoResult] = []

    def work() -> None:
        try:
            results.append(_undoer(undo.kind)(undo.data, undo.limit_s))
        except FaultkitError as error:
            results.append(UndoResult(False, str(error)))
        except Exception as error:
            results.append(UndoResult(False, f"{type(error).__name__}: {error}"))

    thread = threading.Thread(target=work, name=f"undo-{undo.kind}", daemon=True)
    thread.start()
    thread.join(undo.limit_s + _GRACE_S)
    return results[0] if results else UndoResult(False, f"it did not end within {undo.limit_s:g} s")


_GRACE_S = 0.5
"""For those who keep the limit themselves, and say better what happened."""


def _undoer(kind: str) -> Undoer:
    if kind not in UNDOS:
        raise InputError("kind", f'expected one of {", ".join(UNDOS)}, got "{kind}"')
    undoer: Undoer = _named(UNDOS[kind])
    return undoer


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def undo_document(undo: Undo) -> dict[str, Any]:
    return {"kind": undo.kind, "data": dict(undo.data), "says": undo.says, "limit_s": undo.limit_s}


def undo_of(document: Mapping[str, Any]) -> Undo:
    return Undo(document["kind"], document["data"], document["says"], document["limit_s"])
