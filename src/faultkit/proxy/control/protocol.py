"""The terms of every control API, whoever serves it: who may speak, for how long a change holds, what is a
document, and how a refusal looks. It knows no HTTP library.
"""

from __future__ import annotations

import hmac
import math
import time
from collections.abc import Collection, Iterable
from typing import Any

from faultkit.plan import read_document
from faultkit.proxy.control.leases import Leases

USUAL_TTL_S = 600.0
LONGEST_TTL_S = 86_400.0
MOST_BODY_BYTES = 1 << 20
KEEP_ALIVE_S = 15.0


class Problem(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.status = status
        self.error = {"path": path, "problem": problem}


def check_caller(
    path: str, host: str, origins: Iterable[str], authorization: str, *, hosts: Collection[str], token: bytes
) -> None:
    """Who may speak at all: the right Host, no foreign Origin, the token. `hosts` are in lower case."""
    own = host.lower()
    if own not in hosts:
        raise Problem(403, f'expected a loopback Host with our port, got "{host[:80]}"', "Host")
    for origin in origins:
        if origin.lower() != f"http://{own}":
            raise Problem(403, f'expected no foreign Origin, got "{origin[:80]}"', "Origin")
    scheme, _, given = authorization.partition(" ")
    fits = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token)
    if path != "/healthz" and (scheme.lower() != "bearer" or not fits):
        raise Problem(401, "expected Authorization: Bearer TOKEN", "Authorization")


def ttl_of(text: str | None) -> float:
    """For how many seconds a change holds; 0 for ever."""
    if text is None:
        return USUAL_TTL_S
    try:
        ttl_s = float(text)
    except ValueError:
        ttl_s = math.nan
    if not 0 <= ttl_s <= LONGEST_TTL_S:
        raise Problem(400, f'expected seconds from 0 (no end) to {LONGEST_TTL_S:g}, got "{text[:40]}"', "ttl")
    return ttl_s


def expiry_of(ttl_s: float) -> dict[str, Any]:
    at = time.gmtime(time.time() + ttl_s) if ttl_s else None
    return {
        "expires_in_s": ttl_s or None,
        "expires_at": None if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", at),
    }


def document_of(body: bytes) -> object:
    """JSON or YAML."""
    try:
        return read_document(body.decode(), "body")
    except UnicodeDecodeError:
        raise Problem(400, "expected UTF-8 text, got other bytes", "body") from None


def check_holds(leases: Leases, name: str) -> None:
    if all(rule.name != name for rule in leases.plan.rules):
        raise Problem(404, f'there is no rule named "{name}"', "name")
