"""`--prove` of `fault review`: its options, the proof of one file, and how it is shown."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import seconds_of
from faultkit.code.proof.prove import Figures, Proof, ProofSettings, prove

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--prove", is_flag=True, help="Run the service before and after the change, under faults."),
    click.option(
        "--upstream",
        metavar="VARIABLE=URL",
        multiple=True,
        help="With --prove: URL for an environment variable of the service; by default that of a built-in "
        "stub.",
    ),
    click.option(
        "--route", metavar="PATH", help="With --prove: route to call; by default one that calls an upstream."
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="With --prove: interpreter that runs the service; by default that of the "
        "project's .venv, of VIRTUAL_ENV, or this one.",
    ),
    click.option(
        "--prove-duration",
        metavar="TIME",
        default="1s",
        show_default=True,
        help="With --prove: duration of each run.",
    ),
)


def proof_options(command: Command) -> Command:
    """Add the options of a proof to a command, which takes them as `**proof_flags`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class ProofFlags:
    """The options of a proof, as given."""

    prove: bool
    upstream: tuple[str, ...]
    route: str | None
    python: str | None
    prove_duration: str

    def settings(self) -> ProofSettings:
        """Return the settings of the proof. Raises InputError."""
        return ProofSettings(
            upstreams=dict(map(_variable_and_url, self.upstream)),
            route=self.route,
            python=self.python,
            duration_s=_proof_seconds(self.prove_duration),
        )


@dataclass(frozen=True, slots=True)
class ProofOutcome:
    """The result of `--prove`."""

    proof: Proof | None
    """None if there was nothing to change."""
    reason: str

    @property
    def held(self) -> bool:
        return self.proof is None or self.proof.judgement == "improved"

    def document(self) -> dict[str, Any]:
        if self.proof is None:
            return {"judgement": "nothing to change", "reason": self.reason}
        return self.proof.document()


def prove_file(path: str, flags: ProofFlags) -> ProofOutcome:
    """Run and measure a file before and after its change; remove their files and processes afterwards."""
    from faultkit.base.signals import StopSignal
    from faultkit.code.advice.advisor import Advisor

    if not path.endswith(".py"):
        raise InputError("--prove", f'expected one Python file that is a service, got "{path}"')
    settings = flags.settings()

    def show(what: str, step: int, of: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r\x1b[K{step}/{of} {what}", err=True, nl=step == of)

    change = Advisor().change_file(path)
    if not change.diff:
        return ProofOutcome(None, change.reason)
    stop = threading.Event()
    with StopSignal(stop.set) as signals:
        try:
            return ProofOutcome(prove(path, change.old, change.new, settings, show, stop), change.reason)
        finally:
            if signals.reason == "interrupt":
                raise KeyboardInterrupt


def print_proof(outcome: ProofOutcome) -> None:
    """Print a proof as a table with its judgements."""
    if outcome.proof is None:
        click.echo(f"\nNothing to prove: {outcome.reason}")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    proof = outcome.proof
    table = Table(
        title=f"GET {proof.url}: {'; '.join(proof.upstreams)}", title_justify="left", box=box.SIMPLE
    )
    for column in ("fault", "version", "answered", "statuses", "p95", "slowest", "SLOs"):
        table.add_column(column, no_wrap=column != "statuses")
    for each in proof.compared:
        table.add_row(each.fault, "before", *_cells(each.before))
        table.add_row("", "after", *_cells(each.after), end_section=True)
    console = Console(highlight=False)
    console.print()
    console.print(table)
    for each in proof.compared:
        console.print(f"{each.fault}: {each.judgement}. {each.reason}")
    console.print(f"\nproof: {proof.judgement}")


def _cells(figures: Figures) -> tuple[str, ...]:
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(figures.statuses.items()))
    missed = f"{len(figures.slos_missed)} missed" if figures.slos_missed else "met"
    return (
        f"{figures.answered} of {figures.requests}",
        statuses or "none",
        f"{figures.p95_ms:.0f} ms",
        f"{figures.max_ms:.0f} ms",
        missed,
    )


def _variable_and_url(text: str) -> tuple[str, str]:
    """Return the two parts of an --upstream."""
    variable, equals, url = text.partition("=")
    if not equals or not variable or not url.startswith(("http://", "https://")):
        raise InputError(
            "--upstream", f'expected VARIABLE=URL such as UPSTREAM_URL=http://127.0.0.1:8000, got "{text}"'
        )
    return variable, url


def _proof_seconds(text: str) -> float:
    seconds = seconds_of("--prove-duration", text)
    if not 0.5 <= seconds <= 60:
        raise InputError("--prove-duration", f"expected from 0.5s to 60s, got {text}")
    return seconds
