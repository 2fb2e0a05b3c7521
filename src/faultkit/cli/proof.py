"""`--prove` of `fault review`: its options, the proof of one file, and how it is shown."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError
from faultkit.base.numbers import duration
from faultkit.cli.shared_options import seconds_of

if TYPE_CHECKING:
    from faultkit.code.advice.selection import OpenQuestion
    from faultkit.code.proof.proof import Proof
    from faultkit.code.proof.prove import ProofSettings
    from faultkit.code.proof.verdict import Figures
    from faultkit.code.review.config_file import ReviewConfig

Command = TypeVar("Command", bound=Callable[..., Any])

_DURATION = "3s"
_OPTIONS = (
    click.option(
        "--prove",
        is_flag=True,
        help="Run the service before and after the change, side by side under faults. Exit codes: 0 better, "
        "1 worse, 6 no difference, not shown or not all exercised; 2 wrong arguments or no service to run, "
        "3 it does not start, 4 stopped, 130 Ctrl-C.",
    ),
    click.option(
        "--rule",
        metavar="ID",
        multiple=True,
        help="With --prove: prove only what this rule changes, as in `fault improve`. Repeatable.",
    ),
    click.option(
        "--safe/--unsafe",
        default=None,
        help="With --prove: leave out, or make, the changes that ask a question, as in `fault improve`.",
    ),
    click.option(
        "--upstream",
        metavar="NAME=URL",
        multiple=True,
        help="With --prove: URL of an upstream, by the environment variable that names it or the beginning "
        "of its URL in the text (https://api.example.com); by default that of a built-in stub.",
    ),
    click.option(
        "--route", metavar="PATH", help="With --prove: route to call; by default one that calls an upstream."
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="With --prove: interpreter that runs the service; by default that of the "
        "project's .venv, of uv, poetry, pipenv or pdm, of VIRTUAL_ENV, or this one.",
    ),
    click.option(
        "--prove-duration",
        metavar="TIME",
        show_default=_DURATION,
        help="With --prove: how long calls are sent under each fault.",
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
    rule: tuple[str, ...]
    safe: bool | None
    upstream: tuple[str, ...]
    route: str | None
    python: str | None
    prove_duration: str | None

    def check(self, others: Mapping[str, bool]) -> None:
        """Raise InputError for an option that is wrong or given without --prove, or one of the others that is
        given with it."""
        given = {
            "--rule": self.rule,
            "--safe": self.safe is True,
            "--unsafe": self.safe is False,
            "--upstream": self.upstream,
            "--route": self.route is not None,
            "--python": self.python is not None,
            "--prove-duration": self.prove_duration is not None,
        }
        for option, is_given in given.items():
            if is_given and not self.prove:
                instead = "; --select names the rules of a review" if option == "--rule" else ""
                raise InputError(option, f"expected --prove beside it, got none{instead}")
        for option, is_given in others.items():
            if is_given and self.prove:
                raise InputError("--prove", f"expected no {option} beside it, got one")
        if self.prove:
            self.settings()

    def settings(self) -> ProofSettings:
        """Return the settings of the proof. Raises InputError."""
        from faultkit.code.proof.interpreter import check_interpreter
        from faultkit.code.proof.prove import ProofSettings
        from faultkit.code.proof.service import checked_route

        if self.route is not None:
            checked_route(self.route)
        if self.python is not None:
            check_interpreter(self.python)
        return ProofSettings(
            upstreams=dict(map(_name_and_url, self.upstream)),
            route=self.route,
            python=self.python,
            duration_s=_proof_seconds(self.prove_duration or _DURATION),
        )


@dataclass(frozen=True, slots=True)
class ProofOutcome:
    """The result of `--prove`."""

    proof: Proof | None
    """None if there was nothing to change."""
    reason: str
    questions: tuple[OpenQuestion, ...] = ()
    """What the change asks."""

    @property
    def exit_code(self) -> int:
        """0: better, or nothing to change; 1: worse; 6: nothing is proven, or not for all of the change."""
        if self.proof is None:
            return 0
        if self.proof.verdict == "worse":
            return 1
        return 0 if self.proof.verdict == "better" and not self.proof.not_exercised else 6

    def document(self) -> dict[str, Any]:
        if self.proof is None:
            return {"verdict": "nothing to change", "reason": self.reason}
        return self.proof.document() | {"questions": [each.document() for each in self.questions]}


def prove_file(path: str, flags: ProofFlags, config: ReviewConfig) -> ProofOutcome:
    """Run and measure a file before and after its change; remove their files and processes afterwards."""
    from faultkit.base.signals import StopSignal
    from faultkit.code.advice.advisor import Advisor
    from faultkit.code.advice.selection import AsReviewed, selection_of
    from faultkit.code.proof.prove import prove
    from faultkit.code.review.review_files import find_files

    settings = flags.settings()

    has_line = False

    def show(what: str, step: int, of: int) -> None:
        nonlocal has_line
        if sys.stderr.isatty():
            has_line = True
            click.echo(f"\r\x1b[K{step}/{of} {what}", err=True, nl=False)

    selection = selection_of(flags.rule, None if flags.safe is None else not flags.safe)
    as_reviewed = AsReviewed(selection, config).of(find_files((path,)).wanted[0], "")
    change = Advisor().change_file(path, selection=as_reviewed)
    if not change.diff:
        return ProofOutcome(None, change.reason)
    stop = threading.Event()
    with StopSignal(stop.set) as signals:
        try:
            proof = prove(path, change.old, change.new, settings, show, stop)
            asked = tuple(each for each in change.questions if each.is_applied)
            return ProofOutcome(proof, change.reason, asked)
        finally:
            if has_line:
                click.echo(err=True)
            if signals.reason == "interrupt":
                raise KeyboardInterrupt


def print_proof(outcome: ProofOutcome) -> None:
    """Print a proof: a table of figures, the verdict for each fault, the parts that ran, and the verdict."""
    if outcome.proof is None:
        click.echo(f"\nNothing to prove: {outcome.reason}")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    proof = outcome.proof
    table = Table(
        title=f"GET {proof.url}: {'; '.join(proof.upstreams)}",
        caption="calls: those to the upstream",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE,
        pad_edge=False,
    )
    for column in ("fault", "version", "answers", "mean", "calls", "verdict"):
        table.add_column(column, no_wrap=column != "answers", overflow="fold")
    for each in proof.compared:
        table.add_row(each.fault, "before", *_cells(each.before), each.verdict)
        table.add_row("", "after", *_cells(each.after), end_section=True)
    console = Console(highlight=False, soft_wrap=True)
    console.print()
    Console(highlight=False).print(table)
    for each in proof.compared:
        if each.verdict != "no difference":
            console.print(f"{each.fault}: {each.verdict}. {each.why}", markup=False)
        for ending in each.endings:
            console.print(f"{each.fault}: {ending}", markup=False)
    for line in (*proof.unexercised(), *proof.remarks):
        console.print(line, markup=False)
    console.print(f"\nproof: {proof.summary()}", markup=False)
    for question in outcome.questions:
        console.print(f"check, before you keep the change: {question.text()}", markup=False)


def _cells(figures: Figures) -> tuple[str, ...]:
    answers = [f"{count}×{status}" for status, count in sorted(figures.statuses.items())]
    if figures.answered < figures.requests:
        answers.append(f"{figures.requests - figures.answered}×none")
    return ", ".join(answers), duration(figures.mean_ms), str(figures.upstream_requests)


def _name_and_url(text: str) -> tuple[str, str]:
    """Return the two parts of an --upstream."""
    name, equals, url = text.partition("=")
    if not equals or not name or not url.startswith(("http://", "https://")):
        raise InputError(
            "--upstream",
            "expected NAME=URL such as UPSTREAM_URL=http://127.0.0.1:8000 or "
            f'https://api.example.com=http://127.0.0.1:8000, got "{text}"',
        )
    return name.rstrip("/"), url


def _proof_seconds(text: str) -> float:
    seconds = seconds_of("--prove-duration", text)
    if not 0.5 <= seconds <= 60:
        raise InputError("--prove-duration", f"expected from 0.5s to 60s, got {text}")
    return seconds
