"""`fault faults`: print the table of faults as text, as JSON or as JSON Schema."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any

import click

from faultkit.base.errors import InputError
from faultkit.cli.fault_flags import Flag, flags_of, switch_of
from faultkit.cli.shared_options import columns, json_option, print_json
from faultkit.faults import FAULTS
from faultkit.faults.call_fault import CallFault
from faultkit.faults.fault import Fault
from faultkit.faults.fault_data import fault_schema, fault_type
from faultkit.faults.fault_settings import Setting, plain
from faultkit.faults.flag_names import flag_name
from faultkit.faults.llm_fault import LlmFault
from faultkit.faults.websocket_fault import WebSocketFault
from faultkit.mcp.fault_specs import ALIASES, NONE, short_form

_NONE_PAGE = """\
none (no fault)
Nothing is broken: `fault mock --fault none` is a healthy server, as without --fault."""


@click.command(epilog="For example: fault faults latency")
@click.argument("kind", required=False)
@json_option("Print JSON, with the schema of the settings.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a plan file, for editors.")
def command(kind: str | None, as_json: bool, schema: bool) -> None:
    """List all faults, or show the settings of one KIND."""
    if kind == NONE and not as_json and not schema:
        click.echo(_NONE_PAGE)
    elif schema:
        from faultkit.plan import plan_schema

        print_json(plan_schema() if kind is None else fault_schema(_fault(kind)))
    elif as_json:
        chosen = list(FAULTS.values()) if kind is None else [_fault(kind)]
        documents = [fault_document(fault) for fault in chosen]
        print_json(documents if kind is None else documents[0])
    elif kind is None:
        rows = [("KIND", "LEVEL", "WHAT IT DOES")]
        rows += [(fault.kind, fault.level, fault.summary) for fault in FAULTS.values()]
        click.echo(columns(rows))
        click.echo("\n`fault faults KIND` shows the settings, flags and an example of one.")
    else:
        click.echo(fault_page(_fault(kind)))


def fault_document(fault: type[Fault]) -> dict[str, Any]:
    """Return a fault as a JSON document."""
    described: dict[str, Any] = {
        "kind": fault.kind,
        "level": fault.level,
        "summary": fault.summary,
        "settings": fault_schema(fault)["properties"],
    }
    if issubclass(fault, CallFault):
        return described | {
            "short_form": short_form(fault),
            "methods": list(fault.methods),
            "only_methods": list(fault.only),
            "transports": list(fault.transports),
            "eras": list(fault.eras),
        }
    flags = [switch_of(fault), *flags_of(fault)]
    return described | {
        "flags": [{"flag": flag.option, "env": flag.env, "sets": flag.path} for flag in flags]
    }


def fault_page(fault: type[Fault]) -> str:
    """Return a fault as a page of text."""
    parts = [f"{fault.kind} (level: {fault.level})", fault.summary]
    if settings := _settings(fault):
        parts += ["", "Settings:", _indented(settings)]
    if issubclass(fault, CallFault):
        parts += ["", "Where it fits:", _indented(_places(fault))]
        parts += ["", "On the command line of fault mock and fault gateway:", _indented(_specs(fault))]
        parts += [f"  {alias} means the same there." for alias, kind in ALIASES.items() if kind == fault.kind]
    elif issubclass(fault, LlmFault):
        where = "streamed answers" if fault.streams_only else "streamed and whole answers"
        parts += ["", "Where it fits:", f"  fault run and fault mock llm, on {where}"]
        flags = (switch_of(fault), *flags_of(fault))
        parts += ["", "Flags and variables of fault run llm:"]
        parts.append(_indented(columns([_flag_row(flag) for flag in flags])))
    else:
        flags = (switch_of(fault), *flags_of(fault))
        parts += ["", "Flags and variables:", _indented(columns([_flag_row(flag) for flag in flags]))]
        if fault.kind in ALIASES:
            other = ALIASES[fault.kind]
            parts.append(f"  In --fault of fault mock and fault gateway, {fault.kind} means {other}.")
    parts += ["", "In a plan file:", _indented(plan_example(fault))]
    return "\n".join(parts)


def plan_example(fault: type[Fault]) -> str:
    """Return the YAML of a plan with one rule of this fault and the default of every setting."""
    import yaml

    rule: dict[str, Any] = {"name": f"my-{flag_name(fault)}", "fault": fault.kind}
    usual = {field.name: plain(field.default) for field in fields(fault) if field.default is not MISSING}
    if usual:
        rule["with"] = usual
    rule["match"] = _match(fault)
    rule["trigger"] = {"probability": 0.5}
    rule["schedule"] = "start:10s,duration:30s"
    text: str = yaml.safe_dump({"seed": 7, "rules": [rule]}, sort_keys=False, default_flow_style=False)
    return text.rstrip()


def _match(fault: type[Fault]) -> dict[str, Any]:
    """Return the `match` of the example plan: the keys that suit the level of the fault."""
    if issubclass(fault, CallFault):
        return {"server": "*", "tool": "*"} if "tools/call" in fault.methods else {"server": "*"}
    if fault.level == "llm":
        return {"model": "*", "path": "/v1/*"}
    if issubclass(fault, WebSocketFault):
        return {"proxy": "*", "path": "/chat", "flow": "to_client"}
    return {"proxy": "*"} | {
        "stream": {"side": "server", "direction": "ingress"},
        "http": {"method": "GET", "path": "/api/*"},
    }.get(fault.level, {})


def _places(fault: type[CallFault]) -> str:
    rows = [("methods", ", ".join(fault.methods) + _others(fault))]
    rows += [("transports", ", ".join(fault.transports)), ("eras", ", ".join(fault.eras))]
    if fault.instead:
        rows.append(("elsewhere", fault.instead))
    return columns(rows)


def _others(fault: type[CallFault]) -> str:
    """Return the words for methods that the fault hits only if a rule names them."""
    if not fault.only:
        return ", and any other that the rule names"
    others = [method for method in fault.only if method not in fault.methods]
    return f", and {' or '.join(others)} if the rule names it" if others else ""


def _specs(fault: type[CallFault]) -> str:
    target = "search" if "tools/call" in fault.methods or "tools" in fault.settings() else fault.methods[0]
    return f"--fault {short_form(fault)}\n--fault {fault.kind}%0.5@{target}"


def _settings(fault: type[Fault]) -> str:
    facts = fault.settings()
    rows = [
        (
            field.name,
            _range(facts[field.name]),
            "default " + _shown(field.default),
            facts[field.name].help,
        )
        for field in fields(fault)
    ]
    return columns(rows) if rows else ""


def _range(fact: Setting) -> str:
    if fact.choices:
        return " | ".join(fact.choices)
    unit = f" {fact.unit}" if fact.unit else ""
    if fact.minimum is not None and fact.maximum is not None:
        return f"{_number(fact.minimum)} to {_number(fact.maximum)}{unit}"
    if fact.minimum is not None:
        return f"≥ {_number(fact.minimum)}{unit}"
    return f"> {_number(fact.above)}{unit}" if fact.above is not None else unit.strip()


def _number(value: float) -> str:
    """Format a number, whole ones in full: -2.14748e+09 would lose digits."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _flag_row(flag: Flag) -> tuple[str, str, str]:
    if flag.sets is not None:
        return flag.option, flag.env, ""
    return f"{flag.option} {flag.metavar}", flag.env, "" if flag.default is None else _shown(flag.default)


def _shown(value: object) -> str:
    if value is None or value is MISSING or value == ():
        return "none"
    return _number(value) if isinstance(value, float) else json.dumps(value).strip('"')


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _fault(kind: str) -> type[Fault]:
    """Return the fault of a kind (with hyphens or underscores), a name in flags, or an alias of `--fault`."""
    by_flag_name = {flag_name(fault): fault for fault in FAULTS.values()}
    if kind in by_flag_name:
        return by_flag_name[kind]
    if kind == NONE:
        raise InputError("KIND", "none is not a fault: it has no settings")
    word = kind.replace("-", "_")
    try:
        return fault_type(word if word in FAULTS else ALIASES.get(word, word))
    except InputError as error:
        raise error.at("KIND") from None
