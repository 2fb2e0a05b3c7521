"""Rows for what is done with keys and with the log: actions that are not calls, and not counted as such.

The actions are listed here, for the command line and for the HTTP API of `fault serve`.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.audit.access.api_keys import ApiKey
from faultkit.audit.access.identity import Identity
from faultkit.audit.redaction import json_text, redacted
from faultkit.audit.row import MANAGEMENT, AuditEntry, AuditRow, new_row_id
from faultkit.audit.store import Store
from faultkit.base.times import now_us, time_text


@dataclass(frozen=True, slots=True)
class ManagementAction:
    """What was done: its name and the facts about it."""

    what: str
    parameters: Mapping[str, Any]


def key_created(key: ApiKey) -> ManagementAction:
    """Return the action that made a key."""
    expires = None if key.expires_us is None else time_text(key.expires_us)
    facts = {"name": key.name, "scopes": list(key.scopes), "expires": expires}
    return ManagementAction("keys.create", facts)


def key_revoked(name: str) -> ManagementAction:
    """Return the action that revoked a key."""
    return ManagementAction("keys.revoke", {"name": name})


def log_pruned(before_us: int, count: int) -> ManagementAction:
    """Return the action that removed rows of the log."""
    return ManagementAction("audit.prune", {"older_than": time_text(before_us), "rows": count})


def append_action(store: Store, action: ManagementAction) -> None:
    """Write the row of an action of the command line to the store."""
    store.append([AuditEntry(management_row(action))])


def management_row(action: ManagementAction, by: Identity | None = None, remote_addr: str = "") -> AuditRow:
    """Return the row of an action that ends now.

    by: who asked for it over HTTP; None: the user of this process, on the command line"""
    at_us = now_us()
    return AuditRow(
        id=new_row_id(at_us),
        at_us=at_us,
        duration_ms=0.0,
        tool_name=action.what,
        tool_group=MANAGEMENT,
        success=True,
        user_subject=_local_user() if by is None else by.subject,
        user_email="" if by is None else by.email,
        auth_type="anonymous" if by is None else by.auth_type,
        api_key_name="" if by is None else by.key_name,
        parameters=json_text(redacted(dict(action.parameters))),
        transport="cli" if by is None else "http",
        source=MANAGEMENT,
        remote_addr=remote_addr,
    )


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A user id without a name, as in containers; OSError since Python 3.13.
        return ""
