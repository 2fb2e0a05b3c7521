"""`fault profile llm`: run an LLM client against the battery of LLM faults, and judge what it did."""

from __future__ import annotations

import sys

import click

from faultkit.cli.shared_options import OPTIONS_FIRST, json_option, seconds_of, seed_option

_COPED, _DEFECT, _INCONCLUSIVE = 0, 1, 4
_DIALECTS = ("openai", "openai-responses", "anthropic", "gemini", "ollama")

_EPILOG = """\b
The client finds the mock by {url} in its command, or by its environment: OPENAI_BASE_URL,
ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL, OLLAMA_HOST, FAULT_LLM_URL and others. API keys in the
environment are replaced, so that no key leaves this machine. Let the client print the answer.

\b
Exit codes:
  0  the client coped with every fault
  1  it did something wrong in a case
  2  wrong input
  3  the client cannot be started
  4  the run without a fault failed, or a fault never acted, so something could not be judged
  130  interrupted: what is finished is printed

\b
Examples:
  fault profile llm -- python app.py
  fault profile llm --only clean_end,llm_keep_alive_only --timeout 10s -- python app.py "Hello"
  fault profile llm --dialect anthropic --report profile.html -- node app.mjs
  fault profile llm --script turns.yml --jobs 8 --json -- python agent.py
"""


@click.command("llm", epilog=_EPILOG, context_settings=OPTIONS_FIRST)
@click.argument("client_command", metavar="-- CLIENT COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--dialect",
    type=click.Choice(_DIALECTS),
    help="The API that the client must use; by default any.",
)
@click.option(
    "--only",
    metavar="FAULT,…",
    multiple=True,
    help="Run only these faults or cases. Repeatable; by default all that can act on the client.",
)
@click.option("--script", metavar="FILE", help="Answer with the turns of a file, as `fault mock llm` does.")
@click.option(
    "--timeout",
    metavar="DURATION",
    default="15s",
    show_default=True,
    help="Time limit of each run, from the first request of the client.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=4, show_default=True, help="Runs at the same time."
)
@seed_option("Seed of all random choices.", default="0")
@json_option("Print the profile as JSON.")
@click.option(
    "--report",
    metavar="FILE",
    help="Write the profile as Markdown (.md), HTML (.html), JUnit (.xml) or JSON (.json).",
)
def command(
    client_command: tuple[str, ...],
    dialect: str | None,
    only: tuple[str, ...],
    script: str | None,
    timeout: str,
    jobs: int,
    seed: str,
    as_json: bool,
    report: str | None,
) -> int:
    """Run an LLM client once for each fault of LLM APIs, and judge what it did.

    Each run has its own mock with one fault. The verdict comes from both sides: from the requests, retries
    and connections that the mock saw, and from the exit code, the time and the output of the client. Two
    runs without a fault come first.
    """
    from faultkit.base.documents.values import seed_of_text
    from faultkit.base.files import check_output_path, write_output
    from faultkit.base.signals import run_until_signal
    from faultkit.base.times import now_us, time_text
    from faultkit.llm.mock.mock_answers import load_script
    from faultkit.llm.profile.judging import CaseResult
    from faultkit.llm.profile.profile_report import (
        to_html,
        to_json,
        to_junit,
        to_markdown,
        to_text,
        verdict_text,
    )
    from faultkit.llm.profile.profile_run import LlmProfile, LlmProfileJob, check_job, profile_llm_client

    if report is not None:
        check_output_path(report, (".md", ".html", ".xml", ".json"))
    job = LlmProfileJob(
        client_command,
        dialect or "",
        tuple(name.strip() for each in only for name in each.split(",") if name.strip()),
        () if script is None else load_script(script),
        seed_of_text(seed),
        seconds_of("--timeout", timeout),
    )
    check_job(job)

    def show(number: int, of: int, row: CaseResult) -> None:
        if sys.stderr.isatty():
            click.echo(f"{number}/{of} {row.case}: {verdict_text(row)}", err=True)

    def publish(profile: LlmProfile) -> None:
        click.echo(to_json(profile) if as_json else to_text(profile), nl=False)
        for note in profile.notes if as_json or not profile.problem else ():
            click.echo(f"note: {note}", err=True)
        if report is not None:
            kind = report.rpartition(".")[2].lower()
            writers = {"md": to_markdown, "html": to_html, "json": to_json}
            text = to_junit(profile, started_at) if kind == "xml" else writers[kind](profile)
            write_output(report, text)

    started_at = time_text(now_us())
    profile = run_until_signal(profile_llm_client(job, jobs=jobs, on_row=show, on_interrupt=publish))
    publish(profile)
    if profile.has_defects:
        return _DEFECT
    return _COPED if profile.is_conclusive else _INCONCLUSIVE
