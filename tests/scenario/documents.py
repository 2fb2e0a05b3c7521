"""Scenario documents for property tests: anything that the format allows, in any of its spellings."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from faultkit.faults import PROXY_FAULTS
from faultkit.faults.fault_data import dump_fault
from faultkit.plan import Direction, Side
from faultkit.scenario.written_faults import ALIASES, PROBABILITY, TYPES
from faultkit.testing.strategies import faults

PERIODS = ("start:1s,duration:2s", "start:2", "duration:1s,every:3s,times:2;start:8s", "start:100ms")
SHARES = ("start:10%,duration:15%", "start:45%;start:80%,duration:1s")
TEXTS = st.text(
    st.characters(codec="latin-1", exclude_categories=("Cc", "Cf", "Zs")) | st.just(" "), min_size=1
)
MS = st.integers(1, 10**6) | st.floats(0.001, 1e6) | st.sampled_from(("500ms", "1.5s", "1m 3s"))
DURATIONS = st.sampled_from(("10s", "1h 30m", "250ms", "0.1s", " 2 s "))


def some(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for mappings with any of these keys, each perhaps without a value."""
    return st.fixed_dictionaries({}, optional={key: st.none() | value for key, value in values.items()})


@st.composite
def written_faults(draw: st.DrawFn, periods: tuple[str, ...] = PERIODS) -> dict[str, Any]:
    type_ = draw(st.sampled_from(tuple(TYPES)))
    kind = TYPES[type_]
    names = {
        meant: name for name, meant in ALIASES.get(kind, {}).items() if meant not in ("per", PROBABILITY)
    }
    given = dump_fault(draw(faults(PROXY_FAULTS[kind])))
    found: dict[str, Any] = {"type": type_}
    for name, value in given.items():
        found[names[name] if name in names and draw(st.booleans()) else name] = value
    if kind == "latency" and "per" not in given:
        found.update(draw(some(**{"global": st.booleans()})))
    if PROXY_FAULTS[kind].level == "stream":
        flow = {"side": st.sampled_from(get_args(Side)), "direction": st.sampled_from(get_args(Direction))}
        found.update(draw(some(**flow)))
    chance = "rate" if kind == "dns" and draw(st.booleans()) else PROBABILITY
    found.update(
        draw(
            some(
                **{chance: st.floats(0, 1)},
                first=st.integers(1, 9),
                after=st.integers(0, 9),
                every=st.integers(1, 9),
                period=st.sampled_from(periods),
            )
        )
    )
    places: dict[str, st.SearchStrategy[Any]] = {"proxy": st.sampled_from(("*", "http", "9090"))}
    level = PROXY_FAULTS[kind].level
    if level in ("http", "llm"):
        places |= {"method": st.sampled_from(("GET", ["GET", "PUT"])), "path": st.just("/api/*")}
        places |= {"headers": st.just({"X-Id": "*"})}
    if level == "llm":
        places |= {"model": st.just("gpt-*"), "streamed": st.booleans(), "tool_use": st.booleans()}
    found.update(draw(some(match=some(**places))))
    return found


LOADS = some(
    clients=st.integers(1, 50),
    model=st.just("open"),
    ramp=st.sampled_from(("100ms", "0.05s")),
    spacing=st.sampled_from(("even", "poisson")),
    keep_alive=st.booleans(),
    max_in_flight=st.integers(1, 10**6),
)


@st.composite
def contexts(draw: st.DrawFn) -> dict[str, Any]:
    mode = draw(st.sampled_from((None, "single", "repeat", "load", "closed")))
    strategy: dict[str, Any] | None = None if mode is None else {"mode": mode}
    if mode == "repeat":
        strategy = {
            "mode": "repeat",
            "step": draw(st.sampled_from((0, 0.0))),
            "count": draw(st.integers(1, 9)),
        }
        more = {"wait": MS | st.just(0), "failfast": st.booleans(), "add_baseline_call": st.booleans()}
        strategy.update(draw(some(**more)))
    if mode in ("load", "closed"):
        rps = {"rps": draw(st.integers(1, 500) | st.floats(0.01, 500))}
        strategy = {**draw(LOADS), "mode": "load", "duration": draw(DURATIONS), **rps}
        if mode == "closed":
            strategy |= {"model": "closed", "rps": draw(st.none() | st.just(rps["rps"]))}
    periods = (*PERIODS, *SHARES) if mode in ("load", "closed") else PERIODS
    proxies = st.lists(
        st.sampled_from(("0=localhost:80", "http:0=https://a.example", "0=psql://db")), min_size=1, max_size=2
    )
    context = draw(
        some(
            upstreams=st.lists(st.sampled_from(("*", "a.example", "https://b.example:8443/x", "[::1]:80"))),
            faults=st.lists(written_faults(periods), max_size=3),
            strategy=st.just(strategy),
            slo=st.lists(slos(), max_size=2),
            proxy=st.fixed_dictionaries(
                {"proxies": proxies},
                optional={"disable_http_proxies": st.booleans(), "through": st.none() | st.just("web")},
            ),
        )
    )
    # Shares of the run need the duration of a load.
    return {**context, "strategy": strategy} if periods is not PERIODS else context


@st.composite
def slos(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(("latency", "error", "availability")))
    threshold = st.floats(0.001, 100) if kind == "error" else MS
    found = {draw(st.sampled_from(("type", "slo_type"))): kind, "objective": draw(st.floats(0.1, 99.99))}
    found.update(draw(some(title=TEXTS, window=DURATIONS)))
    if kind != "availability" or draw(st.booleans()):
        found["threshold"] = draw(threshold)
    return found


CONTROL_APIS = st.builds(
    lambda must, may, pair: {**must, **may, **pair},
    st.fixed_dictionaries({"at": st.sampled_from(("https://h.example", "https://[::1]:7900/"))}),
    some(token_env=st.just("A_TOKEN"), ca=st.just("ca.pem")),
    st.sampled_from(({}, {"cert": "c.pem", "key": "c.key"})),
) | st.just({"at": "http://127.0.0.1:7900"})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
CALLS = st.builds(
    lambda must, may: {**must, **may},
    st.fixed_dictionaries(
        {
            "method": st.sampled_from(("GET", "post", "PATCH")),
            "url": st.sampled_from(
                ("http://localhost:8080", "https://a.example/x/{id}?q={name}", "HTTP://[::1]:80/{id}")
            ),
        }
    ),
    some(
        headers=st.dictionaries(st.sampled_from(("X-Id", "Content-Type", "accept")), TEXTS, max_size=2),
        body=TEXTS | st.lists(JSON, max_size=3) | st.dictionaries(TEXTS, JSON, max_size=3),
        timeout=MS,
        meta=some(operation_id=TEXTS),
    ),
)
CALLS |= st.builds(
    lambda call, until: {**call, "stream": "sse", "until": until},
    CALLS,
    st.none() | st.fixed_dictionaries({"events": st.integers(1, 99)}, optional={"data": TEXTS}),
)
ITEMS = st.builds(
    lambda call, rest: {"call": call, **rest},
    CALLS,
    some(
        context=contexts(),
        expect=some(status=st.integers(100, 599), response_time_under=MS, all_slo_are_valid=st.booleans()),
    ),
)


@st.composite
def scenario_documents(draw: st.DrawFn) -> dict[str, Any]:
    segments = {"id": draw(TEXTS), "name": "a b/ä"}
    http = {
        "paths": {"segments": segments},
        **draw(some(headers=st.just({"x-id": "common", "accept": "*/*"}))),
    }
    return {
        "title": draw(TEXTS),
        **draw(some(description=TEXTS, proxy=CONTROL_APIS)),
        "config": {"http": http},
        "items": draw(st.lists(ITEMS, min_size=1, max_size=2)),
    }
