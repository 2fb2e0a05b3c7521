"""The `faults` of a suite: those of the seed, every other fault of calls, and specs in one word.

Each becomes a rule of the one vocabulary. `target` is the rule's match; settings stand beside `kind` or below
`with`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.agents.model import SuiteFault
from faultkit.agents.parse.sheet import Found, Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.documents.values import line, text
from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS, NETWORK_FAULTS
from faultkit.faults.call.call import CallFault
from faultkit.faults.call.hang import Hang
from faultkit.mcp.specs import ALIASES, parse_spec
from faultkit.plan import Rule, fresh_name, parse_rule

FAULT_KEYS = ("name", "target", "kind", "with", "trigger", "schedule", "spec")
TARGET_KEYS = ("tool", "server", "resource", "prompt", "method")
NEEDED = {"slow": "delay_ms", "recover_after": "failures"}
"""Settings that have a default elsewhere, and that a suite has to say."""
_UNITS = {"ms": "a number of milliseconds"}
_ANY_RULE = Rule("any", Hang())


def parse_faults(values: Sequence[tuple[str, object]], sheet: Sheet) -> list[Found[SuiteFault]]:
    """Each with its path."""
    # Names that users chose go before names that we make up, wherever they stand.
    taken = {_name_of(value) for _, value in values}
    faults = []
    for path, value in values:
        rule = _rule(value, path, sheet, taken)
        name = rule.name if rule is not None else _name_of(value)
        taken.add(name)
        fault = SuiteFault(name, rule or _ANY_RULE, sheet.place(path))
        faults.append(Found(fault, path, sheet, value, is_sound=rule is not None))
    return faults


def _name_of(value: object) -> str:
    name = value.get("name") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) else ""


def _rule(value: object, path: str, sheet: Sheet, taken: set[str]) -> Rule | None:
    before = len(sheet.problems)
    if isinstance(value, str):
        return _of_spec(value, None, path, sheet, taken)
    reading = Reading(value, _keys_of(value), path, sheet.problems)
    name = reading.take("name", line, None)
    if not reading.sound:
        return None
    if "spec" in reading.given:
        return _of_written_spec(reading, name, sheet, taken)
    if "name" not in reading.given:
        sheet.note(joined(path, "name"), "expected a name, got nothing")
    kind = reading.need("kind", _kind, None, "the kind of a fault such as hang")
    target = _target(reading)
    settings = {} if kind is None else _settings(reading, CALL_FAULTS[kind])
    if len(sheet.problems) > before or kind is None or name is None:
        return None
    rule: dict[str, object] = {"name": name, "fault": kind, "with": settings, "match": target}
    rule |= {key: reading.given[key] for key in ("trigger", "schedule") if key in reading.given}
    try:
        return parse_rule(rule)
    except InputError as error:
        sheet.problems.append(InputError(written_at(error.path, value), error.problem).within(path))
        return None


def _keys_of(value: object) -> tuple[str, ...]:
    """A key that is no key of a fault may be a setting: `_settings` says whether it is."""
    own = tuple(key for key in value if isinstance(key, str)) if isinstance(value, Mapping) else ()
    is_known = isinstance(value, Mapping) and isinstance(value.get("kind"), str)
    return (*FAULT_KEYS, *own) if is_known else FAULT_KEYS


def _of_written_spec(reading: Reading, name: str | None, sheet: Sheet, taken: set[str]) -> Rule | None:
    for key in reading.given:
        if key not in ("name", "spec"):
            reading.note(
                key, InputError("", "expected nothing beside a spec but its name: the spec says it all")
            )
    said = reading.take("spec", text, "")
    return _of_spec(said, name, joined(reading.path, "spec"), sheet, taken) if said else None


def _of_spec(said: str, name: str | None, path: str, sheet: Sheet, taken: set[str]) -> Rule | None:
    try:
        rule = parse_spec(said)
    except InputError as error:
        sheet.note(path, error.problem)
        return None
    if rule is None:
        sheet.note(path, "expected a fault, got none: a test without `inject` has no fault")
        return None
    chosen = name or fresh_name(rule.fault.kind, taken)
    return Rule(chosen, rule.fault, rule.match, rule.trigger, rule.schedule)


def _kind(value: object) -> str:
    given = text(value)
    kind = given.replace("-", "_")
    kind = ALIASES.get(kind, kind)
    if kind in CALL_FAULTS:
        return kind
    if kind in NETWORK_FAULTS:
        raise InputError("", f"{kind} acts on the network, not on calls (`fault faults` says which do)")
    raise InputError("", f"unknown fault {shown(given)}; {advice(kind, tuple(CALL_FAULTS))}")


def _target(reading: Reading) -> dict[str, object]:
    if "target" not in reading.given:
        expected = f"a mapping with at least one of {', '.join(TARGET_KEYS)}"
        reading.note("target", InputError("", f"expected {expected}, got nothing"))
        return {}
    target = reading.inner("target", TARGET_KEYS)
    if target.sound and not target.given:
        reading.note("target", InputError("", f"expected at least one of {', '.join(TARGET_KEYS)}, got none"))
    return dict(target.given)


def _settings(reading: Reading, fault: type[CallFault]) -> dict[str, object]:
    """From beside the kind and from `with`; what belongs to another fault is named as its."""
    beside = {key: value for key, value in reading.given.items() if key not in FAULT_KEYS}
    below = reading.given.get("with", {})
    if not isinstance(below, Mapping):
        reading.note("with", InputError("", f"expected a mapping, got {shown(below)}"))
        below = {}
    known = fault.settings()
    for home, given in ((reading.path, beside), (joined(reading.path, "with"), below)):
        for key in given:
            if key not in known:
                reading.problems.append(InputError(joined(home, key), _stray(key, fault)))
    for key in beside:
        if key in below:
            reading.note(key, InputError("", "expected it once, got it beside the kind and below `with`"))
    settings = {**below, **beside}
    needed = NEEDED.get(fault.kind)
    if needed and needed not in settings and "distribution" not in settings:
        what = _UNITS.get(known[needed].unit, "a whole number")
        reading.note(
            needed, InputError("", f"expected {what} (required for kind: {fault.kind}), got nothing")
        )
    return {key: value for key, value in settings.items() if key in known}


def _stray(key: object, fault: type[CallFault]) -> str:
    known = tuple(fault.settings())
    if key in FAULT_KEYS:
        return "expected it beside the kind, not below `with`"
    owners = [kind for kind, other in CALL_FAULTS.items() if key in other.settings()]
    if owners:
        belongs = f"it is a setting of {', '.join(owners)}"
        return f"{fault.kind} has no {key}: {belongs}; {fault.kind} has {', '.join(known) or 'none'}"
    return f"unknown key; {advice(key, (*FAULT_KEYS, *known))}"


def written_at(path: str, written: object) -> str:
    """From the path of something in a rule to its path in the fault that the rule was made of."""
    if not isinstance(written, Mapping):
        return ""
    if "spec" in written:
        return "spec"
    first, _, rest = path.partition(".")
    if first == "with" and rest in written:
        return rest
    words = {"fault": "kind", "match": "target"}.get(first, first)
    return f"{words}.{rest}" if rest else words
