"""The one client of the control APIs of a running proxy or gateway (`fault run --control`,
`fault gateway --control`).

`ControlClient` turns refusals into Faultkit's errors; `ControlClient.send` is for callers that judge the
status themselves, such as undo actions. It uses http.client, because requests must go straight to the given
address: no proxy of the environment, no redirect.
"""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from faultkit.base.certificates import why_handshake_failed
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError

if TYPE_CHECKING:  # The guardian of a chaos run uses this client, and needs no plans.
    from faultkit.plan import Rule

TOKEN_VARIABLE = "FAULT_CONTROL_TOKEN"
SHUTS_PORTS = "refuse"
"""The fault that shuts ports, so that no client is seen."""
_MOST_REPLY_BYTES = 4 << 20
_TIMEOUT_S = 10.0


class Unreachable(OSError):
    """No connection could be made, or the request could not be sent. `__cause__` is the system's error."""

    @property
    def is_refused(self) -> bool:
        """True if nothing listens at the address."""
        return isinstance(self.__cause__, ConnectionRefusedError)


class ControlReply(NamedTuple):
    """What a control API answered."""

    status: int
    reason: str
    body: bytes


@dataclass(frozen=True, slots=True)
class ControlClient:
    """A control API at `url`. The methods named after requests raise an error for every refusal."""

    url: str
    token: str | None = field(default=None, repr=False)
    """None: the value of `token_env` at the time of the request."""
    tls: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    """Whom to trust and how to identify over https; None: the system's authorities, and not at all."""
    token_env: str = TOKEN_VARIABLE
    """The variable that holds the token."""

    @property
    def bearer(self) -> str:
        """The token that is sent."""
        return self.token or os.environ.get(self.token_env, "")

    def status(self, timeout_s: float = _TIMEOUT_S) -> dict[str, Any]:
        """Return the counters of the run."""
        return self._request("GET", "/status", timeout_s=timeout_s)

    def plan(self) -> dict[str, Any]:
        """Return the current plan."""
        return self._request("GET", "/plan")

    def put_plan(self, plan: Mapping[str, Any], ttl_s: float) -> dict[str, Any]:
        """Replace the plan for `ttl_s` seconds."""
        return self._request("PUT", f"/plan?ttl={ttl_s!r}", plan)

    def add_rule(self, rule: Mapping[str, Any], ttl_s: float) -> dict[str, Any]:
        """Add a rule for `ttl_s` seconds."""
        return self._request("POST", f"/rules?ttl={ttl_s!r}", rule)

    def remove_rule(self, name: str) -> dict[str, Any]:
        """Remove a rule."""
        return self._request("DELETE", rule_path(name))

    def take_lease(self, id: str, ttl_s: float) -> dict[str, Any]:
        """Hold the plan for `ttl_s` seconds, without rules. Raises InputError at `lease` if another run holds
        it."""
        return self._request("PUT", f"/lease/{id}?ttl={ttl_s!r}")

    def change_lease(
        self,
        id: str,
        ttl_s: float,
        plan: Mapping[str, Any] | None = None,
        begin_at: float | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> dict[str, Any]:
        """Renew a lease; with `plan`, replace its plan. Raises InputError at `lease` if it has ended.

        Schedules count from `begin_at` (monotonic), or from now. The other end has another clock, so it gets
        the time from the request to then."""

        def path() -> str:
            begin_in = "" if begin_at is None else f"&begin_in={begin_at - time.monotonic():.6f}"
            return f"/lease/{id}?ttl={ttl_s!r}{begin_in}"

        return self._request("PATCH", path, plan, timeout_s)

    def end_lease(self, id: str, timeout_s: float = _TIMEOUT_S) -> dict[str, Any]:
        """End a lease. Raises InputError at `lease` if it has ended."""
        return self._request("DELETE", f"/lease/{id}", timeout_s=timeout_s)

    def send(
        self,
        method: str,
        path: str | Callable[[], str],
        body: object = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> ControlReply:
        """Send one request and return the reply, whatever its status. A function is called for the path once
        the connection is open.

        Raises Unreachable, or OSError or HTTPException if no whole reply arrived."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            connection: HTTPConnection = HTTPSConnection(
                host, parts.port, timeout=timeout_s, context=self.tls
            )
        else:
            connection = HTTPConnection(host, parts.port, timeout=timeout_s)
        raw = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.bearer}", "Content-Type": "application/json"}
        try:
            try:
                connection.connect()
                target = path() if callable(path) else path
                connection.request(method, parts.path.rstrip("/") + target, raw, headers)
            except OSError as error:
                raise Unreachable(self._why(error)) from error
            response = connection.getresponse()
            return ControlReply(response.status, response.reason, response.read(_MOST_REPLY_BYTES))
        finally:
            connection.close()

    def _request(
        self,
        method: str,
        path: str | Callable[[], str],
        body: Mapping[str, Any] | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> dict[str, Any]:
        try:
            reply = self.send(method, path, body, timeout_s)
            if reply.status >= 300:
                raise _refusal(self, reply)
            document: dict[str, Any] = json.loads(reply.body)
            return document
        except Unreachable as error:
            raise TargetError(f"the control API at {self.url} cannot be reached: {error}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise RunError(f"the control API at {self.url} gave no answer: {self._why(error)}") from None

    def _why(self, error: Exception) -> str:
        """Return what went wrong, in a few words."""
        if isinstance(error, ssl.SSLError):
            return why_handshake_failed(error)
        if self.url.startswith("https:") and isinstance(error, ConnectionError):
            # With TLS 1.3 the handshake is over for the client when its certificate is refused.
            return f"it closed the connection ({error}): does it accept the client's certificate?"
        return str(error)


def injections_of(status: Mapping[str, Any]) -> dict[str, int]:
    """Return how often each rule has acted, as a status says."""
    if "rules" in status:  # A gateway lists rules; a proxy has a mapping.
        return {rule["name"]: rule["injected"] for rule in status["rules"]}
    return dict(status["injected"])


def hits_of(status: Mapping[str, Any], rule: Rule) -> int:
    """Return how often a rule is known to have acted, as a status says.

    A port that `refuse` shuts counts as one injection, because the kernel does not report whom it refuses. It
    counts here only if something uses the port: a connection came while it was open."""
    if rule.fault.kind == SHUTS_PORTS:
        proxies = [each for each in status["proxies"] if rule.match.covers_proxy(each["name"])]
        if not any(proxy["accepted"] for proxy in proxies):
            return 0
    return injections_of(status).get(rule.name, 0)


def rule_path(name: str) -> str:
    """Return the path of one rule."""
    return f"/rules/{quote(name, safe='')}"


def _refusal(client: ControlClient, reply: ControlReply) -> FaultkitError:
    url = client.url
    try:
        error = json.loads(reply.body)["error"]
        path, problem = str(error["path"]), str(error["problem"])
    except (ValueError, KeyError, TypeError):
        path, problem = "", reply.reason
    if reply.status in (401, 403):
        return TargetError(
            f"the control API at {url} wants another token (see {client.token_env}): {problem}"
        )
    if reply.status in (400, 404, 409, 423):
        return InputError(path, f"{problem} (said by the control API at {url})")
    return RunError(f"the control API at {url} answered {reply.status}: {problem}")
