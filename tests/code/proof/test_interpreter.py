"""The interpreter of a project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faultkit.code.proof.interpreter import interpreter_of


def environment_at(folder: Path) -> str:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return str(python)


def test_a_service_is_run_by_the_interpreter_of_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "project" / "app" / "app.py"
    file.parent.mkdir(parents=True)
    assert interpreter_of(file, None, {}) == sys.executable
    active = environment_at(tmp_path / "active")
    assert interpreter_of(file, None, {"VIRTUAL_ENV": str(tmp_path / "active")}) == active
    own = environment_at(tmp_path / "project" / ".venv")
    assert interpreter_of(file, None, {"VIRTUAL_ENV": str(tmp_path / "active")}) == own
    monkeypatch.chdir(tmp_path / "project")
    assert interpreter_of(file, ".venv/bin/python", {}) == own
    assert interpreter_of(file, "python3.12", {}) == "python3.12"


def test_an_environment_of_uv_or_conda_is_used(tmp_path: Path) -> None:
    file = tmp_path / "project" / "src" / "app.py"
    file.parent.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    conda = environment_at(tmp_path / "conda")
    assert interpreter_of(file, None, {"CONDA_PREFIX": str(tmp_path / "conda")}) == conda
    own = environment_at(tmp_path / "project" / "env" / "uv")
    env = {"CONDA_PREFIX": str(tmp_path / "conda"), "UV_PROJECT_ENVIRONMENT": "env/uv"}
    assert interpreter_of(file, None, env) == own


@pytest.mark.parametrize(
    ("lock", "program"), [("poetry.lock", "poetry"), ("Pipfile", "pipenv"), ("pdm.lock", "pdm")]
)
def test_a_tool_that_keeps_environments_elsewhere_is_asked(tmp_path: Path, lock: str, program: str) -> None:
    file = tmp_path / "project" / "app.py"
    file.parent.mkdir()
    (tmp_path / "project" / lock).touch()
    own = environment_at(tmp_path / "elsewhere")
    tool = tmp_path / "bin" / program
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho 'Using an environment' >&2\necho {own}\n")
    env = {"PATH": f"{tool.parent}:/bin:/usr/bin"}
    assert interpreter_of(file, None, env) == sys.executable, "the tool cannot be executed"
    tool.chmod(0o755)
    assert interpreter_of(file, None, env) == own
    tool.write_text("#!/bin/sh\necho 'no environment'; exit 1\n")
    assert interpreter_of(file, None, env) == sys.executable
