"""`fault test coverage`: which tools meet which faults, and what is not tested."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command()
@click.argument("paths", metavar="[PATH]…", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option(
    "--threshold",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if fewer tools and phases are tested.",
)
def command(paths: tuple[str, ...], as_json: bool, threshold: int | None) -> int:
    """Show which tools meet which faults on the way there (request) and back (reply), and which meet none.

    Nothing is run. Of servers that are no mocks, those tools are known that the suite names.
    """
    from faultkit.agents.coverage import coverage_of
    from faultkit.cli.suites.running import NOT_MET, find_suites, load_all

    coverage = coverage_of(load_all(find_suites(paths), {}))
    share = coverage.share
    if as_json:
        untested = [dict(zip(("server", "tool", "phase"), each, strict=True)) for each in coverage.untested]
        covered = [asdict(each) for each in coverage.covered]
        click.echo(json.dumps({"share": share, "covered": covered, "untested": untested}, indent=2))
    else:
        rows = [
            (f"{each.server}/{each.tool}", each.phase, each.fault, str(len(each.tests)))
            for each in coverage.covered
        ]
        rows += [(f"{server}/{tool}", phase, "–", "untested") for server, tool, phase in coverage.untested]
        _table([("tool", "phase", "fault", "tests"), *sorted(rows)])
        if share is not None:
            click.echo(f"\n{100 * share:.0f} % of tools and phases meet a fault")
    return NOT_MET if threshold is not None and 100 * (share or 0.0) < threshold else 0


def _table(rows: list[tuple[str, str, str, str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
