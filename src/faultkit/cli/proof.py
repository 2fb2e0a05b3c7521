"""`fault review --prove`: its options, and the table of a proof."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.cli.shared_options import seconds_of
from faultkit.code.proof.prove import Figures, Proof, ProofSettings, prove

F = TypeVar("F", bound=Callable[..., Any])


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


@dataclass(frozen=True, slots=True)
class ProofOptions:
    """The options of a proof, as given on the command line."""

    wanted: bool
    upstreams: tuple[str, ...]
    route: str | None
    python: str | None
    duration: str

    def prove(self, path: str, *, given: str, is_file: bool) -> ProofOutcome:
        """Run and measure both versions, and remove their files and processes afterwards."""
        from faultkit.base.signals import StopSignal
        from faultkit.code.advice.advisor import Advisor

        if not is_file or not path.endswith(".py"):
            raise InputError("--prove", f'expected one Python file that is a service, got "{given}"')
        settings = ProofSettings(
            upstreams=dict(map(_pair, self.upstreams)),
            route=self.route,
            python=self.python or sys.executable,
            duration_s=_seconds(self.duration),
        )
        change = Advisor().change_file(path)
        if not change.diff:
            return ProofOutcome(None, change.reason)
        import threading

        stop = threading.Event()
        with StopSignal(stop.set) as signals:
            try:
                return ProofOutcome(
                    prove(path, change.old, change.new, settings, _show_step, stop), change.reason
                )
            finally:
                if signals.reason == "interrupt":
                    raise KeyboardInterrupt


def proof_options(command: F) -> F:
    """Add the options of a proof to a command, which receives them as one argument, `proof`."""

    @click.option("--prove", is_flag=True, help="Run the service before and after the change, under faults.")
    @click.option(
        "--upstream",
        "upstreams",
        metavar="VARIABLE=URL",
        multiple=True,
        help="With --prove: the URL for a variable of the service; by default that of a built-in stub.",
    )
    @click.option("--route", metavar="PATH", help="With --prove: what to call; by default what calls out.")
    @click.option("--python", metavar="PATH", help="With --prove: the interpreter that runs the service.")
    @click.option(
        "--prove-duration", metavar="TIME", default="1s", show_default=True, help="With --prove: of each run."
    )
    @wraps(command)
    def taken(
        *args: Any,
        prove: bool,
        upstreams: tuple[str, ...],
        route: str | None,
        python: str | None,
        prove_duration: str,
        **kwargs: Any,
    ) -> Any:
        return command(*args, proof=ProofOptions(prove, upstreams, route, python, prove_duration), **kwargs)

    return taken  # type: ignore[return-value]


def _pair(text: str) -> tuple[str, str]:
    variable, equals, url = text.partition("=")
    if not equals or not variable or not url.startswith(("http://", "https://")):
        raise InputError(
            "--upstream", f'expected VARIABLE=URL such as UPSTREAM_URL=http://127.0.0.1:8000, got "{text}"'
        )
    return variable, url


def _seconds(text: str) -> float:
    seconds = seconds_of("--prove-duration", text)
    if not 0.5 <= seconds <= 60:
        raise InputError("--prove-duration", f"expected from 0.5s to 60s, got {text}")
    return seconds


def _show_step(what: str, step: int, of: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{step}/{of} {what}", err=True, nl=step == of)


def show_proof(proved: ProofOutcome) -> None:
    """Print a proof as a table with its judgements."""
    if proved.proof is None:
        click.echo(f"\nNothing to prove: {proved.reason}")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    proof = proved.proof
    table = Table(
        title=f"GET {proof.url}: {'; '.join(proof.upstreams)}", title_justify="left", box=box.SIMPLE
    )
    for column in ("fault", "version", "answered", "statuses", "p95", "slowest", "SLOs"):
        table.add_column(column, no_wrap=column != "statuses")
    for each in proof.compared:
        table.add_row(each.fault, "before", *_row(each.before))
        table.add_row("", "after", *_row(each.after), end_section=True)
    console = Console(highlight=False)
    console.print()
    console.print(table)
    for each in proof.compared:
        console.print(f"{each.fault}: {each.judgement}. {each.reason}")
    console.print(f"\nproof: {proof.judgement}")


def _row(figures: Figures) -> tuple[str, ...]:
    statuses = ", ".join(f"{count} × {status}" for status, count in sorted(figures.statuses.items()))
    missed = f"{len(figures.slos_missed)} missed" if figures.slos_missed else "met"
    return (
        f"{figures.answered} of {figures.requests}",
        statuses or "none",
        f"{figures.p95_ms:.0f} ms",
        f"{figures.max_ms:.0f} ms",
        missed,
    )
