"""Fuzzes the HTTP APIs that steer proxies: the control APIs of `fault run` and `fault gateway`, Toxiproxy's.

Every request is answered, by a status below 500, and a good request is answered afterwards.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import quote

from tests.fuzz.document_mutator import mutated_document
from tests.fuzz.fuzz_budget import Budget
from tests.mcp.fuzz.fuzzed_process import FAULT, LIMIT_S, Broken, Subject, manifest, running

TOKEN = "fuzz-token"
_BATCH = 25
_RULES = (
    '{"name": "slow", "fault": "latency", "with": {"mean_ms": 5}, "trigger": {"first": 2}}',
    '{"name": "cut", "fault": "blackhole", "schedule": "start:1s,duration:2s"}',
    '{"fault": "http_error", "with": {"status": 503}, "match": {"path": "/x*", "headers": {"a": "b*"}}}',
)
_CALL_RULES = (
    '{"name": "slow", "fault": "slow", "match": {"tool": "e*"}, "trigger": {"burst": 2}}',
    '{"fault": "tool_error", "match": {"method": "tools/call"}, "schedule": [{"start": "1s"}]}',
)
_TTLS = (
    "",
    "?ttl=1",
    "?ttl=0",
    "?ttl=-1",
    "?ttl=nan",
    "?ttl=1e400",
    "?ttl=x",
    "?ttl",
    "?ttl=1&ttl=2",
    "?%00",
)
_NAMES = ("slow", "cut", "http_error", "", "..", "%", "%00", "%ff", "a/b", "x" * 3000, "ü", "*")
_PROXIES = (
    '{"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9", "enabled": true}',
    '[{"name": "p", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9"}, {"name": "q", "upstream": "x:1"}]',
    '{"name": "t", "type": "latency", "stream": "upstream", "toxicity": 0.5, "attributes": {"latency": 5}}',
    '{"type": "limit_data", "attributes": {"bytes": 100}}',
    '{"type": "packet_loss", "attributes": {"loss_rate": 0.1, "correlation": 0.5}}',
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of an API."""

    method: str
    target: str
    body: str

    def __bytes__(self) -> bytes:
        return f"{self.method} {self.target}\n{self.body}".encode("utf-8", "surrogatepass")


class ApiClient:
    """One kept connection; it is opened again if the server closes it."""

    def __init__(self, port: int, subject: Subject, headers: dict[str, str]) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        self._subject = subject
        self._headers = headers

    def status(self, asked: Asked) -> int:
        """Return the status of the answer. Raises Broken if there is none, twice in a row."""
        body = asked.body.encode("utf-8", "surrogatepass")
        for again in (True, False):
            try:
                self._connection.request(asked.method, asked.target, body, self._headers)
                answer = self._connection.getresponse()
                answer.read()
                return answer.status
            except (OSError, HTTPException) as error:
                self._connection.close()
                if not again:
                    self._subject.check()
                    raise Broken(f"{asked.method} {asked.target[:80]}: no answer: {error!r}") from None
        raise AssertionError

    def close(self) -> None:
        self._connection.close()


def _fuzz_api(
    budget: Budget,
    client: ApiClient,
    subject: Subject,
    made: Callable[[random.Random], Asked],
    good: tuple[Asked, ...],
) -> None:
    while budget.is_left:
        for _ in range(_BATCH):
            asked = made(budget.rng)
            budget.note(bytes(asked))
            status = client.status(asked)
            if status >= 500:
                raise Broken(f"{asked.method} {asked.target[:80]}: status {status}")
        subject.check()
        for asked in good:
            if (status := client.status(asked)) >= 300:
                raise Broken(f"a good request, {asked.method} {asked.target}, got status {status}")
    client.close()


def _control_request(rules: tuple[str, ...]) -> Callable[[random.Random], Asked]:
    def made(rng: random.Random) -> Asked:
        ttl, name = rng.choice(_TTLS), quote(rng.choice(_NAMES), safe="%/.")
        rule = mutated_document(rng, rng.choice(rules))
        kind = rng.randrange(8)
        if kind < 3:
            return Asked("POST", f"/rules{ttl}", rule)
        if kind < 5:
            plan = json.dumps({"seed": 3, "rules": [json.loads(each) for each in rules]})
            return Asked("PUT", f"/plan{ttl}", mutated_document(rng, plan))
        if kind == 5:
            return Asked(rng.choice(["PATCH", "DELETE"]), f"/rules/{name}{ttl}", "")
        if kind == 6:
            return Asked("GET", rng.choice(["/plan", "/status", "/healthz", "/", f"/{name}"]), "")
        return Asked(rng.choice(["POST", "PUT", "PATCH", "OPTIONS", "HEAD"]), f"/{name}", rule)

    return made


_GOOD_CONTROL = (
    Asked("GET", "/status", ""),
    Asked("PUT", "/plan?ttl=0", '{"rules": []}'),
    Asked("GET", "/plan", ""),
)


def fuzz_control(budget: Budget) -> None:
    """Fuzz the control API of `fault run`."""
    words = ("run", "--no-ui", "--no-check", "--disable-http-proxy", "--proxy", "0=127.0.0.1:9")
    command = (*FAULT, *words, "--control", "127.0.0.1:0")
    with running(command, piped=False, FAULT_CONTROL_TOKEN=TOKEN) as subject:
        client = ApiClient(subject.port(CONTROL), subject, _bearer())
        _fuzz_api(budget, client, subject, _control_request(_RULES), _GOOD_CONTROL)


def fuzz_gateway_control(budget: Budget) -> None:
    """Fuzz the control API of `fault gateway`."""
    with manifest() as path:
        mock = (*FAULT, "mock", "--tools-from", path)
        command = (
            *FAULT,
            "gateway",
            "--front",
            "http",
            "--port",
            "0",
            "--control",
            "127.0.0.1:0",
            "--",
            *mock,
        )
        with running(command, piped=False, FAULT_CONTROL_TOKEN=TOKEN) as subject:
            client = ApiClient(subject.port(CONTROL), subject, _bearer())
            _fuzz_api(budget, client, subject, _control_request(_CALL_RULES), _GOOD_CONTROL)


CONTROL = re.compile(r"control: http://127\.0\.0\.1:(\d+)")


def _bearer() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


def _toxiproxy_request(rng: random.Random) -> Asked:
    name = quote(rng.choice(("p", "q", *_NAMES)), safe="%/.")
    toxic = quote(rng.choice(("t", "latency_downstream", *_NAMES)), safe="%/.")
    body = mutated_document(rng, rng.choice(_PROXIES))
    targets = ("/proxies", "/populate", f"/proxies/{name}", f"/proxies/{name}/toxics", "/reset", "/version")
    method = rng.choice(["POST", "POST", "POST", "GET", "PATCH", "DELETE"])
    return Asked(method, rng.choice((*targets, f"/proxies/{name}/toxics/{toxic}", "/metrics")), body)


_GOOD_PROXY = json.dumps([{"name": "good", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9"}])
_GOOD_TOXIPROXY = (
    Asked("POST", "/reset", ""),
    Asked("POST", "/populate", _GOOD_PROXY),
    Asked("DELETE", "/proxies/good", ""),
    Asked("GET", "/proxies", ""),
)


def fuzz_toxiproxy(budget: Budget) -> None:
    """Fuzz the API of `fault toxiproxy`."""
    with running((*FAULT, "toxiproxy", "--port", "0"), piped=False) as subject:
        port = subject.port(re.compile(r"API on http://127\.0\.0\.1:(\d+)"))
        client = ApiClient(port, subject, {})
        _fuzz_api(budget, client, subject, _toxiproxy_request, _GOOD_TOXIPROXY)
