"""Rows for what is done with keys and with the log: actions that are not calls, and not counted as such."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from typing import Any

from faultkit.audit.access.identity import Identity
from faultkit.audit.redaction import json_text, redacted
from faultkit.audit.row import MANAGEMENT, AuditRow, new_row_id
from faultkit.base.times import now_us


def management_row(
    what: str, parameters: Mapping[str, Any], by: Identity | None = None, remote_addr: str = ""
) -> AuditRow:
    """Return the row of an action that ends now.

    what: its name, such as keys.create
    by:   who asked for it over HTTP; None: the user of this process, on the command line"""
    at_us = now_us()
    return AuditRow(
        id=new_row_id(at_us),
        at_us=at_us,
        duration_ms=0.0,
        tool_name=what,
        tool_group=MANAGEMENT,
        success=True,
        user_subject=_local_user() if by is None else by.subject,
        user_email="" if by is None else by.email,
        auth_type="anonymous" if by is None else by.auth_type,
        api_key_name="" if by is None else by.key_name,
        parameters=json_text(redacted(dict(parameters))),
        transport="cli" if by is None else "http",
        source=MANAGEMENT,
        remote_addr=remote_addr,
    )


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A user id without a name, as in containers; OSError since Python 3.13.
        return ""
