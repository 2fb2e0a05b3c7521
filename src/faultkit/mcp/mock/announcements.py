"""Notices of changes for the clients of a mock: lists that changed, and resources that were updated.

    legacy    to every session that is initialized; updates to those that subscribed (`resources/subscribe`)
    modern    to open `subscriptions/listen` requests, as far as each asked for it

A listening request stays open until its client cancels it or the mock ends (MCP 2026-07-28, Subscriptions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.base.documents.checks import shown
from faultkit.mcp.mock.answer_source import client_of
from faultkit.mcp.mock.mock_model import ListKind, Manifest
from faultkit.mcp.mock.mock_state import Change, ListChanged
from faultkit.mcp.wire.era import SUBSCRIPTION_KEY, complete_result
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import INVALID_PARAMS, error_of, notification_of, result_of

LISTEN = "subscriptions/listen"
_INITIALIZED = "notifications/initialized"
_LIST_FILTERS: dict[ListKind, str] = {
    "tools": "toolsListChanged",
    "resources": "resourcesListChanged",
    "prompts": "promptsListChanged",
}


@dataclass(frozen=True, slots=True)
class _Listener:
    """An open `subscriptions/listen` request and what it gets."""

    exchange: Exchange
    agreed: dict[str, Any]

    @property
    def meta(self) -> dict[str, Any]:
        return {SUBSCRIPTION_KEY: self.exchange.request.id}


class Announcements:
    """The clients of a mock that get notices."""

    def __init__(self, manifest: Manifest, has_resource: Callable[[str], bool]) -> None:
        """`has_resource`: whether a URI can be read."""
        self._manifest = manifest
        self._has_resource = has_resource
        self._sessions: dict[str, Session] = {}
        """Initialized legacy sessions by id."""
        self._listeners: list[_Listener] = []

    def notification(self, session: Session, method: str) -> None:
        """Handle a notification of a client. Before `initialized`, a session gets no notices."""
        if method == _INITIALIZED and session.era == "legacy":
            self._sessions[session.id] = session

    def closed(self, session: Session) -> None:
        """Forget a session; end its subscriptions in good order."""
        self._sessions.pop(session.id, None)
        for each in [each for each in self._listeners if each.exchange.session is session]:
            self._listeners.remove(each)
            info = {"name": self._manifest.name, "version": self._manifest.version}
            result = complete_result({"_meta": each.meta}, LISTEN, "modern", info)
            each.exchange.reply(result_of(each.exchange.request.id, result))

    def serves(self, exchange: Exchange) -> bool:
        """Return whether a request is one to listen, and there is something to listen to."""
        manifest = self._manifest
        is_listen = exchange.request.method == LISTEN and exchange.session.era == "modern"
        return is_listen and bool(manifest.changing_lists or manifest.has_updates)

    def listen(self, exchange: Exchange) -> None:
        """Acknowledge a request to listen and keep it open."""
        asked = exchange.request.params.get("notifications")
        if not isinstance(asked, dict):
            problem = f"Invalid params: notifications: expected an object, got {shown(asked)}"
            exchange.reply(error_of(exchange.request.id, INVALID_PARAMS, problem))
            return
        listener = _Listener(exchange, self._agreed(asked))
        params = {"_meta": listener.meta, "notifications": listener.agreed}
        exchange.note(notification_of("notifications/subscriptions/acknowledged", params))
        self._listeners.append(listener)
        exchange.on_cancel(lambda: self._forget(listener))

    def _agreed(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of what a client asked for that the mock can send."""
        kinds = self._manifest.changing_lists
        agreed: dict[str, Any] = {
            key: True for kind, key in _LIST_FILTERS.items() if kind in kinds and asked.get(key) is True
        }
        uris = asked.get("resourceSubscriptions")
        if self._manifest.has_updates and isinstance(uris, list):
            known = [each for each in uris if isinstance(each, str) and self._has_resource(each)]
            if known:
                agreed["resourceSubscriptions"] = list(dict.fromkeys(known))
        return agreed

    def _forget(self, listener: _Listener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
            listener.exchange.finish()

    def announce(self, change: Change) -> None:
        """Send a change to every client that asked for it."""
        for session in tuple(self._sessions.values()):
            for method, params in _notices(change, client_of(session).subscriptions):
                session.push(notification_of(method, params))
        for each in tuple(self._listeners):
            if isinstance(change, ListChanged) and _LIST_FILTERS[change.kind] not in each.agreed:
                continue
            for method, params in _notices(change, each.agreed.get("resourceSubscriptions", ())):
                each.exchange.note(notification_of(method, {**params, "_meta": each.meta}))


def _notices(change: Change, subscribed: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield method and parameters of the notices of a change for a client that subscribed to these URIs."""
    if isinstance(change, ListChanged):
        yield f"notifications/{change.kind}/list_changed", {}
        return
    for uri in subscribed:
        if change.entry.covers(uri):
            yield "notifications/resources/updated", {"uri": uri}
