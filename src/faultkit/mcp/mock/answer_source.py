"""The seam between a mock as a service and what its answers come from: a manifest or a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.mock_model import Question, ReplyMember
from faultkit.mcp.wire.exchange import Session


@dataclass(frozen=True, slots=True)
class TimedMessage:
    """A message for the client while its call is open."""

    after_s: float
    """Time since the message before it, or since the call."""
    raw: bytes | None
    """None if this client gets none, and only the time passes."""


@dataclass(frozen=True, slots=True)
class PendingAnswer:
    """An answer that messages and questions precede; `then` gets the answers by kind of question."""

    messages: tuple[TimedMessage, ...]
    questions: tuple[Question, ...]
    then: Callable[[Mapping[str, Any]], ReplyMember]


@dataclass(slots=True)
class ClientState:
    """What a client has asked for in its session."""

    log_level: str | None = None
    """Least level of the log messages that it gets; None for all."""
    subscriptions: dict[str, None] = field(default_factory=dict)
    """URIs of the resources that it subscribed to, in order."""


_CLIENT = "client of the mock"
"""Key of a client's state in `Session.info`."""


def client_of(session: Session) -> ClientState:
    """Return what the client of a session has asked for. Modern clients over HTTP share a session, and ask
    with each request."""
    state: ClientState | None = session.info.get(_CLIENT)
    if state is None:
        state = session.info[_CLIENT] = ClientState()
    return state


class AnswerSource(Protocol):
    """A source of answers: a manifest or a recording."""

    def answer(
        self, method: str, params: Mapping[str, Any], era: Era, client: ClientState | None = None
    ) -> ReplyMember | PendingAnswer:
        """Return the answer to a request, or what precedes it. `client`: of the session; changed by
        requests that set it."""
        ...
