"""`fault scenario review`: a result in plain language, by rules, offline."""

from __future__ import annotations

from pathlib import Path

import click

from faultkit.base.errors import InputError


@click.command("review", epilog="For example: fault scenario review results.json --report review.md")
@click.argument("results", default="results.json")
@click.option("--report", metavar="PATH", help="Write it (Markdown) to this file instead of stdout.")
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout.")
def command(results: str, report: str | None, as_json: bool) -> None:
    """Say what RESULTS mean: what broke, how much, the likely cause, and what to try next.

    RESULTS is what `fault scenario run` wrote, results.json by default.
    """
    import json
    from dataclasses import asdict

    from faultkit.scenario.report.files import check_report_path, read_report, write_whole
    from faultkit.scenario.report.review import render_review, review

    path = Path(results)
    if not path.exists():
        raise InputError("RESULTS", f'expected a file that `fault scenario run` wrote, got "{results}"')
    if report is not None:
        check_report_path(report, (".md",))
    reviewed = review(read_report(path))
    if as_json:
        click.echo(json.dumps(asdict(reviewed), indent=2, ensure_ascii=False))
    elif report is None:
        click.echo(render_review(reviewed))
    else:
        write_whole(report, render_review(reviewed))
