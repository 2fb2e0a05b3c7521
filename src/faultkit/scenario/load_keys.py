"""The keys of a strategy that describe its load, shared by the modes load and search. Pure."""

from __future__ import annotations

from typing import Any, get_args

from faultkit.base.documents.key_tables import Key
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, choice, number, switch, whole_number
from faultkit.base.errors import InputError
from faultkit.load.load import Load, Model, Spacing

MOST_CLIENTS = 1_000_000
MOST_IN_FLIGHT = 1_000_000
MODELS: tuple[str, ...] = get_args(Model)
SPACINGS: tuple[str, ...] = get_args(Spacing)

RATE = "a number of requests a second above 0"

CLIENTS = Key(
    "clients",
    whole_number(1, MOST_CLIENTS),
    {"type": "integer", "minimum": 1, "maximum": MOST_CLIENTS},
    1,
    "How many clients send requests.",
)
RPS = Key(
    "rps",
    number(RATE, lambda rps: rps > 0),
    {"type": "number", "exclusiveMinimum": 0},
    help="Requests a second of each client: clients times rps in all. Required for an open load.",
)
MODEL = Key(
    "model",
    choice(MODELS),
    {"enum": list(MODELS)},
    "open",
    "Open: requests start when they are due, even if earlier ones are unanswered. Closed: each "
    "client waits for its answer.",
)
PACE = (
    Key("spacing", choice(SPACINGS), {"enum": list(SPACINGS)}, "even", "Times between requests."),
    Key(
        "keep_alive",
        switch,
        SWITCH_SCHEMA,
        False,
        "Reuse connections. If false, each request opens one, so faults that act once per connection "
        "meet every request.",
    ),
    Key(
        "max_in_flight",
        whole_number(1, MOST_IN_FLIGHT),
        {"type": "integer", "minimum": 1, "maximum": MOST_IN_FLIGHT},
        1000,
        "For an open load: with this many requests in flight, a new one is dropped and counted.",
    ),
)

_KEYS = {"duration_s": "duration", "rate_rps": "rps", "ramp_s": "ramp", "most_in_flight": "max_in_flight"}
"""By field of `Load`: its key in the file."""


def parse_load(
    reading: MappingReader, *, needs_rate: bool = False, **values: Any
) -> tuple[Load, int, float | None]:
    """Return the load of a strategy, its clients, and the rate of each. Problems are noted, and a load that
    has some stands for another. `values`: further fields of the load. `needs_rate`: also a closed one."""
    before = len(reading.problems)
    model, clients = reading.take("model"), reading.take("clients")
    if model == "open" or needs_rate:
        reading.require("rps", RATE)
    rps = reading.take("rps")
    if rps is None and (model == "open" or needs_rate):
        # Wrong or missing, which is reported: any rate will do for the checks that follow.
        rps = 1.0
    values |= {
        "rate_rps": None if rps is None else clients * rps,
        "clients": clients if model == "closed" else 1,
        "model": model,
        "spacing": reading.take("spacing"),
        "keep_alive": reading.take("keep_alive"),
        "most_in_flight": reading.take("max_in_flight"),
    }
    load = Load(1.0, 1.0)
    if len(reading.problems) == before:
        try:
            load = Load(**values)
        except ValueError as error:
            field, _, problem = str(error).partition(": ")
            reading.note(_KEYS.get(field, field), InputError("", problem))
    return load, clients, rps
