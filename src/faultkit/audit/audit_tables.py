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
    false,
)

VERSION = 2
"""Version of the tables: older stores are upgraded, newer ones are refused."""

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


versions = Table("audit_schema", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

events = Table(
    "audit_events",
    metadata,
    # Never reused, even after the newest rows were removed: readers of the live stream rely on it.
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
    # Text instead of JSON, so that the order of keys is preserved.
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
    Column("notifications", Text),
    # With a default, since a server of the first version may still write without it.
    Column("notifications_truncated", Boolean, nullable=False, server_default=false()),
    _text("replayed_from"),
)

keys = Table(
    "api_keys",
    metadata,
    # The key itself is not stored.
    Column("digest", Text, primary_key=True),
    _text("name"),
    _text("hint"),
    _text("scopes"),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
    Column("revoked_us", BigInteger),
    Column("used_us", BigInteger),
)
Index(
    "api_keys_in_use",
    keys.c.name,
    unique=True,
    sqlite_where=keys.c.revoked_us.is_(None),
    postgresql_where=keys.c.revoked_us.is_(None),
)

results = Table(
    "chaos_results",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True),
    _text("name"),
    _text("outcome"),
    Column("success", Boolean, nullable=False),
    _text("result"),
    Column("journal", Text),
    sqlite_autoincrement=True,
)
Index("chaos_results_by_name", results.c.name, results.c.seq)

totals = Table(
    "chaos_totals",
    metadata,
    # Separate from the results, of which the oldest are removed.
    Column("name", Text, primary_key=True),
    Column("runs", BigInteger, nullable=False),
    Column("successes", BigInteger, nullable=False),
)

UPGRADES: dict[int, tuple[str, ...]] = {
    1: (
        "ALTER TABLE audit_payloads ADD COLUMN notifications TEXT",
        "ALTER TABLE audit_payloads ADD COLUMN notifications_truncated BOOLEAN DEFAULT false NOT NULL",
    ),
}
"""Statements that upgrade each version of the tables to the next, in SQL of every database. Existing rows are
not changed."""
