"""The keys of a search by trials, in experiments and suites; `trial_search` reads a search by them. Pure.

It imports no load and no search, because every suite imports it.
"""

from __future__ import annotations

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice, number, text
from faultkit.base.errors import InputError

USUAL_SHARE = 0.75
USUAL_BUDGET = 600
_MOST_TRIALS = 10**6
_VALUE_SCHEMA = {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}


def _read_share(value: object) -> float:
    # Imported here: the table is read wherever suites are, and a search is rare.
    from faultkit.scenario.search_setting import read_value

    given = read_value(value, "")
    if not 0 < given < 1:
        raise InputError("", f"expected a share between 0 and 1 such as 0.75 or 75%, got {shown(value)}")
    return given


def _read_budget(value: object) -> int:
    given = number("a whole number")(value)
    if given != int(given) or not 1 <= given <= _MOST_TRIALS:
        raise InputError("", f"expected a whole number from 1 to {_MOST_TRIALS}, got {shown(value)}")
    return int(given)


def trial_search_keys(vary: str, share: str, budget: str, at_least: str) -> tuple[Key, ...]:
    """Return the keys of a search; the texts say what they mean where they are written."""
    return (
        Key("vary", text, TEXT_SCHEMA, "", vary, "the setting that is searched"),
        Key("from", schema=_VALUE_SCHEMA, help="The harmless end of the range.", required="the harmless end"),
        Key("to", schema=_VALUE_SCHEMA, help="The harmful end.", required="the harmful end"),
        Key(
            "scale",
            choice(("linear", "log")),
            {"enum": ["linear", "log"]},
            "linear",
            "How the range is divided; log for ranges over several powers of ten.",
        ),
        Key("precision", schema=_VALUE_SCHEMA, help="The least difference of two values that matters."),
        Key("share", _read_share, _VALUE_SCHEMA, USUAL_SHARE, share),
        Key("budget", _read_budget, {"type": "integer", "minimum": 1}, USUAL_BUDGET, budget),
        Key("at_least", schema=_VALUE_SCHEMA, help=at_least),
    )


def require_range(reader: MappingReader) -> None:
    """Note the ends of the range that are missing."""
    for key, expected in (("from", "the harmless end"), ("to", "the harmful end")):
        reader.require(key, expected)
