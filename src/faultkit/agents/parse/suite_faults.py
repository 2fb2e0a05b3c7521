"""The `faults` of a suite: those of calls, as a mapping or as a spec in one word, and those of models.

Each becomes a rule of a plan. `target` is the rule's match; settings stand beside `kind` or below `with`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultkit.agents.parse.suite_source import LocatedPart, SuiteSource
from faultkit.agents.suite.definition import SuiteFault
from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, value_schema
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, line, text
from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS, LLM_FAULTS, NETWORK_FAULTS
from faultkit.faults.call.hang import Hang
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import fault_schema
from faultkit.faults.fault_table import FaultTable
from faultkit.mcp.fault_specs import ALIASES, FORM, parse_spec
from faultkit.plan import Rule, fresh_name, llm_namesake, parse_rule
from faultkit.plan.plan_keys import MATCH

MODEL_KEYS = ("model", "streamed", "tool_use")
CALL_KEYS = ("tool", "server", "resource", "prompt", "method")
TARGET_KEYS = (*CALL_KEYS, *MODEL_KEYS)
SUITE_FAULTS: FaultTable[Fault] = FaultTable(*CALL_FAULTS.rows, *LLM_FAULTS.rows)
"""The faults that a suite can inject: into calls, and into requests to the agent's model."""
REQUIRED_SETTINGS = {"slow": "delay_ms", "recover_after": "failures"}
"""Settings that must be given in a suite, though plans have a default for them."""
_UNITS = {"ms": "a number of milliseconds"}
_ANY_RULE = Rule("any", Hang())


def parse_faults(values: Sequence[tuple[str, object]], source: SuiteSource) -> list[LocatedPart[SuiteFault]]:
    """Return the faults of these values, each given with its path."""
    # Names that users chose take precedence over generated ones, even of faults above them.
    taken = {_name_of(value) for _, value in values}
    faults = []
    for path, value in values:
        rule = _rule(value, path, source, taken)
        name = rule.name if rule is not None else _name_of(value)
        taken.add(name)
        fault = SuiteFault(name, rule or _ANY_RULE, source.place(path))
        faults.append(LocatedPart(fault, path, source, value, is_sound=rule is not None))
    return faults


def _name_of(value: object) -> str:
    name = value.get("name") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) else ""


def _rule(value: object, path: str, source: SuiteSource, taken: set[str]) -> Rule | None:
    before = len(source.problems)
    if isinstance(value, str):
        return _spec_rule(value, None, path, source, taken)
    reader = MappingReader(value, _keys_of(value), path, source.problems)
    name = reader.take("name", line, None)
    if not reader.sound:
        return None
    if "spec" in reader.given:
        return _rule_of_spec_key(reader, name, source, taken)
    if "name" not in reader.given:
        source.note(join_path(path, "name"), "expected a name, got nothing")
    kind = reader.need("kind", _kind, None, FAULT["kind"].required)
    target = _target(reader)
    if kind is not None and kind in CALL_FAULTS and any(key in target for key in MODEL_KEYS):
        reader.note("kind", InputError("", _not_of_models(kind)))
    settings = {} if kind is None else _settings(reader, SUITE_FAULTS[kind])
    if len(source.problems) > before or kind is None or name is None:
        return None
    rule: dict[str, object] = {"name": name, "fault": kind, "with": settings, "match": target}
    rule |= {key: reader.given[key] for key in ("trigger", "schedule") if key in reader.given}
    try:
        return parse_rule(rule)
    except InputError as error:
        source.problems.append(error.at(written_at(error.path, value)).within(path))
        return None


def _keys_of(value: object) -> tuple[str, ...]:
    """Return the keys to accept. Beside a kind, any other key may be a setting, which `_settings` checks."""
    own = tuple(key for key in value if isinstance(key, str)) if isinstance(value, Mapping) else ()
    is_known = isinstance(value, Mapping) and isinstance(value.get("kind"), str)
    return (*FAULT.names, *own) if is_known else FAULT.names


def _rule_of_spec_key(
    reader: MappingReader, name: str | None, source: SuiteSource, taken: set[str]
) -> Rule | None:
    for key in reader.given:
        if key not in ("name", "spec"):
            reader.note(
                key,
                InputError("", "expected only `name` beside a spec: a spec has all settings"),
            )
    spec = reader.take("spec", text, "")
    return _spec_rule(spec, name, join_path(reader.path, "spec"), source, taken) if spec else None


def _spec_rule(spec: str, name: str | None, path: str, source: SuiteSource, taken: set[str]) -> Rule | None:
    try:
        rule = parse_spec(spec)
    except InputError as error:
        source.note(path, error.problem)
        return None
    if rule is None:
        source.note(path, "expected a fault, got none: a test without `inject` has no fault")
        return None
    chosen = name or fresh_name(rule.fault.kind, taken)
    return Rule(chosen, rule.fault, rule.match, rule.trigger, rule.schedule)


def _kind(value: object) -> str:
    given = text(value)
    kind = given.replace("-", "_")
    kind = ALIASES.get(kind, kind)
    if kind in SUITE_FAULTS:
        return kind
    if kind in NETWORK_FAULTS:
        raise InputError("", f"{kind} acts on the network, not on calls (see `fault faults`)")
    raise InputError("", f"unknown fault {shown(given)}; {advice(kind, tuple(SUITE_FAULTS))}")


def _not_of_models(kind: str) -> str:
    """Return the error message for a fault of calls that is aimed at a model."""
    hint = llm_namesake(kind) or "; `fault faults` lists those of level llm"
    return f"{kind} acts on calls, not on a model{hint}"


def _target(reader: MappingReader) -> dict[str, object]:
    if "target" not in reader.given:
        expected = f"a mapping with at least one of {', '.join(TARGET_KEYS)}"
        reader.note("target", InputError("", f"expected {expected}, got nothing"))
        return {}
    target = reader.inner("target", TARGET)
    if target.sound and not target.given:
        reader.note("target", InputError("", f"expected at least one of {', '.join(TARGET_KEYS)}, got none"))
    return dict(target.given)


def _settings(reader: MappingReader, fault: type[Fault]) -> dict[str, object]:
    """Return the settings beside the kind and below `with`; report those of other faults as such."""
    beside = {key: value for key, value in reader.given.items() if key not in FAULT.names}
    below = reader.given.get("with", {})
    if not isinstance(below, Mapping):
        reader.note("with", InputError("", f"expected a mapping, got {shown(below)}"))
        below = {}
    known = fault.settings()
    for home, written in ((reader.path, beside), (join_path(reader.path, "with"), below)):
        for key in written:
            if key not in known:
                reader.problems.append(InputError(join_path(home, key), _misplaced_setting(key, fault)))
    for key in beside:
        if key in below:
            reader.note(key, InputError("", "expected it once, got it beside the kind and below `with`"))
    settings = {**below, **beside}
    needed = REQUIRED_SETTINGS.get(fault.kind)
    if needed and needed not in settings and "distribution" not in settings:
        what = _UNITS.get(known[needed].unit, "a whole number")
        reader.note(needed, InputError("", f"expected {what} (required for kind: {fault.kind}), got nothing"))
    return {key: value for key, value in settings.items() if key in known}


def _misplaced_setting(key: object, fault: type[Fault]) -> str:
    """Return the error message for a key that is no setting of a fault."""
    known = tuple(fault.settings())
    if key in FAULT.names:
        return "expected it beside the kind, not below `with`"
    owners = [
        kind for kind, other in SUITE_FAULTS.items() if key in other.settings() and other.level == fault.level
    ]
    if owners:
        belongs = f"it is a setting of {', '.join(owners)}"
        return f"{fault.kind} has no {key}: {belongs}; {fault.kind} has {', '.join(known) or 'none'}"
    return f"unknown key; {advice(key, (*FAULT.names, *known))}"


def written_at(path: str, written: object) -> str:
    """Return the path in a fault as it was written, for a path in the rule that was made from it."""
    if not isinstance(written, Mapping):
        return ""
    if "spec" in written:
        return "spec"
    first, _, rest = path.partition(".")
    if first == "with" and rest in written:
        return rest
    key = {"fault": "kind", "match": "target"}.get(first, first)
    return f"{key}.{rest}" if rest else key


def _target_table(*keys: str) -> KeyTable:
    return KeyTable(
        *(Key(key, schema=value_schema(MATCH[key]), help=MATCH[key].help) for key in keys),
        rules={"anyOf": [given(key) for key in keys]},
    )


TARGET = _target_table(*TARGET_KEYS)
CALL_TARGET = _target_table(*CALL_KEYS)
MODEL_TARGET = _target_table(*MODEL_KEYS)

FAULT = KeyTable(
    Key("name", line, TEXT_SCHEMA, help="The name by which tests inject the fault.", required="a name"),
    Key(
        "target",
        schema={"$ref": "#/$defs/target"},
        help="The calls, or the requests to a model, that the fault acts on.",
        required="a mapping",
    ),
    Key(
        "kind",
        _kind,
        {"type": "string"},
        help="The kind of the fault; its settings stand beside it or below `with`.",
        required="the kind of a fault such as hang",
    ),
    Key("with", schema={"type": "object"}, help="Settings of the fault."),
    Key("trigger", schema={"$ref": "#/$defs/trigger"}, help="How often the fault acts."),
    Key("schedule", schema={"$ref": "#/$defs/schedule"}, help="When the fault acts."),
    Key("spec", text, TEXT_SCHEMA, help=f"The whole fault in one word: {FORM}"),
)

FAULT_SPEC = KeyTable(
    Key("spec", text, TEXT_SCHEMA, help=FORM, required="a spec"),
    Key("name", line, TEXT_SCHEMA),
)


def fault_table(kind: str) -> KeyTable:
    """Return the table of a fault of one kind, with its settings, for the JSON Schema."""
    facts: Any = fault_schema(SUITE_FAULTS[kind])

    def rules() -> Schema:
        needed, found = REQUIRED_SETTINGS.get(kind), {"description": facts["description"]}
        if needed is None:
            return found
        keys = (needed, "distribution") if "distribution" in facts["properties"] else (needed,)
        below = [{"properties": {"with": {"required": [key]}}, "required": ["with"]} for key in keys]
        return {
            **found,
            "anyOf": [way for key, inner in zip(keys, below, strict=True) for way in (given(key), inner)],
        }

    of_model = {"$ref": "#/$defs/model-target"} if kind in LLM_FAULTS else FAULT["target"].schema
    return KeyTable(
        *(FAULT[key] for key in ("name", "kind")),
        replace(FAULT["target"], schema=of_model),
        *(
            Key(name, schema={"$ref": f"#/$defs/with-{kind}/properties/{name}"})
            for name in facts["properties"]
        ),
        Key("with", schema={"$ref": f"#/$defs/with-{kind}"}),
        *(Key(key, schema=FAULT[key].schema) for key in ("trigger", "schedule")),
        rules=rules,
    )
