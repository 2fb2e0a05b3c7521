"""The table of HTTP client libraries, with the names of their calls and the places of their timeouts."""

from __future__ import annotations

from dataclasses import dataclass

PYTHON, GO, JAVA = ("python",), ("go",), ("java",)
JAVASCRIPT = ("javascript", "typescript", "tsx")
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, by the resolved names of what it sends requests with."""

    name: str
    functions: tuple[str, ...] = ()
    """Each followed by a method: `requests` means `requests.get`, `requests.post` …"""
    plain: tuple[str, ...] = ()
    """Functions that take the method as an argument."""
    timeouts: tuple[str, ...] = ("timeout",)
    """Keywords or option keys that bound a request."""
    on_client: tuple[str, ...] = ("timeout",)
    """The same for the constructor of the client."""
    default_s: float | None = None
    """The library's default in seconds, if it has one."""
    bounds_whole: bool = False
    """Whether the default limits the whole call; otherwise each step of it."""
    place: int | None = None
    """Index of a positional timeout."""
    options: tuple[int, ...] = ()
    """Indices where an options object may stand; keywords only, if empty."""
    status_raises: bool = False
    """Whether a status of 400 and above raises without a check."""
    languages: tuple[str, ...] = PYTHON


REST_TEMPLATE = "org.springframework.web.client.RestTemplate"
SPRING_METHODS = {
    "getForObject": "GET",
    "getForEntity": "GET",
    "headForHeaders": "HEAD",
    "postForObject": "POST",
    "postForEntity": "POST",
    "postForLocation": "POST",
    "patchForObject": "PATCH",
    "put": "PUT",
    "delete": "DELETE",
    "exchange": "",
    "execute": "",
}

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
        bounds_whole=True,
    ),
    Library("urllib", (), ("urllib.request.urlopen",), place=2, status_raises=True),
    Library(
        "urllib3",
        (),
        ("urllib3.request", "urllib3.PoolManager.request", "urllib3.PoolManager.urlopen"),
    ),
    Library(
        "fetch",
        (),
        ("fetch", "node-fetch", "undici.fetch", "cross-fetch"),
        ("signal", "timeout"),
        (),
        options=(1,),
        languages=JAVASCRIPT,
    ),
    Library(
        "axios",
        ("axios", "axios.create()"),
        ("axios", "axios.request", "axios.create()", "axios.create().request"),
        ("timeout", "signal", "cancelToken"),
        options=(0, 1, 2),
        status_raises=True,
        languages=JAVASCRIPT,
    ),
    Library(
        "got",
        ("got", "got.extend()"),
        ("got", "got.extend()"),
        ("timeout", "timeout.request", "signal"),
        options=(1,),
        status_raises=True,
        languages=JAVASCRIPT,
    ),
    Library(
        "superagent",
        ("superagent",),
        (),
        ("timeout",),
        status_raises=True,
        languages=JAVASCRIPT,
    ),
    Library(
        "http",
        (),
        ("http.get", "http.request", "https.get", "https.request"),
        ("timeout", "signal"),
        ("timeout",),
        options=(0, 1),
        languages=JAVASCRIPT,
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
        languages=GO,
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
        languages=(*JAVA, "kotlin"),
    ),
    Library(
        "RestTemplate",
        (),
        tuple(f"{REST_TEMPLATE}.{name}" for name in SPRING_METHODS),
        (),
        (),
        status_raises=True,
        languages=(*JAVA, "kotlin"),
    ),
)

BUILT: dict[str, Library] = {
    each.name: each
    for each in (
        Library("reqwest", languages=("rust",)),
        Library("ureq", status_raises=True, languages=("rust",)),
        Library("HttpClient", default_s=100, bounds_whole=True, languages=("csharp",)),
        Library("RestSharp", default_s=100, bounds_whole=True, languages=("csharp",)),
        Library("HttpWebRequest", default_s=100, status_raises=True, languages=("csharp",)),
        Library("OkHttp", languages=("java", "kotlin")),
        Library("Ktor", languages=("kotlin",)),
        Library("Spring", status_raises=True, languages=("java", "kotlin")),
        Library("java.net", status_raises=True, languages=("java", "kotlin")),
    )
}
"""Libraries whose requests are built step by step; see `built_requests`."""

BY_NAME: dict[str, Library] = {}
"""Libraries by the resolved name of a function that sends."""
for _library in LIBRARIES:
    for _owner in _library.functions:
        for _name in METHODS:
            BY_NAME.setdefault(f"{_owner}.{_name}", _library)
    for _name in _library.plain:
        BY_NAME.setdefault(_name, _library)
