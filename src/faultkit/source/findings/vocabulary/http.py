"""Calls that send an HTTP request: with which library and method, and whether they wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.source.findings.facts import Argument, Call, Facts
from faultkit.source.findings.vocabulary.bounds import is_bounded

METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, by the resolved names of what it sends requests with."""

    name: str
    functions: tuple[str, ...] = ()
    """Each followed by a method: `requests` means `requests.get`, `requests.post` …"""
    plain: tuple[str, ...] = ()
    """Functions whose method is an argument."""
    timeouts: tuple[str, ...] = ("timeout",)
    """Keywords or option keys that bound a request."""
    on_client: tuple[str, ...] = ("timeout",)
    """The same where the client is made."""
    default_s: float | None = None
    """Its own default, if it has one."""
    place: int | None = None
    """Of a timeout that is given by its place."""
    options: tuple[int, ...] = ()
    """Places in which an options object may stand; keywords only, if there is none."""
    status_raises: bool = False
    """An answer of 400 and above is an error without being asked."""


LIBRARIES: tuple[Library, ...] = (
    Library(
        "requests",
        ("requests", "requests.Session", "requests.session()", "requests.sessions.Session"),
        ("requests.request", "requests.Session.request", "requests.session().request"),
        on_client=(),
    ),
    Library(
        "httpx",
        ("httpx", "httpx.Client", "httpx.AsyncClient"),
        tuple(
            f"{owner}.{name}"
            for owner in ("httpx", "httpx.Client", "httpx.AsyncClient")
            for name in ("request", "stream", "send")
        ),
        default_s=5,
    ),
    Library(
        "aiohttp",
        ("aiohttp.ClientSession",),
        ("aiohttp.ClientSession.request", "aiohttp.request"),
        on_client=("timeout",),
        default_s=300,
    ),
    Library("urllib", (), ("urllib.request.urlopen",), place=2, status_raises=True),
    Library(
        "urllib3",
        (),
        ("urllib3.request", "urllib3.PoolManager.request", "urllib3.PoolManager.urlopen"),
    ),
    Library("fetch", (), ("fetch", "node-fetch", "undici.fetch", "cross-fetch"), ("signal", "timeout"), ()),
    Library(
        "axios",
        ("axios", "axios.create()"),
        ("axios", "axios.request", "axios.create()", "axios.create().request"),
        ("timeout", "signal", "cancelToken"),
        options=(0, 1, 2),
        status_raises=True,
    ),
    Library(
        "got",
        ("got", "got.extend()"),
        ("got",),
        ("timeout", "timeout.request", "signal"),
        options=(1,),
        status_raises=True,
    ),
    Library(
        "superagent",
        ("superagent",),
        (),
        ("timeout",),
        status_raises=True,
    ),
    Library(
        "http",
        (),
        ("http.get", "http.request", "https.get", "https.request"),
        ("timeout", "signal"),
        ("timeout",),
        options=(0, 1),
    ),
    Library(
        "net/http",
        (),
        (
            *(f"net/http.{name}" for name in ("Get", "Head", "Post", "PostForm")),
            *(f"net/http.Client.{name}" for name in ("Get", "Head", "Post", "PostForm", "Do")),
            *(f"net/http.DefaultClient.{name}" for name in ("Get", "Head", "Post", "PostForm", "Do")),
        ),
        (),
        ("Timeout",),
    ),
    Library(
        "java.net.http",
        (),
        (
            "java.net.http.HttpClient.send",
            "java.net.http.HttpClient.sendAsync",
            "java.net.http.HttpClient.newHttpClient().send",
            "java.net.http.HttpClient.newHttpClient().sendAsync",
        ),
        (),
        (),
    ),
)

_BY_NAME: dict[str, Library] = {}
for _library in LIBRARIES:
    for _owner in _library.functions:
        for _name in METHODS:
            _BY_NAME.setdefault(f"{_owner}.{_name}", _library)
    for _name in _library.plain:
        _BY_NAME.setdefault(_name, _library)

_LITERAL_METHOD = re.compile(r"^['\"`]?([A-Za-z]+)['\"`]?$")
_GO_METHODS = {"Get": "GET", "Head": "HEAD", "Post": "POST", "PostForm": "POST"}
_BUILT = re.compile(r"java\.net\.http\.HttpClient\.newBuilder\(\).*\.build\(\)\.send(Async)?$")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    call: Call
    library: Library
    method: str
    """`GET` …; empty if the text does not tell."""
    timeout: bool | None
    """Whether it has a bound of its own or by its client; None if the text does not tell."""
    url: str
    """As written."""

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE

    @property
    def client(self) -> Call | None:
        """The call that made the client; None for functions of the library and for clients from elsewhere."""
        return self.call.origin


@lru_cache(maxsize=4)
def http_requests(facts: Facts) -> tuple[HttpRequest, ...]:
    return tuple(_requests(facts))


def _requests(facts: Facts) -> Iterator[HttpRequest]:
    own = {scope.name for scope in facts.scopes if scope.name}
    for call in facts.calls:
        library = library_of(call)
        if (
            call.name in own
            or library is None
            or call.is_decorator
            or (not call.arguments and library.name != "superagent")
        ):
            continue
        url = call.argument("url", place=0)
        if library.name == "superagent" and url is None:
            continue
        method = _method(call, library, facts)
        timeout = _timeout(call, library, facts)
        yield HttpRequest(call, library, method, timeout, "" if url is None else url.value.text)


def library_of(call: Call) -> Library | None:
    if _BUILT.match(call.name):
        return _BY_NAME["java.net.http.HttpClient.send"]
    return _BY_NAME.get(call.name)


def _method(call: Call, library: Library, facts: Facts) -> str:
    if call.method in METHODS and call.name not in library.plain:
        return call.method.upper()
    if library.name == "net/http":
        return _GO_METHODS.get(call.method) or _go_request(call, facts)
    if library.name == "urllib":
        return "POST" if call.argument("data", place=1) else "GET"
    if library.name == "java.net.http":
        return _java_request(call)
    given = call.argument("method")
    if (
        given is None
        and call.name.endswith((".request", ".stream"))
        and library.name not in ("http", "axios")
    ):
        given = call.argument(place=0)
    if given is None:
        return "GET" if not call.spreads and not call.name.endswith(".send") else ""
    found = _LITERAL_METHOD.match(given.value.text)
    return found[1].upper() if found and given.value.shape == "text" else ""


def request_of(call: Call, facts: Facts) -> Call | None:
    """Go: the call of NewRequest whose request this one sends."""
    given = call.argument(place=0)
    if given is None:
        return None
    for each in facts.calls_named("net/http.NewRequest", "net/http.NewRequestWithContext"):
        if given.value.text in each.assigned and facts.function_of(each) is facts.function_of(call):
            return each
    return None


def _go_request(call: Call, facts: Facts) -> str:
    made = request_of(call, facts)
    if made is None:
        return ""
    word = made.argument(place=1 if made.method == "NewRequestWithContext" else 0)
    if word is None:
        return ""
    if word.value.shape == "text":
        return word.value.literal.upper()
    return word.value.text.rpartition("Method")[2].upper()


def _java_request(call: Call) -> str:
    given = call.argument(place=0)
    text = "" if given is None else given.value.text
    for method in ("POST", "PUT", "DELETE"):
        if f".{method}(" in text:
            return method
    return "GET" if "newBuilder" in text else ""


def _timeout(call: Call, library: Library, facts: Facts) -> bool | None:
    if _given(call, library) is not None or is_bounded(call, facts):
        return True
    if library.name == "net/http":
        return _go_timeout(call, facts)
    if library.name == "java.net.http":
        return _java_timeout(call, facts)
    if library.name in ("http", "superagent") and _chained(call, facts, "setTimeout", "timeout"):
        return True
    if _unknown_options(call, library):
        return None
    client = call.origin
    if client is not None:
        if any(client.has(each) for each in library.on_client):
            return True
        if client.spreads or _sets_timeout(client, facts):
            return None
        if library.name == "axios" and any(each.value.shape == "name" for each in client.positional):
            return None
    elif _on_unknown_client(call, library):
        return None
    return False


def _given(call: Call, library: Library) -> Argument | None:
    for name in library.timeouts:
        found = call.argument(name)
        in_body = found is not None and found.place == _body_place(call, library)
        if found is not None and found.value.shape != "none" and not in_body:
            return found
    return None if library.place is None else call.argument(place=library.place)


def _unknown_options(call: Call, library: Library) -> bool:
    if call.spreads:
        return True
    places = library.options or ((1,) if library.name == "fetch" else ())
    data = _body_place(call, library)
    return any(
        each.value.shape in ("name", "call", "other") and each.place in places and each.place not in (0, data)
        for each in call.positional
    )


def _body_place(call: Call, library: Library) -> int | None:
    """Where what is sent stands; its keys are not options."""
    return 1 if call.method in ("post", "put", "patch") and library.name == "axios" else None


def _on_unknown_client(call: Call, library: Library) -> bool:
    """A client that came as a parameter may have a timeout."""
    owners = ("Session.", "Client.", "session().", "create().", "PoolManager.")
    return library.name != "requests" and any(owner in call.name for owner in owners)


def _sets_timeout(client: Call, facts: Facts) -> bool:
    names = {f"{each}.{word}" for each in client.assigned for word in ("timeout", "defaults.timeout")}
    return any({*each.targets} & names for each in facts.assignments)


def _chained(call: Call, facts: Facts, *methods: str) -> bool:
    todo, seen = [call], set[int]()
    while todo:
        each = todo.pop()
        for later in facts.calls_on(each):
            if later.method in methods:
                return True
            if later.span.start not in seen or later.span.end not in seen:
                seen |= {later.span.start, later.span.end}
                todo.append(later)
    return any(made.method in methods for made in _before(call))


def _before(call: Call) -> Iterator[Call]:
    made = call.origin
    while made is not None:
        yield made
        made = made.origin


def _go_timeout(call: Call, facts: Facts) -> bool | None:
    made = request_of(call, facts)
    if made is not None and made.method == "NewRequestWithContext":
        context = made.argument(place=0)
        plain = context is not None and context.value.text in ("context.Background()", "context.TODO()")
        if not plain:
            return None
    client = call.origin
    if client is not None and client.name == "net/http.Client":
        if client.has("Timeout"):
            return True
        names = {f"{each}.Timeout" for each in client.assigned}
        return any({*each.targets} & names for each in facts.assignments)
    if call.name.startswith("net/http.Client."):
        return None
    return False


def _java_timeout(call: Call, facts: Facts) -> bool | None:
    given = call.argument(place=0)
    if given is None:
        return None
    text = given.value.text
    if given.value.shape == "name":
        built = [
            each.value.text
            for each in facts.assignments
            if text in each.targets and each.value is not None and "newBuilder" in each.value.text
        ]
        if not built:
            return None
        text = built[-1]
    return ".timeout(" in text
