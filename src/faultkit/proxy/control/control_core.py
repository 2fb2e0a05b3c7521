"""Everything that a control API does, without HTTP: a request in, a status and a document out.

    GET    /healthz                 is the service alive (the only path without a token)
    GET    /plan                    the current plan, in the form that PUT takes
    PUT    /plan?ttl=60             replace the plan
    POST   /rules?ttl=60            add one rule
    PATCH  /rules/{name}?ttl=60     let a rule expire that many seconds from now
    DELETE /rules/{name}            remove a rule
    PUT    /lease/{id}?ttl=15       hold the plan for one run: others cannot change it
    PATCH  /lease/{id}?ttl=15       renew the lease; a plan in the body replaces that of the run
    DELETE /lease/{id}              end the lease
    GET    /status                  counters, and when changes expire
    GET    /events                  events as a stream (served by the adapters)

`proxy/control/control_server.py` serves it for a data plane (starlette, in a thread), `mcp/gateway` for a
gateway (the project's own HTTP server). An adapter checks the caller (`check_caller`), reads the body, writes
the document as JSON, and calls `expire` in time. The core starts no thread and takes no lock.

Every change expires, and what was before it returns (`leases.py`). A run that steers the faults from another
process takes one lease and renews it: if the run dies, its faults end with the lease.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from faultkit import __version__
from faultkit.base.address import LOOPBACK_NAMES, Endpoint, url_host
from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import InputError, RunError
from faultkit.base.secrets import has_bearer_token
from faultkit.plan import Plan, Rule, dump_plan, dump_rule, parse_plan, parse_rule
from faultkit.proxy.control.leases import NEVER, Leases
from faultkit.proxy.idle_rules import caveats, late_warnings

USUAL_TTL_S = 600.0
USUAL_LEASE_S = 15.0
LONGEST_TTL_S = 86_400.0
MOST_BODY_BYTES = 1 << 20
KEEP_ALIVE_S = 15.0
EVENTS_BEGIN = ": what happens from here on\n\n"
"""First line of `/events`. A client that has read it receives every later event."""
EVENTS_KEEP_ALIVE = ": still here\n\n"
"""Sent on `/events` after each `KEEP_ALIVE_S` seconds."""


class Problem(Exception):
    """A refusal: an HTTP status, and a document with the problem and its place."""

    def __init__(self, status: int, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.status = status
        self.document = {"error": {"path": path, "problem": problem}}


def check_caller(
    path: str,
    host: str,
    origins: Iterable[str],
    authorization: str,
    *,
    hosts: Collection[str],
    token: str,
    scheme: str = "http",
) -> None:
    """Raise Problem unless the Host is ours, no Origin is foreign and the token is right.

    Host and Origin are checked because a web page can send requests to loopback (DNS rebinding). `hosts` are
    in lower case. `/healthz` needs no token."""
    own = host.lower()
    if own not in hosts and f"*.{own.partition('.')[2]}" not in hosts:
        ours = "a loopback Host" if scheme == "http" else "a Host that the certificate names,"
        raise Problem(403, f'expected {ours} with our port, got "{host[:80]}"', "Host")
    for origin in origins:
        if origin.lower() != f"{scheme}://{own}":
            raise Problem(403, f'expected no foreign Origin, got "{origin[:80]}"', "Origin")
    if path != "/healthz" and not has_bearer_token(authorization, token):
        raise Problem(401, "expected Authorization: Bearer TOKEN", "Authorization")


def check_loopback(host: str, port: int) -> None:
    """Raise InputError unless `host` is a loopback name: without mutual TLS, a control API is never open to
    the network."""
    if host not in LOOPBACK_NAMES:
        raise InputError("control", f"expected a loopback address, got {Endpoint(host, port)}")


def own_hosts(host: str, port: int, names: Collection[str] = ()) -> frozenset[str]:
    """Return the Host headers that mean an API which listens on `host` and `port`. `names`: those of its
    certificate; a client leaves out the usual port of https."""
    bare = [url_host(name) for name in names] if port == 443 else []
    return frozenset([*bare, *(str(Endpoint(name, port)) for name in {*LOOPBACK_NAMES, host, *names})])


def document_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON, in ASCII: half of a surrogate pair, which a rule may name, is not UTF-8."""
    return json.dumps(document, separators=(",", ":")).encode()


def event_line(document: Mapping[str, Any]) -> str:
    """Return one event of `/events`."""
    return f"data: {json.dumps(document)}\n\n"


def headers_of(status: int) -> list[tuple[str, str]]:
    """Return the headers of a reply besides its type."""
    # RFC 9110 §11.6.1: a 401 response names the authentication scheme.
    return [("www-authenticate", "Bearer")] if status == 401 else []


def ttl_of(text: str | None) -> float:
    """Return for how many seconds a change holds; 0 means for ever."""
    if text is None:
        return USUAL_TTL_S
    ttl_s = _number(text)
    if not 0 <= ttl_s <= LONGEST_TTL_S:
        raise Problem(400, f'expected seconds from 0 (no end) to {LONGEST_TTL_S:g}, got "{text[:40]}"', "ttl")
    return ttl_s


def _lease_ttl_of(text: str | None) -> float:
    """Return for how many seconds a lease holds: it always has an end."""
    if text is None:
        return USUAL_LEASE_S
    ttl_s = _number(text)
    if not 0 < ttl_s <= LONGEST_TTL_S:
        raise Problem(400, f'expected seconds above 0, up to {LONGEST_TTL_S:g}, got "{text[:40]}"', "ttl")
    return ttl_s


def _begin_of(text: str | None) -> float:
    """Return in how many seconds schedules begin; below 0 if they began earlier."""
    begin_in_s = 0.0 if text is None else _number(text)
    if not -LONGEST_TTL_S <= begin_in_s <= LONGEST_TTL_S:
        expected = f"seconds from -{LONGEST_TTL_S:g} to {LONGEST_TTL_S:g}"
        raise Problem(400, f'expected {expected}, got "{str(text)[:40]}"', "begin_in")
    return begin_in_s


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def expiry_of(ttl_s: float) -> dict[str, Any]:
    """Return the members of a reply that hold the expiry of a change."""
    at = time.gmtime(time.time() + ttl_s) if ttl_s else None
    return {
        "expires_in_s": ttl_s or None,
        "expires_at": None if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", at),
    }


def document_of(body: bytes) -> object:
    """Read a request body: JSON or YAML."""
    try:
        return read_document(body.decode(), "body")
    except UnicodeDecodeError:
        raise Problem(400, "expected UTF-8 text, got other bytes", "body") from None


# --- requests --------------------------------------------------------------------------------


Document: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[int, Document]

ROUTES = (
    ("GET", "/healthz"),
    ("GET", "/plan"),
    ("PUT", "/plan"),
    ("POST", "/rules"),
    ("PATCH", "/rules/"),
    ("DELETE", "/rules/"),
    ("PUT", "/lease/"),
    ("PATCH", "/lease/"),
    ("DELETE", "/lease/"),
    ("GET", "/status"),
    ("GET", "/events"),
)
"""Methods and paths. A path that ends in a slash is followed by the name of a rule, or the id of a lease."""
_NAMED = ("/rules/", "/lease/")
_LEASE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)


class ControlTarget(Protocol):
    """The running proxy or gateway whose plan is changed."""

    def check_plan(self, plan: Plan) -> None:
        """Raise InputError, with the rule's place in the plan, if a rule cannot act here."""

    def check_rule(self, rule: Rule) -> None:
        """Raise InputError if the rule cannot act here."""

    def set_plan(self, plan: Plan, begin_in_s: float = 0.0) -> None:
        """Apply `plan`; on an error the plan before it stays. Schedules of new rules begin in so many
        seconds."""

    def check_alive(self) -> None:
        """Raise RunError if the target has ended: it serves nothing any more."""

    def elapsed_s(self) -> float:
        """Return the seconds since the run began."""

    def counters(self) -> Document:
        """Return what `/status` shows besides the plan."""


class ControlCore:
    """The plan of one target, and the changes to it that expire."""

    def __init__(
        self,
        target: ControlTarget,
        plan: Plan,
        clock: Callable[[], float],
        warnings_about: Callable[[Sequence[Rule]], list[str]] = lambda rules: [],
    ) -> None:
        """`clock`: seconds; expiries are counted on it. `warnings_about`: returns a warning for each rule
        that can never act."""
        self._warnings_about = warnings_about
        self._target = target
        self._clock = clock
        self._leases = Leases.of(plan)

    @property
    def next_expiry(self) -> float:
        """When the next change expires, on the clock; `NEVER` if none does."""
        return self._leases.next_expiry

    def expire(self) -> None:
        """Undo the changes that have expired."""
        if self._clock() >= self._leases.next_expiry:
            self._change(lambda leases: leases)

    def handle(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Reply:
        """Carry out one request. `path` is decoded; a request that is refused has changed nothing."""
        try:
            return self._handle(method, path, query, body)
        except Problem as problem:
            return problem.status, problem.document
        except InputError as error:
            return 400, Problem(400, error.problem, error.path).document
        except RunError as error:
            return 503, Problem(503, str(error)).document

    def _handle(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Reply:
        place = next((prefix for prefix in _NAMED if path.startswith(prefix)), path)
        name = path.removeprefix(place)
        match method, place:
            case "GET", "/healthz":
                self._target.check_alive()
                return 200, {"ok": True}
            case "GET", "/plan":
                return 200, dump_plan(self._change(lambda leases: leases).plan)
            case "PUT", "/plan":
                return self._put_plan(ttl_of(query.get("ttl")), body)
            case "POST", "/rules":
                return self._post_rule(ttl_of(query.get("ttl")), body)
            case "PATCH", "/rules/":
                ttl_s = ttl_of(query.get("ttl"))
                until = self._until(ttl_s)
                plan = self._change(lambda leases: leases.renewed(_known(leases, name), until)).plan
                return 200, {"renewed": name, "digest": plan.digest, **expiry_of(ttl_s)}
            case "DELETE", "/rules/":
                plan = self._change(lambda leases: leases.removed(_known(leases, name))).plan
                return 200, {"removed": name, "digest": plan.digest}
            case (("PUT" | "PATCH" | "DELETE"), "/lease/"):
                return self._lease(method, _lease_id(name), query, body)
            case "GET", "/status":
                return self._status()
            case _, known if any(known == route for _, route in ROUTES):
                raise Problem(405, "Method Not Allowed", path)
            case _:
                raise Problem(404, "Not Found", path)

    def _put_plan(self, ttl_s: float, body: bytes) -> Reply:
        plan = self._checked_plan(body)
        before = self._leases.plan.rules
        self._change(lambda leases: self._unheld(leases).replaced(plan, self._until(ttl_s)))
        reply = {"plan": dump_plan(plan), "digest": plan.digest, **expiry_of(ttl_s)}
        return 200, {**reply, **self._warnings(plan.rules, ttl_s, before)}

    def _checked_plan(self, body: bytes) -> Plan:
        document = _read(body)
        if isinstance(document, dict) and "seed" not in document:
            document = {**document, "seed": self._leases.plan.seed}
        plan = parse_plan(document)
        self._target.check_plan(plan)
        return plan

    def _lease(self, method: str, id: str, query: Mapping[str, str], body: bytes) -> Reply:
        """Take, renew or end the lease of a run."""
        if method == "DELETE":
            plan = self._change(lambda leases: self._held_by(id, leases).ended()).plan
            return 200, {"ended": id, "digest": plan.digest}
        ttl_s, begin_in_s = _lease_ttl_of(query.get("ttl")), _begin_of(query.get("begin_in"))
        until = self._until(ttl_s)
        given = self._checked_plan(body) if body else None
        if method == "PUT":
            taken = Plan(seed=self._leases.plan.seed) if given is None else given
            self._change(lambda leases: self._unheld(leases, id).held(id, taken, until), begin_in_s)
        elif given is None:
            self._change(lambda leases: self._held_by(id, leases).extended(until))
        else:
            self._change(lambda leases: self._held_by(id, leases).held(id, given, until), begin_in_s)
        reply = {"lease": id, "digest": self._leases.plan.digest, **expiry_of(ttl_s)}
        # No warning of a schedule that begins after the lease: the lease is renewed.
        return 200, {**reply, **self._warnings(() if given is None else given.rules, 0.0)}

    def _unheld(self, leases: Leases, id: str = "") -> Leases:
        """Return the leases; raise Problem if a run, other than `id`, holds the plan."""
        if leases.holder in ("", id):
            return leases
        left_s = leases.plans[-1].until - self._clock()
        problem = f'the run "{leases.holder}" holds the plan for another {left_s:.1f} s, and may renew that'
        # 409 means "there already" to those who add a rule, so that it says something else here.
        raise Problem(409 if id else 423, problem, "lease")

    def _held_by(self, id: str, leases: Leases) -> Leases:
        """Return the leases; raise Problem unless this run holds the plan."""
        if not leases.holder:
            raise Problem(404, f'the lease "{id}" has ended', "lease")
        return self._unheld(leases, id)

    def _warnings(self, rules: Sequence[Rule], ttl_s: float, before: Sequence[Rule] = ()) -> Document:
        """Return the member of a reply that holds warnings, if there are any."""
        # The schedule of a rule that was there before began earlier, and shares are those of the whole run.
        new = [rule for rule in rules if rule not in before and not rule.schedule.needs_total]
        late = late_warnings(new, ttl_s, f"it expires after {ttl_s:g} s (ttl)") if ttl_s else []
        warnings = [*self._warnings_about(rules), *late, *caveats(rules)]
        return {"warnings": warnings} if warnings else {}

    def _post_rule(self, ttl_s: float, body: bytes) -> Reply:
        document = _read(body)
        added: list[Rule] = []

        def add(leases: Leases) -> Leases:
            self._unheld(leases)
            names = {rule.name for rule in leases.plan.rules}
            rule = parse_rule(document, names)
            if rule.name in names:
                raise Problem(409, f'a rule named "{rule.name}" is there already', "name")
            self._target.check_rule(rule)
            added.append(rule)
            return leases.added(rule, self._until(ttl_s))

        plan = self._change(add).plan
        reply = {"rule": dump_rule(added[0]), "digest": plan.digest, **expiry_of(ttl_s)}
        return 201, {**reply, **self._warnings(added, ttl_s)}

    def _status(self) -> Reply:
        leases = self._change(lambda leases: leases)
        now = self._clock()
        held_s = leases.plans[-1].until - now
        return 200, {
            "version": __version__,
            "elapsed_s": round(self._target.elapsed_s(), 3),
            "digest": leases.plan.digest,
            "expires_in_s": {
                name: None if until == NEVER else round(until - now, 3)
                for name, until in leases.until.items()
            },
            "lease": {"id": leases.holder, "expires_in_s": round(held_s, 3)} if leases.holder else None,
            **self._target.counters(),
        }

    def _change(self, make: Callable[[Leases], Leases], begin_in_s: float = 0.0) -> Leases:
        """Apply the leases that `make` returns. If the target refuses their plan, nothing has changed."""
        before = self._leases.plan
        leases = make(self._leases.at(self._clock()))
        if leases.plan != before:
            self._target.set_plan(leases.plan, begin_in_s)
        self._leases = leases
        return leases

    def _until(self, ttl_s: float) -> float:
        return self._clock() + ttl_s if ttl_s else NEVER


def _read(body: bytes) -> object:
    if len(body) > MOST_BODY_BYTES:
        raise Problem(413, f"expected at most {MOST_BODY_BYTES} bytes, got more", "body")
    return document_of(body)


def _known(leases: Leases, name: str) -> str:
    if any(leased.rule.name == name for leased in leases.own_rules):
        return name
    if any(rule.name == name for rule in leases.plan.rules):
        raise Problem(423, f'the rule "{name}" belongs to the run "{leases.holder}"', "lease")
    raise Problem(404, f'there is no rule named "{name}"', "name")


def _lease_id(text: str) -> str:
    if not _LEASE_ID.fullmatch(text):
        raise Problem(400, f'expected up to 100 letters, digits, dots or dashes, got "{text[:40]}"', "lease")
    return text
