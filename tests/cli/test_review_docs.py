"""The parts *Review* and *Proof* of docs/code.md: configuration, hooks, workflows, output and limits."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from faultkit.cli.main import invoke
from faultkit.cli.review import command
from faultkit.cli.review_output import FORMATS
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.proof.prove import ProofSettings
from faultkit.code.proof.verdict import (
    CPU,
    ENOUGH,
    MEMORY,
    OPEN_FILES,
    TIME,
    UPSTREAM_CALLS,
    UPSTREAM_CONNECTIONS,
)
from faultkit.code.review.config_file import read_config
from faultkit.code.review.context import CONTEXT_NAMES

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "code.md").read_text("utf-8")
HOOKS = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text("utf-8"))
TYPES = {
    "python": "python",
    "javascript": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "tsx": "tsx",
    "c#": "csharp",
}
"""Names that pre-commit has for languages, where ours differ."""


def documents() -> list[Any]:
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)]


def parsed(line: str) -> click.Context:
    words = shlex.split(line)
    assert words[:2] == ["fault", "review"]
    return command.make_context("review", [*words[2:], "app.py"])


def test_the_configuration_of_the_page_is_read(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.+?)```", PAGE, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(text)
    found = read_config(str(tmp_path / "pyproject.toml"))
    assert found.context == {"tools/**": "scripts", "src/testing/**": "production"}


@pytest.mark.parametrize("hook", [HOOKS[0], documents()[0]["repos"][0]["hooks"][0]])
def test_hooks_call_the_command_for_languages_that_have_rules(hook: dict[str, Any]) -> None:
    assert parsed(hook["entry"]).params["is_strict"] is True
    assert {TYPES.get(each, each) for each in hook["types_or"]} == {*GRAMMARS}
    assert hook["language"] == "python"
    assert hook["additional_dependencies"][0].endswith("[code]")


def test_the_hook_of_the_repository_is_that_of_the_page_with_other_arguments() -> None:
    args = re.search(r"`args: \[(.+?)\]`", PAGE)
    assert args is not None
    entry = documents()[0]["repos"][0]["hooks"][0]["entry"]
    assert " ".join([HOOKS[0]["entry"], *args[1].split(", ")]) == entry


def test_the_workflow_of_the_page_calls_the_command() -> None:
    steps = documents()[1]["jobs"]["review"]["steps"]
    (line,) = [step["run"] for step in steps if step.get("run", "").startswith("fault ")]
    params = parsed(line).params
    uploaded = next(step["with"]["sarif_file"] for step in steps if "upload-sarif" in step.get("uses", ""))
    assert params["sarif"] == uploaded


def consoles() -> list[tuple[str, str]]:
    """Return command lines of `fault review` and `fault explain`, each with the output on the page."""
    blocks = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)
    runs = [re.split(r"^\$ (.+)\n", block, flags=re.MULTILINE) for block in blocks]
    shown = [pair for run in runs for pair in zip(run[1::2], run[2::2], strict=True)]
    return [(line, output) for line, output in shown if re.match(r"fault (review|explain) ", line)]


@pytest.mark.parametrize(("line", "output"), consoles(), ids=[line for line, _ in consoles()])
def test_the_page_shows_what_commands_print(
    line: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    app = re.search(r"Save this as `app.py`.+?```python\n(.+?)```", PAGE, re.DOTALL)
    assert app is not None
    (tmp_path / "app.py").write_text(app[1])
    code = invoke(shlex.split(line)[1:])
    printed = capsys.readouterr()
    assert (code, printed.out + printed.err) == (2 if output.startswith("error: ") else 0, output)


def test_the_page_shows_both_commands() -> None:
    assert {line.split()[1] for line, _ in consoles()} == {"review", "explain"}


def test_the_page_lists_every_format() -> None:
    formats = PAGE[PAGE.index("### Formats") : PAGE.index("### Loops over numbers")]
    assert tuple(re.findall(r"^\| `([a-z]+)` \|", formats, re.MULTILINE)) == FORMATS


def test_the_job_for_gitlab_writes_the_report_that_it_names() -> None:
    job = documents()[2]["review"]
    line, _, file = job["script"][-1].partition(" > ")
    assert parsed(line).params["output_format"] == "gitlab"
    assert job["artifacts"]["reports"]["codequality"] == file


def test_the_page_lists_every_context() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| [^|]+ \| (?:skipped|counted|the same|rules)", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(CONTEXT_NAMES)


def test_the_page_has_the_limits_of_a_proof() -> None:
    proof = " ".join(PAGE[PAGE.index("## Proof") :].split())
    assert (
        f"a mean time of {TIME.tolerated:g} ms, {UPSTREAM_CONNECTIONS.tolerated:g} upstream connections "
        f"a call, {CPU.tolerated:g} ms of CPU a call, {OPEN_FILES.tolerated:g} open files "
        f"and {MEMORY.tolerated:g} MB."
    ) in proof
    assert UPSTREAM_CALLS.least == UPSTREAM_CONNECTIONS.least
    assert (
        f"a minimum ({TIME.least:g} ms, {UPSTREAM_CALLS.least:g} upstream calls or connections a call, "
        f"{CPU.least:g} ms of CPU a call, {OPEN_FILES.least:g} open files, {MEMORY.least:g} MB)"
    ) in proof
    assert f"at least {ENOUGH} calls of each version" in proof
    assert f"(any answer within {ProofSettings().timeout_s:g} s)" in proof
