"""The tables of the audit log, the same in every database."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

VERSION = 1
"""Of the tables: a store with another one is left alone."""

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


versions = Table("audit_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

events = Table(
    "audit_events",
    metadata,
    # Never given twice, even after the newest rows were removed: whoever follows the log goes by it.
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("at_us", BigInteger, nullable=False),
    Column("duration_ms", Float(53), nullable=False),
    _text("tool_name"),
    Column("success", Boolean, nullable=False),
    _text("tool_group"),
    _text("request_id"),
    _text("session_id"),
    _text("user_subject"),
    _text("user_email"),
    _text("auth_type"),
    _text("api_key_name"),
    # Text and not JSON: it comes back as it went in, with its keys in their order.
    Column("parameters", Text),
    _text("error_message"),
    _text("error_category"),
    Column("request_chars", BigInteger, nullable=False),
    Column("response_chars", BigInteger, nullable=False),
    Column("content_blocks", Integer, nullable=False),
    _text("transport"),
    _text("source"),
    _text("remote_addr"),
    _text("forwarded_for"),
    _text("user_agent"),
    _text("era"),
    sqlite_autoincrement=True,
)
Index("audit_events_by_time", events.c.at_us, events.c.seq)

payloads = Table(
    "audit_payloads",
    metadata,
    Column("event_id", Text, ForeignKey("audit_events.id", ondelete="CASCADE"), primary_key=True),
    _text("jsonrpc_method"),
    Column("request_params", Text),
    Column("request_size_bytes", BigInteger, nullable=False),
    Column("request_truncated", Boolean, nullable=False),
    Column("request_headers", Text),
    Column("response_result", Text),
    Column("response_error", Text),
    Column("response_size_bytes", BigInteger, nullable=False),
    Column("response_truncated", Boolean, nullable=False),
    _text("replayed_from"),
)
