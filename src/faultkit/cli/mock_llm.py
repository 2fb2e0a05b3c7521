"""`fault mock llm`: serve the APIs of models without a key, with faults."""

from __future__ import annotations

import math

import click

from faultkit.base.documents.values import SEED_FORM, seed_of_text
from faultkit.base.errors import InputError
from faultkit.cli.mock import EVENTS_HELP, say_on_stderr
from faultkit.cli.shared_options import CALL_SEED_HELP, json_option, seed_option

PORT = 8770


@click.command(
    "llm",
    epilog="""\b
Examples:
  fault mock llm
  fault mock llm --lorem 200 --tokens-per-second 50
  fault mock llm --script turns.yml --plan faults.yml --seed 7
  fault mock llm --echo prompt
  fault mock llm --replay answers.jsonl
Then, for example:
  OPENAI_BASE_URL=http://127.0.0.1:8770/v1 OPENAI_API_KEY=none python app.py
  ANTHROPIC_BASE_URL=http://127.0.0.1:8770 ANTHROPIC_API_KEY=none python app.py
`fault faults` lists the faults; those of level llm can be used here.""",
)
@click.option("--script", metavar="FILE", help="Answer with the turns of a file (YAML or JSON).")
@click.option(
    "--echo",
    type=click.Choice(("user", "prompt")),
    help="Answer with the user's last text, as without it, or with all texts that the model gets, "
    "instructions among them.",
)
@click.option("--lorem", metavar="WORDS", type=click.IntRange(1, 100_000), help="Answer with filler text.")
@click.option(
    "--replay",
    metavar="FILE",
    help="Answer with a recording of `fault run llm --record`, at its pace; other requests get an error, and "
    "the exit code is 1.",
)
@click.option(
    "--tokens-per-second", "rate", type=click.FloatRange(0), default=0.0, help="Pace; 0 for at once."
)
@click.option("--plan", "plan_file", metavar="FILE", help="Plan file with faults of level llm.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port to listen on."
)
@seed_option(CALL_SEED_HELP)
@json_option(EVENTS_HELP)
def command(
    script: str | None,
    echo: str | None,
    lorem: int | None,
    replay: str | None,
    rate: float,
    plan_file: str | None,
    host: str,
    port: int,
    seed: str | None,
    as_json: bool,
) -> None:
    """Serve the APIs of models without a key: OpenAI Chat Completions and Responses, Anthropic Messages,
    Gemini and Ollama, on one port, streamed and whole.

    Without --script, --lorem and --replay, the answer is an echo of the user's last text. Equal requests
    get equal answers. The turn of a script is chosen by the number of answers that a conversation has
    already.
    """
    from faultkit.base.files import read_text
    from faultkit.base.signals import run_async
    from faultkit.faults.dialects.recording import LlmReplay, parse_recording
    from faultkit.llm.mock.mock_answers import MockAnswers, load_script
    from faultkit.llm.mock.mock_server import LlmMockJob, run_llm_mock
    from faultkit.plan import Plan, check_llm_plan, load_plan_file

    sources = {"--script": script, "--lorem": lorem, "--echo": echo, "--replay": replay}
    given = [flag for flag, value in sources.items() if value is not None]
    if len(given) > 1:
        raise InputError(given[1], f"expected no {given[0]} beside it")
    if not math.isfinite(rate):
        raise InputError("--tokens-per-second", f"expected a number, got {rate}")
    if not host.strip():
        raise InputError("--host", f'expected an address, got "{host}"')
    if seed == "":
        raise InputError("--seed", f'expected {SEED_FORM}, got ""')
    plan = Plan()
    if plan_file is not None:
        written = load_plan_file(plan_file)
        plan = written.plan
        try:
            check_llm_plan(plan)
        except InputError as error:
            raise written.placed(error) from None
    if seed is not None:
        plan = Plan(plan.rules, seed_of_text(seed))
    answers = MockAnswers(seed=plan.seed)
    if script is not None:
        answers = MockAnswers("script", load_script(script), seed=plan.seed)
    elif echo == "prompt":
        answers = MockAnswers("prompt", seed=plan.seed)
    elif lorem is not None:
        answers = MockAnswers("lorem", words=lorem, seed=plan.seed)
    recorded = None if replay is None else LlmReplay(parse_recording(read_text(replay), replay))
    job = LlmMockJob(answers, plan, rate, host, port, as_json, recorded)
    run_async(run_llm_mock(job, say_on_stderr))
    if recorded is not None and recorded.missed:
        raise click.exceptions.Exit(1)
