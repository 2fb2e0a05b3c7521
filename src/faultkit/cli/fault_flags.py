"""Flags and FAULT_* variables of the faults, derived from the table, and the rules that they make.

For each fault: a switch `--with-<fault>`, one flag a setting, and the flags of its rule (side,
direction, schedule, probability). A flag knows only where its value goes in the rule's document;
the parser of plans validates the values.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import groupby
from types import NoneType
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from faultkit.base.errors import InputError
from faultkit.faults import LLM_FAULTS, NETWORK_FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_settings import MAPPINGS, Numbers, pairs_of
from faultkit.faults.flag_names import env_name, flag_name, setting_env, setting_flag
from faultkit.plan import Match, Rule, parse_rule
from faultkit.plan.plan_file import with_read_samples
from faultkit.plan.rule import message_conditions

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of one fault and its variable."""

    name: str
    """Name without leading hyphens: `latency-mean`."""
    env: str
    path: str
    """Path of its value in the rule's document: `with.mean_ms`."""
    help: str
    metavar: str = ""
    type: object = str
    choices: tuple[str, ...] = ()
    default: object = None
    """Value without the flag; None if there is no single one."""
    sets: object = None
    """Value that the flag sets if it is a switch; None if it takes a value."""

    @property
    def option(self) -> str:
        return f"--{self.name}"

    @property
    def parameter(self) -> str:
        return self.name.replace("-", "_")


_PROBABILITY: dict[str, tuple[str, str, float]] = {
    "dns": ("dns-rate", "FAULT_DNS_PROBABILITY", 0.5),
    "http_error": ("http-response-trigger-probability", "FAULT_HTTP_FAULT_PROBABILITY", 1.0),
}
"""Flag, variable and default of a rule's probability, where users know them by another name."""


_MESSAGE_FLAGS = {
    "flow": ("Messages to the client, or to the upstream; by default both.", "to_client|to_upstream"),
    "message": ("Messages with text, or binary ones; by default both.", "text|binary"),
}


def switch_of(fault: type[Fault]) -> Flag:
    """Return the switch `--with-<fault>`."""
    stem = env_name(fault).removeprefix("FAULT_")
    return Flag(f"with-{flag_name(fault)}", f"FAULT_WITH_{stem}", "", fault.summary, type=bool, sets=True)


def flags_of(fault: type[Fault]) -> tuple[Flag, ...]:
    """Return the flags of a fault's settings, then those of its rule; without the switch."""
    return (*_setting_flags(fault), *_rule_flags(fault))


def _setting_flags(fault: type[Fault]) -> Iterator[Flag]:
    facts, types = fault.settings(), fault.types()
    for field in fields(fault):
        fact, type_ = facts[field.name], _without_none(types[field.name])
        yield Flag(
            f"{flag_name(fault)}-{setting_flag(fault, field.name)}",
            setting_env(fault, field.name),
            f"with.{field.name}",
            fact.help,
            _metavar(type_, fact.unit, fact.choices),
            type_,
            fact.choices,
            None if field.default is MISSING or field.default == () else field.default,
            True if type_ is bool else fact.flag_sets,
        )


def _without_none(type_: object) -> object:
    """Return the type of the values of a setting that may be left out."""
    plain = [each for each in get_args(type_) if each is not NoneType]
    return plain[0] if len(plain) == 1 else type_


def _metavar(type_: object, unit: str, choices: tuple[str, ...]) -> str:
    if choices:
        return "|".join(choices)
    if type_ in MAPPINGS:
        return "NAME=N,…" if type_ == Numbers else "'NAME: TEXT'"
    return (unit.replace("µ", "u").upper() or "N") if type_ in (int, float) else "TEXT"


def _rule_flags(fault: type[Fault]) -> Iterator[Flag]:
    name, env, usual = flag_name(fault), env_name(fault), Match()
    if fault.level == "stream":
        yield Flag(
            f"{name}-side",
            f"{env}_SIDE",
            "match.side",
            "Which socket of the proxy.",
            "client|server",
            default=usual.side,
        )
        yield Flag(
            f"{name}-direction",
            f"{env}_DIRECTION",
            "match.direction",
            "Bytes read from that socket, written to it, or both.",
            "ingress|egress|both",
            default=usual.direction,
        )
    for key in message_conditions(fault):
        help, values = _MESSAGE_FLAGS[key]
        yield Flag(f"{name}-{key}", f"{env}_{key.upper()}", f"match.{key}", help, values)
    flag, variable, default = _PROBABILITY.get(fault.kind, (f"{name}-probability", f"{env}_PROBABILITY", 1.0))
    yield Flag(
        flag,
        variable,
        "trigger.probability",
        "Chance that a connection, request, message or look-up is hit.",
        "N",
        float,
        default=default,
    )
    yield Flag(
        f"{name}-sched",
        f"{env}_SCHED",
        "schedule",
        'When it acts, such as "start:10s,duration:30s;start:80%".',
        "SCHEDULE",
    )


def fault_options(command: Decorated) -> Decorated:
    """Add the flags of every fault of the network to a click command."""
    return _options_of(NETWORK_FAULTS.values(), command)


def llm_fault_options(command: Decorated) -> Decorated:
    """Add the flags of every fault of LLM APIs to a click command."""
    return _options_of(LLM_FAULTS.values(), command)


def _options_of(faults: Iterable[type[Fault]], command: Decorated) -> Decorated:
    for fault in reversed(tuple(faults)):
        for flag in reversed((switch_of(fault), *flags_of(fault))):
            command = _option(flag, fault.kind)(command)
    return command


class _Lines(click.types.StringParamType):
    """A text of a flag that may be repeated; in its variable, each line is one."""

    envvar_list_splitter = "\n"


class FaultOption(click.Option):
    """An option that belongs to a fault, so that help can group them."""

    def __init__(self, *args: Any, flag: Flag, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.flag = flag
        self.kind = kind


def _option(flag: Flag, kind: str) -> Callable[[Decorated], Decorated]:
    extra: dict[str, Any] = {"is_flag": True} if flag.sets is not None else {"metavar": flag.metavar}
    if flag.type in MAPPINGS:
        extra |= {"multiple": True, "type": _Lines()}
    return click.option(
        flag.option, cls=FaultOption, flag=flag, kind=kind, envvar=flag.env, help=flag.help, **extra
    )


def rules_of(
    ctx: click.Context, total_s: float | None, faults: Mapping[str, type[Fault]] = NETWORK_FAULTS
) -> tuple[Rule, ...]:
    """Return the rules that the flags and variables of this command line ask for, in the table's order."""
    rules = (_rule(ctx, fault, total_s) for fault in faults.values())
    return tuple(rule for rule in rules if rule is not None)


def _rule(ctx: click.Context, fault: type[Fault], total_s: float | None) -> Rule | None:
    switch, flags = switch_of(fault), flags_of(fault)
    if not ctx.params[switch.parameter]:
        for flag in flags:
            if ctx.get_parameter_source(flag.parameter) is ParameterSource.COMMANDLINE:
                raise InputError(flag.option, f"expected {switch.option} beside it, got it alone")
        return None
    try:
        rule = parse_rule(with_read_samples(_document(ctx, fault, flags), "."))
        rule.schedule.resolve(total_s)
    except InputError as error:
        flag_at = next((flag for flag in flags if flag.path == error.path), switch)
        raise error.at(_spelled(ctx, flag_at)) from None
    return rule


def _document(ctx: click.Context, fault: type[Fault], flags: tuple[Flag, ...]) -> dict[str, object]:
    parts: dict[str, Any] = {"with": {}, "match": {}, "trigger": {}, "fault": fault.kind}
    for flag in flags:
        raw = ctx.params[flag.parameter]
        section, _, key = flag.path.partition(".")
        if raw is None or raw is False or raw == ():
            if flag.path == "trigger.probability":
                parts[section][key] = flag.default
        elif key:
            parts[section][key] = _value(flag, raw)
        else:
            parts[section] = raw
    return parts


def _value(flag: Flag, raw: object) -> object:
    """Return the value in the setting's own type; invalid numbers stay text, which the parser rejects."""
    if flag.sets is not None:
        return flag.sets
    if isinstance(raw, tuple):
        return pairs_of(flag.type, raw)
    text = str(raw)
    if flag.type in (float, int):
        try:
            return float(text) if flag.type is float else int(text)
        except ValueError:
            return text
    hyphened = text.replace("_", "-")
    return hyphened if hyphened in flag.choices else text


def _spelled(ctx: click.Context, flag: Flag) -> str:
    """Return the name under which the user gave the value: the flag or its variable."""
    source = ctx.get_parameter_source(flag.parameter)
    return flag.env if source is ParameterSource.ENVIRONMENT else flag.option


_OTHER_NAMES = ", ".join(f"--{name}" for name, _, _ in _PROBABILITY.values())
_COMMON = (
    f"Every fault FAULT also takes --FAULT-sched=SCHEDULE and --FAULT-probability=N (but {_OTHER_NAMES}); "
    "those that act on bytes "
    "(latency to corrupt) take --FAULT-side=client|server and --FAULT-direction=ingress|egress|both. Each "
    "flag has a variable: FAULT_WITH_LATENCY=true, FAULT_LATENCY_MEAN=300."
)


class FaultCommand(click.Command):
    """A command whose help lists the fault flags in a section of their own, one paragraph per fault."""

    def __init__(
        self,
        *args: Any,
        examples: tuple[tuple[str, str], ...] = (),
        common: str = _COMMON,
        **kwargs: Any,
    ) -> None:
        """`common` says which flags every fault has."""
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.common = common

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        own = [param for param in params if not isinstance(param, (FaultOption, click.Argument))]
        records = [record for param in own if (record := param.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(records)
        with formatter.section("Faults (`fault faults KIND` explains the settings of one)"):
            of_faults = (param for param in params if isinstance(param, FaultOption))
            for _, options in groupby(of_faults, key=lambda option: option.kind):
                switch, *rest = (option.flag for option in options)
                _write(formatter, f"{switch.option:<20}  {switch.help}", 24)
                _write(
                    formatter, "    " + "  ".join(_short(flag) for flag in rest if not _is_common(flag)), 6
                )
            formatter.write_paragraph()
            _write(formatter, self.common, 2)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for text, line in self.examples:
                    # Lines to copy are never wrapped.
                    formatter.write(f"  # {text}\n  {line}\n")
        super().format_epilog(ctx, formatter)


def _is_common(flag: Flag) -> bool:
    return (
        not flag.path.startswith("with.")
        and flag.name.rpartition("-")[2]
        in (
            "side",
            "direction",
            "sched",
            "probability",
        )
        and not flag.name.endswith("-trigger-probability")
    )


def _short(flag: Flag) -> str:
    return flag.option if flag.sets is not None else f"{flag.option}={flag.metavar}"


def _write(formatter: click.HelpFormatter, text: str, indent: int) -> None:
    """Write a paragraph, wrapped at spaces only, so that no flag is split."""
    if text.strip():
        lines = textwrap.wrap(
            text,
            formatter.width,
            initial_indent="  ",
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        formatter.write("\n".join(lines) + "\n")
