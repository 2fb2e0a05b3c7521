"""Flags and variables of the faults: each flag of the original exists, and sets its part of the plan."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from faultkit.base.errors import InputError
from faultkit.cli.fault_flags import fault_options, flags_of, rules_of, switch_of
from faultkit.cli.run import command
from faultkit.faults import NETWORK_FAULTS
from faultkit.plan import Rule, dump_rule


def rules(*args: str, total_s: float | None = 100.0) -> tuple[Rule, ...]:
    @click.command()
    @fault_options
    @click.pass_context
    def command(ctx: click.Context, /, **given: object) -> tuple[Rule, ...]:
        return rules_of(ctx, total_s)

    made: tuple[Rule, ...] = command.main(list(args), standalone_mode=False)
    return made


def reached(rule: Rule, path: str) -> object:
    """Return the value at `with.mean_ms`, `match.side`, `trigger.probability` or `schedule` of a rule."""
    section, _, name = path.partition(".")
    if section == "schedule":
        return str(rule.schedule)
    return getattr(rule.fault if section == "with" else getattr(rule, section), name)


# Table of the flags that users of the original know: kind, flag, variable, text, path, value.
KNOWN = [
    ("http_error", "http-response-status", "FAULT_HTTP_FAULT_STATUS", "503", "with.status", 503),
    ("http_error", "http-response-body", "FAULT_HTTP_FAULT_BODY", "oops", "with.body", "oops"),
    (
        "http_error",
        "http-response-trigger-probability",
        "FAULT_HTTP_FAULT_PROBABILITY",
        "0.25",
        "trigger.probability",
        0.25,
    ),
    ("http_error", "http-response-sched", "FAULT_HTTP_FAULT_SCHED", "start:5s", "schedule", "start:5s"),
    ("latency", "latency-side", "FAULT_LATENCY_SIDE", "client", "match.side", "client"),
    ("latency", "latency-direction", "FAULT_LATENCY_DIRECTION", "both", "match.direction", "both"),
    (
        "latency",
        "latency-distribution",
        "FAULT_LATENCY_DISTRIBUTION",
        "uniform",
        "with.distribution",
        "uniform",
    ),
    ("latency", "latency-mean", "FAULT_LATENCY_MEAN", "300", "with.mean_ms", 300.0),
    ("latency", "latency-stddev", "FAULT_LATENCY_STANDARD_DEVIATION", "7.5", "with.stddev_ms", 7.5),
    ("latency", "latency-shape", "FAULT_LATENCY_SHAPE", "2", "with.shape", 2.0),
    ("latency", "latency-scale", "FAULT_LATENCY_SCALE", "15", "with.scale_ms", 15.0),
    ("latency", "latency-min", "FAULT_LATENCY_MIN", "3", "with.min_ms", 3.0),
    ("latency", "latency-max", "FAULT_LATENCY_MAX", "9", "with.max_ms", 9.0),
    ("latency", "latency-sched", "FAULT_LATENCY_SCHED", "start:10%", "schedule", "start:10%"),
    ("bandwidth", "bandwidth-side", "FAULT_BANDWIDTH_SIDE", "client", "match.side", "client"),
    ("bandwidth", "bandwidth-direction", "FAULT_BANDWIDTH_DIRECTION", "egress", "match.direction", "egress"),
    ("bandwidth", "bandwidth-rate", "FAULT_BANDWIDTH_RATE", "512", "with.rate", 512.0),
    ("bandwidth", "bandwidth-unit", "FAULT_BANDWIDTH_UNIT", "KBps", "with.unit", "KBps"),
    ("bandwidth", "bandwidth-sched", "FAULT_BANDWIDTH_SCHED", "duration:3m", "schedule", "duration:3m"),
    ("jitter", "jitter-direction", "FAULT_JITTER_DIRECTION", "both", "match.direction", "both"),
    ("jitter", "jitter-side", "FAULT_JITTER_SIDE", "client", "match.side", "client"),
    ("jitter", "jitter-amplitude", "FAULT_JITTER_AMPLITUDE", "30", "with.amplitude_ms", 30.0),
    ("jitter", "jitter-frequency", "FAULT_JITTER_FREQ", "8", "with.frequency_hz", 8.0),
    ("jitter", "jitter-sched", "FAULT_JITTER_SCHED", "start:1s", "schedule", "start:1s"),
    ("dns", "dns-rate", "FAULT_DNS_PROBABILITY", "0.75", "trigger.probability", 0.75),
    ("dns", "dns-sched", "FAULT_DNS_SCHED", "start:1s", "schedule", "start:1s"),
    ("packet_loss", "packet-loss-side", "FAULT_PACKET_LOSS_SIDE", "client", "match.side", "client"),
    (
        "packet_loss",
        "packet-loss-direction",
        "FAULT_PACKET_LOSS_DIRECTION",
        "egress",
        "match.direction",
        "egress",
    ),
    ("packet_loss", "packet-loss-sched", "FAULT_PACKET_LOSS_SCHED", "start:1s", "schedule", "start:1s"),
    ("blackhole", "blackhole-side", "FAULT_BLACKHOLE_SIDE", "client", "match.side", "client"),
    ("blackhole", "blackhole-direction", "FAULT_BLACKHOLE_DIRECTION", "both", "match.direction", "both"),
    ("blackhole", "blackhole-sched", "FAULT_BLACKHOLE_SCHED", "start:1s", "schedule", "start:1s"),
]
SWITCHES = [
    ("http_error", "with-http-response", "FAULT_WITH_HTTP_FAULT"),
    ("latency", "with-latency", "FAULT_WITH_LATENCY"),
    ("bandwidth", "with-bandwidth", "FAULT_WITH_BANDWIDTH"),
    ("jitter", "with-jitter", "FAULT_WITH_JITTER"),
    ("dns", "with-dns", "FAULT_WITH_DNS"),
    ("packet_loss", "with-packet-loss", "FAULT_WITH_PACKET_LOSS"),
    ("blackhole", "with-blackhole", "FAULT_WITH_BLACKHOLE"),
]
# Settings that must not contradict the one under test.
BESIDE = {"latency-distribution": ("--latency-max", "9")}


@pytest.mark.parametrize(("kind", "flag", "env"), SWITCHES)
def test_a_switch_or_its_variable_makes_a_rule_of_its_kind(
    kind: str, flag: str, env: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [(rule.name, rule.fault.kind) for rule in rules(f"--{flag}")] == [(kind, kind)]
    monkeypatch.setenv(env, "true")
    assert [(rule.name, rule.fault.kind) for rule in rules()] == [(kind, kind)]
    monkeypatch.setenv(env, "false")
    assert rules() == ()


@pytest.mark.parametrize(("kind", "flag", "env", "text", "path", "value"), KNOWN)
def test_a_flag_and_its_variable_reach_the_plan(
    kind: str, flag: str, env: str, text: str, path: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = switch_of(NETWORK_FAULTS[kind]).option
    beside = BESIDE.get(flag, ())
    (by_flag,) = rules(switch, f"--{flag}", text, *beside)
    assert reached(by_flag, path) == value
    assert reached(rules(switch)[0], path) != value

    monkeypatch.setenv(env, text)
    assert rules(switch, *beside) == (by_flag,)


def test_per_read_write_is_a_switch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dump_rule(rules("--with-latency", "--latency-per-read-write")[0])["with"] == {"per": "operation"}
    monkeypatch.setenv("FAULT_LATENCY_PER_READ_WRITE", "true")
    assert dump_rule(rules("--with-latency")[0])["with"] == {"per": "operation"}
    monkeypatch.setenv("FAULT_LATENCY_PER_READ_WRITE", "false")
    assert "with" not in dump_rule(rules("--with-latency")[0])


@pytest.mark.parametrize("spelling", ["pareto_normal", "pareto-normal"])
def test_pareto_normal_may_be_spelled_either_way(spelling: str) -> None:
    (rule,) = rules(
        "--with-latency",
        "--latency-distribution",
        spelling,
        "--latency-shape",
        "2",
        "--latency-scale",
        "5",
    )
    assert reached(rule, "with.distribution") == "pareto-normal"


def test_half_of_the_look_ups_fail_by_default() -> None:
    assert rules("--with-dns")[0].trigger.probability == 0.5
    assert rules("--with-http-response")[0].trigger.probability == 1.0


def test_rules_come_in_the_order_of_the_table() -> None:
    made = rules("--with-http-response", "--with-dns", "--with-latency", "--with-reset")
    assert [rule.name for rule in made] == ["latency", "reset", "dns", "http_error"]


def test_a_flag_without_its_switch_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        rules("--latency-mean", "300")
    assert str(caught.value) == "--latency-mean: expected --with-latency beside it, got it alone"


def test_a_variable_without_its_switch_is_ignored_even_if_it_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAULT_LATENCY_MEAN", "much")
    assert rules() == ()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--with-latency", "--latency-mean", "-1"],
            "--latency-mean: expected a number of at least 0, got -1.0",
        ),
        (
            ["--with-latency", "--latency-mean", "much"],
            "--latency-mean: expected a number of at least 0, got 'much'",
        ),
        (
            ["--with-http-response", "--http-response-status", "99"],
            "--http-response-status: expected a whole number from 200 to 599, got 99",
        ),
        (
            ["--with-latency", "--latency-side", "left"],
            '--latency-side: expected one of client, server, got "left"',
        ),
        (
            ["--with-dns", "--dns-rate", "2"],
            "--dns-rate: expected a number from 0 to 1, got 2.0",
        ),
        (
            ["--with-bandwidth", "--bandwidth-unit", "kbps"],
            "--bandwidth-unit: expected one of Bps, KBps, MBps, GBps, bit, kbit, mbit, gbit, got 'kbps'",
        ),
        (
            ["--with-latency", "--latency-distribution", "uniform", "--latency-min", "5"],
            "--latency-max: expected a number above 0 for uniform, got 0",
        ),
    ],
)
def test_the_error_for_a_wrong_value_names_its_flag(args: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        rules(*args)
    assert str(caught.value) == message


def test_the_error_for_a_wrong_variable_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_LATENCY_MEAN", "-1")
    with pytest.raises(InputError) as caught:
        rules("--with-latency")
    assert str(caught.value) == "FAULT_LATENCY_MEAN: expected a number of at least 0, got -1.0"


def test_percentages_need_a_duration_and_the_error_names_the_flag() -> None:
    with pytest.raises(InputError) as caught:
        rules("--with-jitter", "--jitter-sched", "start:50%", total_s=None)
    assert str(caught.value) == "--jitter-sched: percentages need a total duration (--duration)"


def test_no_two_flags_and_no_two_variables_share_a_name() -> None:
    flags = [flag for fault in NETWORK_FAULTS.values() for flag in (switch_of(fault), *flags_of(fault))]
    assert len({flag.name for flag in flags}) == len(flags)
    assert len({flag.env for flag in flags}) == len(flags)


def test_the_readme_has_the_number_of_network_faults() -> None:
    readme = Path(__file__).parents[2] / "README.md"
    assert f"; {len(NETWORK_FAULTS)} faults of TCP" in readme.read_text("utf-8")


def test_each_switch_stands_apart_from_its_text_in_the_help() -> None:
    words = command.get_help(click.Context(command)).split()
    assert {switch_of(fault).option for fault in NETWORK_FAULTS.values()} <= set(words)


def test_the_help_names_the_probabilities_that_have_another_flag() -> None:
    shown = " ".join(command.get_help(click.Context(command)).split())
    options = {option for parameter in command.params for option in parameter.opts}
    usual = {
        f"{switch_of(fault).option.replace('--with-', '--')}-probability" for fault in NETWORK_FAULTS.values()
    }
    assert usual - options == {"--dns-probability", "--http-response-probability"}
    assert "--FAULT-probability=N (but --dns-rate, --http-response-trigger-probability)" in shown
