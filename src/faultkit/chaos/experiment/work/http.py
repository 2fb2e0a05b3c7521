"""`http`: a request. As a check it gives the answer; as an action, an answer of 400 or more is a failure."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import switch, text
from faultkit.base.errors import InputError
from faultkit.base.http.client import HttpClient, Lost
from faultkit.chaos.experiment.work.work import USUAL_LIMIT_S, Failed, Scene, json_of, why_of
from faultkit.chaos.limits import Limits
from faultkit.chaos.undo import Undo

KEYS = ("url", "method", "headers", "body", "json", "verify")
MOST_BYTES = 4 << 20
URL_FORM = "a URL such as http://127.0.0.1:8000/health"


@dataclass(frozen=True, slots=True)
class HttpCall:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    verify: bool = True
    kind: ClassVar[str] = "http"
    usual_limit_s: ClassVar[float] = USUAL_LIMIT_S

    @property
    def says(self) -> str:
        parts = urlsplit(self.url)
        # A query may hold a key, and a user a password.
        return f"{self.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def resolve(self, scene: Scene) -> None:
        """Whoever answers is known only when asked."""

    def check_target(self, limits: Limits) -> None:
        """For what acts: whoever only looks may look anywhere."""
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        limits.check_target(parts.hostname or "", port, "url")

    async def perform(self, scene: Scene) -> Any:
        return await ask(self.method, self.url, self.headers, self.body, verify=self.verify)

    async def act(self, scene: Scene) -> Any:
        answer = await self.perform(scene)
        if answer["status"] >= 400:
            raise Failed(f"{self.says} answered {answer['status']}")
        return answer

    def undo(self, scene: Scene, limit_s: float) -> Undo:
        data = {
            "method": self.method,
            "url": self.url,
            "headers": dict(self.headers),
            "body": self.body,
            "verify": self.verify,
        }
        return Undo("http", data, self.says, limit_s)


async def ask(
    method: str, url: str, headers: Mapping[str, str], body: str | None = None, *, verify: bool = True
) -> dict[str, Any]:
    """The answer: `status`, `headers`, `body` (as what it says, if it says that it is JSON), `elapsed_ms`."""
    client = HttpClient(url, verify=verify)
    began = time.monotonic()
    try:
        reply = await client.request(method, list(headers.items()), (body or "").encode())
        raw = await reply.body(MOST_BYTES)
    except Lost as lost:
        raise Failed(f"{client.host}:{client.port}: {lost}") from None
    except OSError as error:
        raise Failed(f"{client.host}:{client.port}: {why_of(error)}") from None
    finally:
        client.close()
    elapsed_ms = round((time.monotonic() - began) * 1000, 3)
    said = raw.decode("utf-8", "replace")
    content: Any = said
    if reply.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
        try:
            content = json.loads(said)
        except ValueError:
            content = said
    return {"status": reply.status, "headers": reply.headers, "body": content, "elapsed_ms": elapsed_ms}


def parse_http(value: object, path: str, problems: list[InputError]) -> HttpCall | None:
    before = len(problems)
    reading = Reading({"url": value} if isinstance(value, str) else value, KEYS, path, problems)
    url = reading.need("url", read_url, "", URL_FORM)
    method = reading.take("method", lambda given: text(given).upper(), "GET")
    headers = dict(reading.take("headers", read_texts, {}))
    body = reading.take("body", text, None)
    if "json" in reading.given:
        if body is not None:
            reading.note("json", InputError("", 'expected it or "body", got both'))
        body = reading.take("json", json_of, None)
        headers.setdefault("content-type", "application/json")
    verify = reading.take("verify", switch, True)
    return HttpCall(url, method, headers, body, verify) if len(problems) == before else None


def read_url(value: object) -> str:
    given = text(value)
    try:
        parts = urlsplit(given)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise InputError("", f"expected {URL_FORM}, got {shown(value)}")
    return given


def read_texts(value: object) -> dict[str, str]:
    """A mapping of names to texts, as of headers or of an environment."""
    if not isinstance(value, Mapping):
        raise InputError("", f"expected a mapping of names to texts, got {shown(value)}")
    for name, each in value.items():
        if not isinstance(name, str) or not isinstance(each, str):
            raise InputError("", f"expected a text for each name, got {shown(name)}: {shown(each)}")
        if "\r" in name + each or "\n" in name + each:
            raise InputError("", f"expected texts on one line, got {shown(each)}")
    return dict(value)
