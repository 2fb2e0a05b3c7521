"""Where the results of suites go: one reporter to stdout as it comes, others to files at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from faultkit.agents.result import Results, Row
from faultkit.base.documents.shape import advice
from faultkit.base.errors import InputError
from faultkit.cli.suites import REPORTERS

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
    shown: str
    """The one on stdout; empty for none."""
    files: tuple[tuple[str, Path], ...]

    @classmethod
    def parse(cls, texts: Iterable[str], output: str | None) -> Reports:
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
            if path.is_dir() or not path.parent.is_dir():
                raise InputError(name, f"expected a file in a folder that is there, got {path}")
        return cls(shown[0] if shown else ("" if output else _LIVE), tuple(files))

    def check_beside(self, inputs: Iterable[Path]) -> None:
        """InputError for a report that would be written over what the suites are read from."""
        read = {path.resolve() for path in inputs}
        for name, path in self.files:
            if path.resolve() in read:
                raise InputError("--reporter", f"expected {name} in a file of its own, got {path}, a suite's")

    def row(self, row: Row) -> None:
        """It has come just now."""
        if self.shown == _LIVE:
            from faultkit.agents.report.pretty import row_lines

            first, *others = row_lines(row)
            click.secho(first, fg=None if row.skipped else _COLOURS[row.verdict])
            for line in others:
                click.echo(line)

    def end(self, results: Results) -> None:
        from faultkit.agents.report.pretty import summary_lines
        from faultkit.agents.report.reporters import REPORTERS as RENDERERS

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
