"""`python -m bench.fidelity`: compares injected faults with their settings, and draws the fidelity card."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench import load, machine
from bench.card import draw_card
from bench.checks import Check
from bench.events import ProxySummary, parse_events
from bench.experiments import (
    BOTH_WAYS_GROUP,
    EXPERIMENTS,
    LATENESS_LIMIT_US,
    Context,
    Experiment,
    baseline_us,
    bulk_check,
    loss_check,
    loss_segments,
)
from bench.injections import BOTH_WAYS
from bench.load import LoadError
from bench.options import chosen_relays, parser, progress, setup_from
from bench.origin import start_upstreams
from bench.processes import StartError, peak_memory_bytes
from bench.relays import NO_FAULT, OURS, Relay, RelayKind, Setup
from bench.stats import median
from bench.tables import Table, aligned_table, figure

CARD = machine.OUT / "fidelity.svg"
FIGURES = machine.OUT / "fidelity.json"

_SECONDS, _QUICK_SECONDS = 8.0, 3.0
_RATE_SECONDS, _QUICK_RATE_SECONDS = 8.0, 5.0
_BULK_BYTES = 1_000_000_000
_BULK_ROUNDS = 3


@dataclass
class Result:
    machine: machine.Machine
    seconds: float
    direct_p50_us: float = 0.0
    steal_percent: float = 0.0
    checks: dict[str, list[Check]] = field(default_factory=dict)
    """Checks by relay, in the order of the experiments."""
    skipped: list[str] = field(default_factory=list)

    def ours(self) -> list[Check]:
        return self.checks.get(OURS, [])

    def to_json(self) -> dict[str, Any]:
        checks = {relay: [check.to_json() for check in checks] for relay, checks in self.checks.items()}
        return {**asdict(self), "checks": checks}


def run(options: argparse.Namespace) -> Result:
    with setup_from(options) as setup, ExitStack() as stack:
        seconds = _QUICK_SECONDS if options.quick else _SECONDS
        result = Result(machine.describe(), seconds)
        injecting = [kind for kind in chosen_relays(options, setup, result.skipped) if kind.can(BOTH_WAYS)]
        upstreams = start_upstreams(stack, setup, ["echo", "sink", "source"])
        before = machine.cpu_times()
        progress("round trips without a relay")
        result.direct_p50_us = baseline_us(upstreams["echo"], seconds)
        context = Context(
            seconds=seconds,
            rate_seconds=_QUICK_RATE_SECONDS if options.quick else _RATE_SECONDS,
            bulk_bytes=_BULK_BYTES,
            direct_p50_us=result.direct_p50_us,
        )
        for experiment in EXPERIMENTS:
            if not options.only or experiment.name in options.only:
                for kind in injecting:
                    if kind.can(experiment.injection):
                        _try(experiment.name, kind, result, setup, upstreams, context, experiment)
        if not options.only or "bulk" in options.only:
            for kind in injecting:
                _try("bulk", kind, result, setup, upstreams, context, None)
        result.steal_percent = machine.steal_percent(before, machine.cpu_times())
        progress("")
        return result


def _try(
    name: str,
    kind: RelayKind,
    result: Result,
    setup: Setup,
    upstreams: Mapping[str, int],
    context: Context,
    experiment: Experiment | None,
) -> None:
    """Run one experiment on one relay; a failure is reported and affects only its own checks."""
    progress(f"{name}, {kind.name}")
    try:
        if experiment is None:
            checks = _bulk(kind, setup, upstreams, context)
        else:
            checks = _measure(kind, setup, upstreams, context, experiment)
        result.checks.setdefault(kind.name, []).extend(checks)
    except (LoadError, StartError) as error:
        result.skipped.append(f"{name} of {kind.name}: {error}")


def _measure(
    kind: RelayKind,
    setup: Setup,
    upstreams: Mapping[str, int],
    context: Context,
    experiment: Experiment,
) -> list[Check]:
    with ExitStack() as stack:
        relay = kind.start(stack, setup, _only(upstreams, experiment), experiment.injection)
        checks = experiment.measure(relay, context)
    if kind.name != OURS:
        return checks
    # The proxy reports its summary when it ends, so this comes after the stack.
    if experiment.name == "loss":
        return [
            *checks,
            loss_check("losses that the proxy tells", _reported(relay).losses, loss_segments(context)),
        ]
    if experiment.name == "latency":
        return [*checks, *_reported_lateness(kind, setup, upstreams, context, experiment)]
    return checks


def _reported_lateness(
    kind: RelayKind,
    setup: Setup,
    upstreams: Mapping[str, int],
    context: Context,
    experiment: Experiment,
) -> list[Check]:
    """Return the lateness that the proxy itself reports, from a separate run, because events cost time."""
    telling = replace(experiment.injection, flags=("--json", *experiment.injection.flags))
    with ExitStack() as stack:
        relay = kind.start(stack, setup, _only(upstreams, experiment), telling)
        load.pace(relay.ports["echo"], 100, 800, min(context.seconds, 3.0))
    reported = _reported(relay)
    if reported.lateness_p50_us is None:
        return []
    return [
        Check(
            BOTH_WAYS_GROUP,
            "median lateness that the proxy tells",
            "100 ms RTT",
            f"{reported.lateness_p50_us:.0f} µs, {reported.early or 0} early",
            "µs",
            reported.lateness_p50_us,
            wanted=0.0,
            allowed=(None, LATENESS_LIMIT_US),
        )
    ]


def _bulk(kind: RelayKind, setup: Setup, upstreams: Mapping[str, int], context: Context) -> list[Check]:
    """Alternate plain and delayed runs, so that a noisy moment affects both."""
    sink = {"sink": upstreams["sink"]}
    plain: list[float] = []
    delayed: list[float] = []
    with ExitStack() as stack:
        without = kind.start(stack, setup, sink, NO_FAULT)
        with_fault = kind.start(stack, setup, sink, BOTH_WAYS)
        for _ in range(_BULK_ROUNDS):
            plain.append(load.bulk(without.ports["sink"], context.bulk_bytes).per_second / 1e9)
            delayed.append(load.bulk(with_fault.ports["sink"], context.bulk_bytes).per_second / 1e9)
        peak_bytes = peak_memory_bytes(with_fault.pids())
    return bulk_check(median(delayed), median(plain), peak_bytes)


def _only(upstreams: Mapping[str, int], experiment: Experiment) -> dict[str, int]:
    return {experiment.upstream: upstreams[experiment.upstream]}


def _reported(relay: Relay) -> ProxySummary:
    if relay.events is None:
        return ProxySummary()
    return parse_events(relay.events.read_text(errors="replace").splitlines())


def check_table(result: Result) -> Table:
    """Return a row for each check: our value, and those of other relays that can inject the same fault."""
    relays = list(result.checks)
    rows = []
    for reference in _all_checks(result):
        found = {relay: _find(result.checks[relay], reference) for relay in relays}
        ours = found.get(OURS)
        rows.append(
            [
                f"{reference.group}: {reference.label}",
                reference.requested,
                reference.allowed_text(),
                *(
                    f"{figure(check.value)} {check.unit}".rstrip() if check else "–"
                    for check in found.values()
                ),
                ours.word if ours else "not measured",
            ]
        )
    return ["check", "requested", "allowed", *relays, "verdict"], rows


def _all_checks(result: Result) -> list[Check]:
    """Return the checks of the relay that has the most: ours, if it could be measured."""
    return result.ours() or max(result.checks.values(), key=len, default=[])


def _find(checks: Sequence[Check], like: Check) -> Check | None:
    return next((c for c in checks if (c.group, c.label) == (like.group, like.label)), None)


def print_result(result: Result) -> None:
    print(f"{result.machine.sentence()}; direct RTT {result.direct_p50_us:.0f} µs", end="; ")
    print(f"steal {result.steal_percent:.1f} %", end="\n\n")
    print(aligned_table(*check_table(result)))
    for sentence in result.skipped:
        print(f"note: {sentence}")


def write_card(result: Result) -> None:
    """Write the figures of all relays, and the card of ours."""
    FIGURES.write_text(json.dumps(result.to_json(), indent=2) + "\n")
    subtitle = f"Requested against measured on loopback. {result.machine.sentence()}."
    CARD.write_text(draw_card("Faultkit fidelity card", subtitle, result.ours()))


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("bench.fidelity", __doc__ or "")
    names = [experiment.name for experiment in EXPERIMENTS]
    command.add_argument("--only", action="append", choices=[*names, "bulk"], help="repeatable")
    options = command.parse_args(arguments)
    try:
        result = run(options)
    except StartError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("bench: interrupted; everything that was started has been ended", file=sys.stderr)
        return 130
    print_result(result)
    write_card(result)
    if options.json:
        options.json.write_text(json.dumps(result.to_json(), indent=2) + "\n")
    return 1 if any(check.word == "MISS" for check in result.ours()) else 0


if __name__ == "__main__":
    sys.exit(main())
