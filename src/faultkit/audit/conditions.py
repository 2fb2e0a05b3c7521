"""A filter in the words of a database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, cast, func, literal, or_, select
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import Text

from faultkit.audit.filter import Filter, Param
from faultkit.audit.redact import json_text
from faultkit.audit.schema import events, payloads

HOLDS = "fault_param_holds"
"""A function that we give to SQLite, whose own paths cannot name every key."""
LOWER = "fault_lower"
"""Another one: its own knows the letters of ASCII alone."""


def conditions_of(filter: Filter, dialect: str) -> list[ColumnElement[bool]]:
    """Of all but the limit, the offset and the cursor."""
    column = events.c
    equal: tuple[tuple[ColumnElement[Any], object], ...] = (
        (column.tool_name, filter.tool),
        (column.user_subject, filter.user),
        (column.session_id, filter.session),
        (column.success, filter.success),
        (column.error_category, filter.category),
        (column.source, filter.source),
        (column.auth_type, filter.auth_type),
        (column.api_key_name, filter.key),
    )
    found: list[ColumnElement[bool]] = [which == value for which, value in equal if value is not None]
    if filter.from_us is not None:
        found.append(column.at_us >= filter.from_us)
    if filter.to_us is not None:
        found.append(column.at_us < filter.to_us)
    if filter.q is not None:
        texts = (column.tool_name, column.error_message, column.user_subject)
        found.append(or_(*(_contains(text, filter.q, dialect) for text in texts)))
    found += [_holds(column.parameters, param, dialect) for param in filter.params]
    said = _said(filter, dialect)
    if said:
        mine = payloads.c.event_id == column.id
        found.append(select(literal(1)).select_from(payloads).where(mine, *said).correlate(events).exists())
    return found


def _contains(text: ColumnElement[str], q: str, dialect: str) -> ColumnElement[bool]:
    """In whatever case."""
    if dialect == "sqlite" and not q.isascii():
        return func.instr(func.fault_lower(text), q.lower()) > 0
    return text.icontains(q, autoescape=True)


def _said(filter: Filter, dialect: str) -> list[ColumnElement[bool]]:
    column = payloads.c
    # A call has one of the two.
    response = func.coalesce(column.response_result, column.response_error)
    found = [_holds(response, param, dialect) for param in filter.responses]
    found += [_holds(column.request_headers, param, dialect) for param in filter.headers]
    found += [func.coalesce(column[name], "") != "" for name in filter.has]
    return found


def _holds(where: ColumnElement[Any], param: Param, dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        names, value = json_text(list(param.path)), json_text(param.value)
        return func.fault_param_holds(where, names, value) == 1
    path = cast(list(param.path), ARRAY(Text))
    inside = cast(where, JSONB).op("#>", return_type=JSONB())(path)
    return inside == cast(literal(json_text(param.value), Text), JSONB)
