"""The docs are correct: plans parse, command lines are accepted, examples run, links have targets.

The pages are read as they are. The language of a code block decides how it is checked: yaml, python, and for
command lines bash, console (lines with a `$`) and none.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from faultkit.cli.main import COMMANDS, fault
from faultkit.cli.run import hints, job_of
from faultkit.faults import FAULTS
from faultkit.plan import read_plan
from faultkit.scenario.scenario_file import read_scenarios
from tests.proxy.control.certificates import Certificates

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"
README = PROJECT / "README.md"
CONTRIBUTING = PROJECT / "CONTRIBUTING.md"
PAGES = [README, CONTRIBUTING, PROJECT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
GUIDE = DOCS / "README.md"
FIRST_RUN = DOCS / "run.md"
WALK_THROUGH = DOCS / "adding-a-fault.md"
WRITTEN_BY_BENCH = {DOCS / "benchmarks.md", DOCS / "fidelity.svg"}
PATIENCE_S = 5.0
SHELLS = ("", "bash", "console")


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    language, begin, lines = None, 0, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if language is None and line.startswith("```"):
            language, begin, lines = line[3:].strip(), number, []
        elif language is not None and line.startswith("```"):
            yield Block(page, begin, language, "\n".join(lines) + "\n")
            language = None
        else:
            lines.append(line)
    assert language is None, f"{page.name}:{begin}: a code block without an end"


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def commands_of(block: Block) -> list[str]:
    """Yield the command lines of a block, joined where a backslash continues them."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip()]


def words_of(command: str) -> list[str]:
    """Return the arguments of `fault`, without variables before it and pipes after it; empty for others."""
    begin = re.match(r"(?:[A-Z_]+=\S+ )*fault ?", command)
    if begin is None:
        return []
    words = shlex.split(command[begin.end() :], comments=True)
    return words[: words.index("|")] if "|" in words else words


FAULT_LINES = [
    pytest.param(words, id=f"{block}-{' '.join(words)[:60]}")
    for block in BLOCKS
    if block.language in SHELLS and block.page != WALK_THROUGH
    for command in commands_of(block)
    if (words := words_of(command))
]
YAML = [block for block in BLOCKS if block.language == "yaml"]
SCENARIOS = [block for block in YAML if block.text.startswith("title:")]
EXPERIMENTS = [block for block in YAML if block.page == DOCS / "chaos.md"]
"""Held to their word by tests/cli/test_chaos_docs.py."""
PARTS_OF_SUITES = [block for block in YAML if block.page in (DOCS / "suites.md", DOCS / "metrics.md")]
"""Checked by tests/agents/test_suites_page.py and test_metrics_page.py."""
HOOKS = [block for block in YAML if block.page == DOCS / "code.md"]
"""Checked by tests/cli/test_review_docs.py."""
PLANS = [block for block in YAML if block not in (*SCENARIOS, *EXPERIMENTS, *PARTS_OF_SUITES, *HOOKS)]
SCRIPTS = [block for block in BLOCKS if block.language == "python" and block.page != WALK_THROUGH]


@pytest.fixture
def beside_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the plan.yaml of the docs, without variables of this shell."""
    for name in tuple(os.environ):
        if name.startswith("FAULT_"):
            monkeypatch.delenv(name)
    (tmp_path / "plan.yaml").write_text(_plan_yaml())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _plan_yaml() -> str:
    return next(block.text for block in PLANS if block.page == FIRST_RUN)


def parsed(words: list[str]) -> click.Context:
    """Parse the command line as click does, without running it."""
    ctx = click.Context(fault, info_name="fault")
    name, command, rest = fault.resolve_command(ctx, list(words))
    assert command is not None
    return command.make_context(name, rest, parent=ctx)


@pytest.mark.parametrize("block", PLANS, ids=str)
def test_every_plan_in_the_docs_parses(block: Block) -> None:
    assert read_plan(block.text, str(block)).rules


@pytest.mark.parametrize("block", SCENARIOS, ids=str)
def test_every_scenario_in_the_docs_parses(block: Block) -> None:
    scenarios, problems = read_scenarios(block.text, str(block))
    assert problems == []
    assert scenarios


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_every_python_example_in_the_docs_holds(block: Block) -> None:
    exec(compile(block.text, str(block), "exec"), {"__name__": str(block)})


@pytest.mark.parametrize("words", FAULT_LINES)
@pytest.mark.usefixtures("beside_plan")
def test_every_command_line_in_the_docs_is_accepted(words: list[str]) -> None:
    if {"--control-cert", "--tls-cert"} & set(words):
        Certificates(Path.cwd()).issue("proxy.example")
    ctx = parsed(words)
    if ctx.info_name == "run" and not _shown_to_fail(words):
        assert hints(job_of(ctx)) == []


def _shown_to_fail(words: list[str]) -> bool:
    """Return whether a page shows an error as its output."""
    return any(words_of(command) == words for command, _ in _failures())


def _failures() -> list[tuple[str, str]]:
    texts = [block.text for block in BLOCKS if block.language == "console"]
    found = (re.fullmatch(r"\$ (fault .+)\n(error: .+)\n", text) for text in texts)
    return [(match[1], match[2]) for match in found if match]


@pytest.mark.parametrize(("command", "message"), _failures())
def test_every_error_in_the_docs_is_the_output_of_the_command(
    command: str, message: str, beside_plan: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "faultkit", *words_of(command)],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (2, message + "\n")


def test_the_docs_show_every_command_a_plan_and_an_error() -> None:
    shown = {param.values[0][0] for param in FAULT_LINES}  # type: ignore[index]
    assert {"run", "toxiproxy"} <= shown <= set(COMMANDS)
    assert PLANS
    assert SCRIPTS
    assert _failures()


def _links(page: Path) -> list[str]:
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link]


def _anchors(page: Path) -> set[str]:
    prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_the_docs_lead_somewhere(page: Path) -> None:
    for link in _links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target in WRITTEN_BY_BENCH:
            continue
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def test_the_page_of_faults_matches_the_table() -> None:
    page = runpy.run_path(str(DOCS / "generate.py"))["faults_page"]()
    assert (DOCS / "faults.md").read_text("utf-8") == page, "run `python docs/generate.py`"


def test_the_guide_names_every_fault() -> None:
    table = re.search(r"\n## Faults\n(.+?)\n##", GUIDE.read_text("utf-8"), flags=re.DOTALL)
    assert table is not None
    named = {name for name in re.findall(r"`([a-z_]+)`", table[1]) if name in FAULTS}
    assert named == set(FAULTS)


def test_the_guide_names_every_page() -> None:
    text = GUIDE.read_text("utf-8")
    assert [page.name for page in DOCS.glob("*.md") if page != GUIDE and page.name not in text] == []


def test_the_readme_is_short_and_has_six_jobs() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 100
    jobs = text.partition("## Six jobs")[2].partition("\n## ")[0]
    assert (len(re.findall(r"^\*\*", jobs, flags=re.MULTILINE)), jobs.count("```bash")) == (6, 6)
    pictures = re.findall(r'<img src="([^"]+)"', text)
    assert [(PROJECT / picture).stat().st_size < 100_000 for picture in pictures] == [True]


def test_the_readme_begins_with_the_demo_and_contributors_see_every_target_of_the_makefile() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].split())
    assert targets <= set(" ".join(re.findall(r"^([a-z ]+):", makefile, flags=re.MULTILINE)).split())
    begins = next(block for block in BLOCKS if block.page == README)
    assert commands_of(begins) == ["make demo"]
    shown = [commands_of(block) for block in BLOCKS if block.page == CONTRIBUTING]
    assert {command.split()[1] for command in shown[0]} == targets


def test_the_first_run_prints_what_its_page_shows(closed_port: int) -> None:
    shown = [block.text for block in BLOCKS if block.page == FIRST_RUN and block.language == "console"]
    begin, asked, end = (text.splitlines() for text in shown[:3])
    service = _started([sys.executable, "-m", "examples.service"])
    with service, _ended(service):
        assert service.stdout is not None
        upstream = service.stdout.readline().strip()
        ports = {"34000": str(closed_port), "8080": upstream}
        # The default port of the forward proxy may be taken; the output is the same on any port.
        words = [_with_ports(word, ports) for word in words_of(begin[0].removeprefix("$ "))]
        run = _started([sys.executable, "-m", "faultkit", *words, "--proxy-address", "127.0.0.1:0"])
        with run, _ended(run):
            assert run.stdout is not None
            first = [run.stdout.readline().rstrip("\n") for _ in begin[1:]]
            with urllib.request.urlopen(f"http://127.0.0.1:{closed_port}/", timeout=PATIENCE_S) as reply:
                assert reply.read().decode().splitlines() == asked[1:-1]
            run.send_signal(2)
            last = run.stdout.read().splitlines()
    assert [_without_numbers(line) for line in first] == [_without_numbers(line) for line in begin[1:]]
    assert [_without_numbers(line) for line in last] == [_without_numbers(line) for line in end]


def _started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, encoding="utf-8")


class _ended:
    """End a process at the end of the block, or after a time limit, so that no test hangs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._timer = threading.Timer(4 * PATIENCE_S, process.kill)

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *exc: object) -> None:
        self._timer.cancel()
        self._timer.join()
        self._process.terminate()


def _with_ports(word: str, ports: dict[str, str]) -> str:
    for shown, real in ports.items():
        word = word.replace(shown, real)
    return word


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+(\.\d+)*", "N", line)


def test_the_drawn_delays_are_those_of_the_vocabulary() -> None:
    drawn = re.findall(r'"value":([0-9.]+)', FIRST_RUN.read_text("utf-8"))
    assert len(drawn) == 2
    assert f"== {drawn[0]}\n" in (DOCS / "vocabulary.md").read_text("utf-8")


# The walk-through of a new fault


def _walk_blocks(language: str) -> list[str]:
    return [block.text for block in BLOCKS if block.page == WALK_THROUGH and block.language == language]


@pytest.fixture
def copy_with_new_faults(tmp_path: Path) -> Path:
    """Return a copy of the source to which the page has been applied."""
    shutil.copytree(PROJECT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for text in _walk_blocks("python"):
        name = text.splitlines()[0].removeprefix("# ")
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copy(PROJECT / "tests/faults/call/judged.py", tmp_path / "tests/faults/call/judged.py")
    for patch in _walk_blocks("diff"):
        head, *lines = patch.splitlines()
        table = tmp_path / head.removeprefix("+++ ")
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] == " ")
        after = "".join(f"{line[1:]}\n" for line in lines)
        text = table.read_text("utf-8")
        assert text.count(before) == 1, before
        table.write_text(text.replace(before, after))
    return tmp_path


def _python(copy: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=12 * PATIENCE_S,
    )


def test_the_walk_through_of_a_new_fault_works_as_it_stands(copy_with_new_faults: Path) -> None:
    files = [text.splitlines()[0].removeprefix("# ") for text in _walk_blocks("python")]
    test_files = [file for file in files if file.startswith("tests/")]
    assert len(test_files) == 2
    tests = _python(copy_with_new_faults, "-m", "pytest", "-q", "-p", "no:cacheprovider", *test_files)
    assert tests.returncode == 0, tests.stdout + tests.stderr
    consoles = _walk_blocks("console")
    assert len(consoles) == 2
    for console in consoles:
        command, _, shown = console.partition("\n")
        page = _python(copy_with_new_faults, "-m", "faultkit", *words_of(command.removeprefix("$ ")))
        assert page.stdout == shown
    used = _python(copy_with_new_faults, "-m", "faultkit", "run", "--with-pause", "--pause-after", "x")
    assert "--pause-after: expected a whole number of at least 0, got 'x'" in used.stderr


@pytest.mark.parametrize(
    ("contract", "kind", "count"),
    [
        ("tests/faults/test_contract.py", "pause", 2),
        ("tests/faults/call/test_contract.py", "missing_field", 3),
    ],
)
def test_the_walk_throughs_faults_keep_the_laws_with_any_settings(
    copy_with_new_faults: Path, contract: str, kind: str, count: int
) -> None:
    shutil.copy(PROJECT / contract, copy_with_new_faults / contract)
    done = _python(copy_with_new_faults, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", kind, contract)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} passed" in done.stdout
