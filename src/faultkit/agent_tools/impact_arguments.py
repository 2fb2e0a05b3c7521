"""The arguments of the impact tools, and how each is read. Light: the core is imported when one is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultkit.agent_tools.arguments import argument, choice, either, flag, several, shown, text
from faultkit.agent_tools.importing import IMPORTING
from faultkit.agent_tools.numbers import number, whole
from faultkit.agent_tools.tool import Argument
from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.base.address import ProxyMap
    from faultkit.load.slo import Slo

SLO_EXAMPLES = '"99% < 350ms", "99% < 1%" (of errors) or "99.9% available"'
DEFAULT_SLOS = ("99% < 350ms", "95% < 200ms")
"""Those of `faultkit.scenario.impact`; a test holds them together."""
UNITS = ("bps", "kbps", "mbps", "gbps", "bit", "kbit", "mbit", "gbit")
"""Those of the vocabulary in small letters; a test holds them together."""
LONGEST_BODY = 1_000_000
MOST_PROXIES = 20
MOST_SLOS = 20

_MAP_EXAMPLE = '"34000=https://api.example.com:443"'
_PERCENT = r"(\d+(?:\.\d+)?)\s*%"
_SLO_FORMS = (
    (
        re.compile(rf"{_PERCENT}\s*(?:<=?|@|under|below)\s*{_PERCENT}(?:\s*errors?)?", re.IGNORECASE),
        "error:{}:{}%",
    ),
    (re.compile(rf"{_PERCENT}\s*(?:<=?|@|under|below)\s*([\d.]+\s*[a-zµ]+)", re.IGNORECASE), "latency:{}:{}"),
    (
        re.compile(r"p(\d+(?:\.\d+)?)\s*(?:<=?|@|under|below)\s*([\d.]+\s*[a-zµ]+)", re.IGNORECASE),
        "latency:{}:{}",
    ),
    (re.compile(rf"{_PERCENT}\s*available", re.IGNORECASE), "availability:{}"),
)
"""As people and our own reports write objectives, and the form that `parse_slo` reads."""


def _read_duration(value: Any) -> float:
    with IMPORTING:
        from faultkit.base.units import DURATION_FORM, parse_duration

    given = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    try:
        seconds = parse_duration(given) if isinstance(given, str) else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds:
        raise ValueError(f"expected {DURATION_FORM}, more than 0, got {shown(value)}")
    return seconds


def _read_map(value: Any) -> ProxyMap:
    with IMPORTING:
        from faultkit.base.address import parse_map

    if not isinstance(value, str):
        raise ValueError(f"expected a text such as {_MAP_EXAMPLE}, got {shown(value)}")
    try:
        return parse_map(value)
    except InputError as error:
        raise ValueError(error.problem) from None


def _read_slo(value: Any) -> Slo:
    with IMPORTING:
        from faultkit.load.slo import SLO_FORM, parse_slo

    if not isinstance(value, str):
        raise ValueError(f"expected a text such as {SLO_EXAMPLES}, got {shown(value)}")
    given = value.strip()
    for form, plain in _SLO_FORMS:
        if found := form.fullmatch(given):
            given = plain.format(*found.groups())
            break
    else:
        if ":" not in given:
            raise ValueError(
                f"expected an objective such as {SLO_EXAMPLES}, or {SLO_FORM}, got {shown(value)}"
            )
    try:
        return parse_slo(given)
    except ValueError as error:
        raise ValueError(str(error).partition(": ")[2] or str(error)) from None


def _read_headers(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError(f"expected an object of names and texts, got {shown(value)}")
    return tuple(value.items())


def _read_seed(value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, int) and value < 0):
        raise ValueError(f"expected a whole number of at least 0 or a text, got {shown(value)}")
    return value


def _optional(of: Argument, default: Any, told: Any) -> Argument:
    """The default as the core takes it, and as a caller would write it."""
    return replace(of, default=default, schema={**of.schema, "default": told})


_MAP = argument("", {"type": "string"}, "PORT=UPSTREAM", _read_map, example=_MAP_EXAMPLE)
_SLO = argument("", {"type": "string"}, "An objective", _read_slo, example='"99% < 350ms"')

HEAD = (
    text(
        "url",
        "Absolute URL of the endpoint that gets the traffic: the app under test, which must be running. On "
        "this machine or in a private network, unless the server was started with --allow-target.",
        example='"http://localhost:9090/"',
        longest=8000,
    ),
    text("method", "HTTP method of the requests.", default="GET", example='"GET"', longest=32),
    text(
        "body",
        "Body of the requests, sent as application/json unless `headers` names another content-type. Empty: "
        "none.",
        default="",
        example='"{\\"name\\": \\"me\\"}"',
        longest=LONGEST_BODY,
        may_be_blank=True,
    ),
)
TAIL = (
    _optional(
        argument(
            "duration",
            {"type": "string"},
            'How long traffic is sent with the fault, such as "10s" or "1m". With a baseline it is sent as '
            "long without the fault first.",
            _read_duration,
            example='"10s"',
        ),
        10.0,
        "10s",
    ),
    whole("num_clients", "How many clients send.", default=1, minimum=1, example="1"),
    number("rps", "Requests a second of each client.", default=3.0, above=0, example="3"),
    number(
        "timeout",
        "Seconds after which a client gives up on a request.",
        default=10.0,
        above=0,
        example="10",
    ),
    several(
        "proxies",
        "Maps PORT=UPSTREAM. Given: the fault acts on the calls that the app makes to its dependencies "
        "through these ports, so the app must be configured to call http://127.0.0.1:PORT instead of the "
        "upstream, and `url` itself is called directly. Empty: the fault acts between the client and the "
        "app.",
        _MAP,
        default=(),
        most=MOST_PROXIES,
        example=f"[{_MAP_EXAMPLE}]",
    ),
    _optional(
        several(
            "slos",
            f"Objectives to hold the run against, such as {SLO_EXAMPLES}. Each is told as kept or missed.",
            _SLO,
            most=MOST_SLOS,
            example='["99% < 350ms", "95% < 200ms"]',
        ),
        None,
        list(DEFAULT_SLOS),
    ),
    _optional(
        argument(
            "headers",
            {"type": "object", "additionalProperties": {"type": "string"}},
            "Headers of the requests. Secrets among them are masked in the report.",
            _read_headers,
            example='{"accept": "application/json"}',
        ),
        (),
        {},
    ),
    flag(
        "baseline",
        "Send the same traffic without the fault first, and report the difference. It doubles the time.",
        default=True,
    ),
    argument(
        "seed",
        either("integer", "string"),
        "Where chance begins: runs with the same seed meet the same faults, so that runs before and after a "
        "change of the code can be compared.",
        _read_seed,
        0,
        "0",
    ),
)


def side(default: str = "server") -> Argument:
    return choice(
        "side",
        "Which end of the connection the fault sits at: `server`, between the proxy and what it connects "
        "to, or `client`, between the proxy and who calls it.",
        ("client", "server"),
        default=default,
    )


def direction(default: str = "ingress") -> Argument:
    return choice(
        "direction",
        "Which bytes at that end, seen from the proxy: with side server, `ingress` are responses that come "
        "in, `egress` requests that go out, `both` are both.",
        ("ingress", "egress", "both"),
        default=default,
    )


LATENCY = (
    number("latency", "Mean delay in milliseconds.", default=100.0, minimum=0, example="300"),
    number(
        "deviation",
        "Standard deviation of the delay in milliseconds (normal distribution).",
        default=0.0,
        minimum=0,
        example="20",
    ),
    flag(
        "per_read_write_op",
        "false: once for each connection. true: for every chunk of bytes, so that requests on a connection "
        "that the app keeps open are each delayed.",
        default=False,
    ),
)
JITTER = (
    number(
        "amplitude",
        "Longest delay in milliseconds; each is drawn from 0 to it.",
        default=20.0,
        minimum=0,
        example="150",
    ),
    number(
        "frequency",
        "How often a second (Hz) the delay changes.",
        default=5.0,
        minimum=0,
        maximum=1e6,
        example="5",
    ),
)
BANDWIDTH = (
    number("rate", "How much passes a second, in `unit`.", default=1000.0, above=0, example="1024"),
    choice(
        "unit",
        "bps, kbps, mbps and gbps are bytes a second (1 kbps = 1000 bytes); bit, kbit, mbit and gbit are "
        "bits.",
        UNITS,
        default="bps",
    ),
)
PACKET_LOSS = (
    number(
        "rate",
        "Share of packets lost, from 0 to 1: 0.05 is 5 %. Without it, losses come in bursts and make 20 % "
        "of all.",
        default=None,
        minimum=0,
        maximum=1,
        example="0.05",
    ),
)
HTTP_ERROR = (
    whole("status_code", "Status of the answer.", default=500, minimum=200, maximum=599, example="503"),
    number(
        "probability",
        "Share of the requests that are answered so, from 0 to 1.",
        default=1.0,
        minimum=0,
        maximum=1,
        example="0.5",
    ),
    text(
        "error_body",
        "Body of the answer. Empty: none.",
        default="",
        longest=LONGEST_BODY,
        may_be_blank=True,
    ),
)
