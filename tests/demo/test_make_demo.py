"""`make demo`: what it installs, what it shows meanwhile, what it imports, and where it points to."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from examples import demo, demo_setup

from faultkit.cli.main import fault

PROJECT = Path(__file__).parents[2]
NOT_CORE = ("anthropic", "chaoslib", "httpx", "libcst", "mcp", "numpy", "openai", "tree_sitter", "wordllama")


@pytest.mark.parametrize("uv", [None, "/usr/bin/uv"], ids=["pip", "uv"])
def test_it_installs_the_project_without_extras_into_its_own_folder(uv: str | None) -> None:
    (_, make), (_, install) = demo_setup.commands(Path(".venv-demo"), uv)
    assert make[-1] == ".venv-demo"
    assert install[-2:] == ["--editable", "."]
    assert (".venv-demo/bin/python" in install, install[0] == uv) == (True, uv is not None)


def test_a_step_that_fails_prints_its_output_and_ends_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        demo_setup.run("installing", [sys.executable, "-c", "print('no such package'); raise SystemExit(1)"])
    assert str(left.value).startswith("installing failed: ")
    assert capsys.readouterr().out == "no such package\n"


def test_progress_is_the_last_line_and_only_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["Collecting rich\n", "Collecting click>=8.1 (from faultkit==0.1.0)\n", "\n"]
    assert demo_setup.last_line(lines) == "Collecting click>=8.1"
    assert demo_setup.last_line([]) == ""
    demo_setup.run("installing", [sys.executable, "-c", "print('done')"])
    assert capsys.readouterr().out == ""


def test_the_makefile_sets_up_once_and_cleans_up() -> None:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    assert "demo: $(DEMO)/.ready\n" in makefile
    assert re.search(r"^clean:\n\trm -rf .*\$\(DEMO\)", makefile, flags=re.MULTILINE)
    assert ".venv-demo/" in (PROJECT / ".gitignore").read_text("utf-8").splitlines()


def test_it_imports_core_packages_only() -> None:
    code = f"""
import sys
import examples.demo, faultkit.demo.demo_server
from faultkit.cli.main import COMMANDS
COMMANDS["scenario"].load().get_command(None, "run")
print([name for name in {NOT_CORE!r} if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_end_names_the_report_and_commands_that_are_accepted() -> None:
    lines = demo.where_next(Path("report.html"), Path("results.json"))
    assert any(line.endswith("report.html") for line in lines)
    commands = [found[0] for line in lines if (found := re.search(r"\S*/?bin/fault .+", line))]
    assert len(commands) == 2
    for command in commands:
        ctx = fault.make_context("fault", ["--log-level", "off"])
        name, chosen, rest = fault.resolve_command(ctx, shlex.split(command)[1:])
        assert chosen is not None
        assert chosen.make_context(name, rest, parent=ctx).info_name == name
