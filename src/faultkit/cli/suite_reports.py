"""The reporters of `fault test`: what is printed during and after a run, and the files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from faultkit.agents.suite.results import ResultRow, SuiteResults
from faultkit.base.documents.checks import advice
from faultkit.base.errors import InputError

REPORTERS = ("pretty", "quiet", "json", "junit", "markdown", "html", "sarif", "tap", "github")

_COLOURS = {
    "passed": "green",
    "failed": "red",
    "error": "red",
    "not_exercised": "yellow",
    "inconclusive": "yellow",
}
_LIVE = "pretty"


@dataclass(frozen=True, slots=True)
class Reports:
    """The reporters of a run: at most one on stdout, the others in files."""

    shown: str
    """Name of the reporter on stdout; empty for none."""
    files: tuple[tuple[str, Path], ...]

    @classmethod
    def parse(cls, texts: Iterable[str], output: str | None) -> Reports:
        """Return the reporters of --reporter and --output; raise InputError."""
        shown: list[str] = []
        files: list[tuple[str, Path]] = []
        for text in texts:
            name, _, file = text.partition("=")
            if name not in REPORTERS:
                raise InputError("--reporter", f'unknown reporter "{name}"; {advice(name, REPORTERS)}')
            if file:
                files.append((name, Path(file)))
            else:
                shown.append(name)
        if len(shown) > 1:
            raise InputError(
                "--reporter", f"expected one on stdout, got {' and '.join(shown)}; write NAME=FILE"
            )
        if output is not None:
            if not shown:
                raise InputError("--output", "expected a --reporter without a file of its own beside it")
            files.append((shown.pop(), Path(output)))
        for name, path in files:
            if os.path.isdir(path) or not os.path.isdir(path.parent):
                raise InputError(name, f"expected a file in a folder that is there, got {path}")
        return cls(shown[0] if shown else ("" if output else _LIVE), tuple(files))

    def check_beside(self, inputs: Iterable[Path], whose: str) -> None:
        """Raise InputError for a report that would overwrite a file that is read."""
        read = {path.resolve() for path in inputs}
        for name, path in self.files:
            if path.resolve() in read:
                raise InputError("--reporter", f"expected {name} in a file of its own, got {path}, {whose}")

    def row(self, row: ResultRow) -> None:
        """Print the row of a test that has ended, if the output is live."""
        if self.shown == _LIVE:
            from faultkit.agents.report.suite_text import row_lines

            first, *others = row_lines(row)
            click.secho(first, fg=None if row.skipped else _COLOURS[row.verdict])
            for line in others:
                click.echo(line)

    def end(self, results: SuiteResults) -> None:
        """Print the summary or the report, and write the reports to their files."""
        from faultkit.agents.report.reporters import REPORTERS as RENDERERS
        from faultkit.agents.report.suite_text import summary_lines

        if self.shown == _LIVE:
            *others, last = summary_lines(results)
            for line in others:
                click.echo(line)
            click.secho(last, bold=True, fg="green" if results.ok else "red")
        elif self.shown:
            click.echo(RENDERERS[self.shown].render(results), nl=False)
        for name, path in self.files:
            try:
                path.write_text(RENDERERS[name].render(results), "utf-8")
            except OSError as error:
                raise InputError(str(path), f"cannot be written: {error.strerror}") from None
            click.echo(f"{name}: {path}", err=True)
