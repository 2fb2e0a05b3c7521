"""Writes docs/faults.md from the table of faults: `python docs/generate.py`.

No text about a single fault is written here. A test compares the page with the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml

from faultkit.cli.fault_flags import Flag, flags_of, switch_of
from faultkit.faults import CALL_FAULTS, FAULTS, LLM_FAULTS, NETWORK_FAULTS
from faultkit.faults.call_fault import ERAS, TRANSPORTS, CallFault
from faultkit.faults.fault import Fault, Level, StreamFault
from faultkit.faults.fault_settings import Setting
from faultkit.faults.llm_fault import LlmFault
from faultkit.mcp.fault_specs import short_form

PAGE = Path(__file__).with_name("faults.md")

_LEVELS: dict[Level, str] = {
    "stream": "bytes of one direction of a connection; a connection is hit or spared as a whole",
    "connection": "a new connection, once, before the upstream is dialled",
    "name": "the look-up of an upstream's name; addresses that need no look-up are not touched",
    "http": "one HTTP/1.1 request, where the proxy understands HTTP",
    "call": "one call of an MCP client, in a mock or a gateway",
    "llm": "one request to a model and its answer, in a proxy or a mock of LLM APIs",
}

_HEAD = """\
# The faults

Generated from the table of faults by `python docs/generate.py`: change the table, not this page.
`fault faults` shows the same on a terminal, `fault faults --schema` as JSON Schema for editors.
First come the faults of the [network](#network), which a proxy carries out; then those of [calls](#calls),
which a mock MCP server or a gateway carries out; then those of [LLM APIs](#llm-apis), which a proxy or
`fault mock llm` carries out.

A fault defines what happens; the rule that carries it defines where and when. The keys `match`, `trigger` and
`schedule` are the same for every fault, and all are optional ([plans.md](plans.md) lists all keys):

```yaml
seed: 7
rules:
  - name: slow-search            # by default the fault's kind
    fault: http_delay
    with: {delay_ms: 800}
    match: {proxy: "*", method: GET, path: "/search*"}
    trigger: {probability: 0.3, after: 10}
    schedule: "start:10s,duration:30s,every:2m"
```

Without a `trigger`, a rule of a plan hits everything that it matches. [vocabulary.md](vocabulary.md)
describes `side`, `direction`, `trigger` and `schedule`.
"""


_CALLS = """\
## Calls

These act on the calls of an MCP client: in `fault mock`, in `fault gateway`, and in suites. In a plan
file, `match` selects the calls:

```yaml
seed: 7
rules:
  - name: search-goes-down
    fault: hang
    match: {server: "*", tool: "search*"}   # or resource, or prompt, or method: [tools/list, "prompts/*"]
    trigger: {after: 3, burst: 5, probability: 0.1}
    schedule: "start:10s,duration:30s"
```

Rules are tried in their order, and the first that acts on a call wins. Without a target, a fault acts on
the methods that its section names: for most, `tools/call` only, so that a client can connect, list and ping.
A fault that cannot act on a transport, in an era or on a method is refused when the plan is loaded.

On a command line a fault is one word, `KIND[:VALUE][,KEY=VALUE…][%PROBABILITY][@TARGET]`:

| word | meaning |
|---|---|
| `none` | no fault |
| `slow:500` | the value of the main setting |
| `slow:500@search` | on one tool, or on those of a glob |
| `hang@tools/list` | on a method; `@method:ping` for one without a slash |
| `hang@resource:file:*` | on a resource; `@prompt:`, `@tool:` and `@server:` likewise |
| `tool_error:oops,first=2` | more settings, and keys of the trigger |
| `hang%0.1` | with a probability |
"""


_LLM = """\
## LLM APIs

These act on requests to models and on their answers, in `fault run llm`, in `fault run --plan`
and in `fault mock llm` ([llm.md](llm.md)). In a plan file, `match` selects the requests:

```yaml
seed: 7
rules:
  - name: half-an-answer
    fault: clean_end
    with: {after_tokens: 20}
    match: {model: "gpt-*", streamed: true, tool_use: false}
    trigger: {probability: 0.1}
```

All rules that act on a request add up, in the order of the plan. A token is a word or a mark, with the blanks
before it: providers count otherwise, each in its own way.
"""


def faults_page() -> str:
    """Return the page."""
    parts = [_HEAD, "## All of them", _overview(), "The level is what a fault acts on:", _levels()]
    parts += ["## Network", "These act on what goes through a proxy: `fault run`, `fault scenario run`."]
    parts += [section(fault) for fault in NETWORK_FAULTS.values()]
    parts.append(_CALLS)
    parts += [call_section(fault) for fault in CALL_FAULTS.values()]
    parts.append(_LLM)
    parts += [llm_section(fault) for fault in LLM_FAULTS.values()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _overview() -> str:
    rows = [
        (f"[`{fault.kind}`](#{fault.kind})", fault.level, fault.summary, _loss_word(fault))
        for fault in FAULTS.values()
    ]
    return _table(("fault", "level", "what it does", "loses or alters bytes"), rows)


def _levels() -> str:
    return "\n".join(f"- **{level}**: {text}." for level, text in _LEVELS.items())


def section(fault: type[Fault]) -> str:
    """Return the section of one network fault."""
    parts = [f"### {fault.kind}", f"{fault.summary} {_bytes(fault)}".strip(), f"Level: {fault.level}."]
    flags = [switch_of(fault), *flags_of(fault)]
    settings = [_setting_row(fault, flag) for flag in flags if flag.path.startswith("with.")]
    if settings:
        parts.append(_table(("setting", "range", "default", "what it is", "flag", "variable"), settings))
    else:
        parts.append("It has no settings.")
    parts.append(
        _table(
            ("flag of the rule", "variable", "in a plan", "default of the flag"),
            [_rule_row(flag) for flag in flags if not flag.path.startswith("with.")],
        )
    )
    parts += ["With every setting at its default:", f"```yaml\n{example(fault)}```"]
    return "\n\n".join(parts)


def call_section(fault: type[CallFault]) -> str:
    """Return the section of one call fault."""
    parts = [f"### {fault.kind}", fault.summary, _places(fault)]
    if fault.settings():
        rows = [_plain_setting_row(fault, name) for name in fault.settings()]
        parts.append(_table(("setting", "range", "default", "what it is"), rows))
    else:
        parts.append("It has no settings.")
    parts += [f"Short form: `{short_form(fault)}`", "With every setting at its default:"]
    parts.append(f"```yaml\n{example(fault)}```")
    return "\n\n".join(parts)


def llm_section(fault: type[LlmFault]) -> str:
    """Return the section of one fault of LLM APIs."""
    where = "streamed answers only" if fault.streams_only else "streamed and whole answers"
    parts = [f"### {fault.kind}", fault.summary, f"Acts on {where}."]
    settings = [_setting_row(fault, flag) for flag in flags_of(fault) if flag.path.startswith("with.")]
    if settings:
        parts.append(_table(("setting", "range", "default", "what it is", "flag", "variable"), settings))
    else:
        parts.append("It has no settings.")
    parts += [f"Flag of `fault run llm`: `{switch_of(fault).option}`.", "With every setting at its default:"]
    parts.append(f"```yaml\n{example(fault)}```")
    return "\n\n".join(parts)


def _places(fault: type[CallFault]) -> str:
    acts = f"Acts on {_listed(fault.methods)}"
    others = [method for method in fault.only if method not in fault.methods]
    if not fault.only:
        acts += ", or on any method that the rule names"
    elif others:
        acts += f", or on {_listed(others)} if the rule names it"
    places = []
    if fault.transports != TRANSPORTS:
        places.append(f"only over {_listed(fault.transports)}")
    if fault.eras != ERAS:
        places.append(f"only in the {_listed(fault.eras)} era")
    return "; ".join([acts, *places]) + "." + (f" Elsewhere: {fault.instead}." if fault.instead else "")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _plain_setting_row(fault: type[Fault], name: str) -> tuple[str, ...]:
    fact = fault.settings()[name]
    default = next(field.default for field in fields(fault) if field.name == name)
    return f"`{name}`", _range(fact, fault.types()[name]), _shown(default), fact.help


def example(fault: type[Fault]) -> str:
    """Return a plan with this fault only."""
    rule: dict[str, Any] = {"fault": fault.kind}
    usual = {field.name: field.default for field in fields(fault) if field.default not in (None, ())}
    if usual:
        rule["with"] = usual
    text: str = yaml.safe_dump({"rules": [rule]}, sort_keys=False, default_flow_style=False)
    return text


def _bytes(fault: type[Fault]) -> str:
    """Return what the fault does to bytes and ends of streams, if anything."""
    return " ".join(_byte_sentences(fault))


def _byte_sentences(fault: type[Fault]) -> Iterator[str]:
    if not issubclass(fault, StreamFault):
        return
    yield {
        "no": "No byte is lost or altered.",
        "yes": "Bytes may be lost or altered.",
        "some settings": "Bytes may be lost with some settings, not with the defaults.",
    }[_loss_word(fault)]
    if fault().withholds_end:
        yield "While it acts, FIN and RST may be kept back too."


def _loss_word(fault: type[Fault]) -> str:
    if not issubclass(fault, StreamFault):
        return "–"
    if not fault.lossy:
        return "no"
    return "yes" if fault().loses_bytes else "some settings"


def _setting_row(fault: type[Fault], flag: Flag) -> tuple[str, ...]:
    name = flag.path.removeprefix("with.")
    return (
        *_plain_setting_row(fault, name),
        f"`{flag.option}`" + (f" (sets `{flag.sets}`)" if isinstance(flag.sets, str) else ""),
        f"`{flag.env}`",
    )


def _range(fact: Setting, type_: object) -> str:
    if fact.choices:
        return ", ".join(f"`{choice}`" for choice in fact.choices)
    if type_ is bool:
        return "`true`, `false`"
    unit = f" {fact.unit}" if fact.unit else ""
    if fact.minimum is not None and fact.maximum is not None:
        return f"{_number(fact.minimum)} to {_number(fact.maximum)}{unit}"
    if fact.minimum is not None:
        return f"at least {_number(fact.minimum)}{unit}"
    return f"above {_number(fact.above)}{unit}" if fact.above is not None else "text"


def _rule_row(flag: Flag) -> tuple[str, ...]:
    place = "a rule in `rules`" if not flag.path else f"`{flag.path}`"
    default = "off" if not flag.path else "always" if flag.path == "schedule" else _shown(flag.default)
    return f"`{flag.option}`", f"`{flag.env}`", place, default


def _shown(value: object) -> str:
    if value is None or value is MISSING:
        return "none"
    return f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(faults_page(), encoding="utf-8")
