"""The rules that do not run in files of a context: some claims mean nothing on pages or in commands. Pure"""

from __future__ import annotations

from collections.abc import Iterable

from faultkit.code.rules.rule import Rule

SERVER_ONLY: frozenset[str] = frozenset(
    {
        "abrupt-exit",
        "blocking-call-in-async-code",
        "catastrophic-expression",
        "checked-then-inserted",
        "client-not-closed",
        "compiled-per-call",
        "config-read-late",
        "connection-not-closed",
        "connection-per-call",
        "copied-or-sorted-in-loop",
        "database-without-timeout",
        "default-for-secret",
        "disk-wait-in-loop",
        "failed-result-cached",
        "file-not-closed",
        "fire-and-forget",
        "grpc-call-without-deadline",
        "http-call-without-timeout",
        "http-client-per-call",
        "list-membership-in-loop",
        "loaded-by-every-caller",
        "log-line-per-item",
        "missing-idempotency-key",
        "nested-search",
        "no-graceful-shutdown",
        "no-retry-on-idempotent-call",
        "pool-per-call",
        "rejection-in-callback",
        "secret-in-log",
        "shared-mutable-state",
        "socket-without-timeout",
        "subprocess-without-timeout",
        "text-built-in-loop",
        "tls-not-verified",
        "unbounded-cache",
        "unbounded-fan-out",
        "unbounded-page-size",
        "unbounded-queue",
        "unguarded-parse",
        "upstream-error-not-mapped",
        "wall-clock-for-durations",
        "whole-body-loaded",
        "whole-file-loaded",
        "writes-without-transaction",
    }
)
"""Slugs of rules that are about a process that serves many users at once and runs for long. A page in a
browser serves one, has as many rows as it shows, and ends when its tab is closed."""
PER_REQUEST: frozenset[str] = frozenset(
    {
        "call-per-item",
        "compiled-per-call",
        "copied-or-sorted-in-loop",
        "lazy-relation-in-loop",
        "list-membership-in-loop",
        "nested-search",
        "pool-per-call",
        "unbounded-page-size",
        "whole-body-loaded",
        "whole-file-loaded",
        "write-per-row",
    }
)
"""Slugs of rules about work that grows with the data while a user waits. A command has time."""
FOR_SERVICES: frozenset[str] = PER_REQUEST | {
    "abrupt-exit",
    "blocking-call-in-async-code",
    "cancellation-not-passed-on",
    "checked-then-inserted",
    "client-not-closed",
    "config-read-late",
    "connection-per-call",
    "count-by-loading",
    "daemon-thread-cut-off",
    "grpc-call-without-deadline",
    "growing-collection",
    "http-client-per-call",
    "loaded-by-every-caller",
    "loaded-each-time",
    "log-line-per-item",
    "lock-held-over-io",
    "missing-cancellation",
    "missing-limit",
    "no-graceful-shutdown",
    "no-retry-on-idempotent-call",
    "pool-not-shut-down",
    "response-not-closed",
    "retry-without-backoff",
    "sequential-awaits",
    "socket-without-timeout",
    "subprocess-without-timeout",
    "temporary-file-left",
    "text-built-in-loop",
    "ticker-not-stopped",
    "unbounded-cache",
    "unbounded-queue",
    "wall-clock-for-durations",
    "whole-table-loaded",
}
"""Slugs of rules about a process that serves others or runs for long. A command-line tool works for the one
who waits for it, and its process ends."""
FOR_MANY_USERS: frozenset[str] = frozenset(
    {
        "call-per-item",
        "checked-then-inserted",
        "compiled-per-call",
        "copied-or-sorted-in-loop",
        "count-by-loading",
        "filtered-after-loading",
        "lazy-relation-in-loop",
        "list-membership-in-loop",
        "loaded-by-every-caller",
        "lock-held-over-io",
        "missing-limit",
        "nested-search",
        "no-graceful-shutdown",
        "sequential-awaits",
        "unbounded-cache",
        "unbounded-page-size",
        "unbounded-queue",
        "wall-clock-for-durations",
        "whole-table-loaded",
        "write-per-row",
    }
)
"""Slugs of rules about what many users do at once, and about their data. An app has one user."""
_LEFT_AWAY = {
    "browser": SERVER_ONLY,
    "commands": PER_REQUEST,
    "cli": FOR_SERVICES,
    "app": FOR_MANY_USERS,
}
"""By the name of a context that is narrowed."""


def rules_in(context: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules that make sense in files of a context."""
    left_away = _LEFT_AWAY.get(context)
    if left_away is None:
        return tuple(rules)
    return tuple(rule for rule in rules if rule.slug not in left_away)
