"""What a user is told about a package that is missing, by the program that installed Faultkit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from faultkit.base import installation
from faultkit.base.errors import InputError
from faultkit.base.extras import EXTRAS, Package
from faultkit.base.installation import (
    Installer,
    MissingExtra,
    explain_import,
    install_command,
    installer,
    require_extra,
)

ACTIVE = {"VIRTUAL_ENV": sys.prefix}
ELSEWHERE = {"VIRTUAL_ENV": "/somewhere/else"}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hide packages, and let pip be the program that installed Faultkit from a registry."""

    def hide(*names: str) -> None:
        monkeypatch.setattr(installation, "is_installed", lambda package: package.name not in names)

    monkeypatch.setattr(installation, "installer", lambda: "pip")
    monkeypatch.setattr(installation, "_source", dict)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    return hide


@pytest.mark.parametrize(
    ("by", "env", "command"),
    [
        ("pip", ACTIVE, "pip install 'faultkit[code]'"),
        ("pip", ELSEWHERE, f"{sys.executable} -m pip install 'faultkit[code]'"),
        ("uv", ACTIVE, "uv pip install 'faultkit[code]'"),
        ("uv", ELSEWHERE, f"uv pip install --python {sys.executable} 'faultkit[code]'"),
        ("pipx", ELSEWHERE, "pipx install --force 'faultkit[llm,code]'"),
        ("uv tool", ELSEWHERE, "uv tool install --force 'faultkit[llm,code]'"),
    ],
)
def test_the_command_is_that_of_the_installer(
    by: Installer, env: dict[str, str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipx and `uv tool` replace the environment: the extras that are there are named again."""
    there = EXTRAS["llm"].packages
    monkeypatch.setattr(installation, "is_installed", lambda package: package in there)
    assert install_command("code", by=by, source={}, env=env) == command


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ({}, "'faultkit[code]'"),
        ({"url": "file:///home/me/fault%20kit", "dir_info": {}}, "'/home/me/fault kit[code]'"),
        ({"url": "file:///src/faultkit", "dir_info": {"editable": True}}, "-e '/src/faultkit[code]'"),
        (
            {"url": "https://git.test/f.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}},
            "'faultkit[code] @ git+https://git.test/f.git@v1'",
        ),
        (
            {"url": "https://git.test/f.git", "vcs_info": {"vcs": "git"}, "subdirectory": "python"},
            "'faultkit[code] @ git+https://git.test/f.git#subdirectory=python'",
        ),
        (
            {"url": "file:///tmp/faultkit-1-py3-none-any.whl", "archive_info": {}},
            "'faultkit[code] @ file:///tmp/faultkit-1-py3-none-any.whl'",
        ),
    ],
)
def test_an_extra_comes_from_where_faultkit_came_from(source: dict[str, object], what: str) -> None:
    assert install_command("code", by="pip", source=source, env=ACTIVE) == f"pip install {what}"


def test_without_an_extra_the_command_installs_the_core() -> None:
    assert install_command(by="pip", source={}, env=ACTIVE) == "pip install faultkit"


@pytest.mark.parametrize(
    ("file", "content", "name"),
    [
        ("pipx_metadata.json", "{}", "pipx"),
        ("uv-receipt.toml", "", "uv tool"),
        ("pyvenv.cfg", "home = /usr/bin\nuv = 0.9.1\n", "uv"),
        ("pyvenv.cfg", "home = /usr/bin\nversion = 3.12.1\n", "pip"),
        ("nothing", "", "pip"),
    ],
)
def test_the_installer_is_told_by_the_files_of_the_environment(
    file: str, content: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(content)
    assert installer(tmp_path) == name


def test_a_missing_package_of_an_extra_is_one_sentence(without: Any) -> None:
    without("tree-sitter")
    error = explain_import(ModuleNotFoundError("no", name="tree_sitter"), "fault review")
    assert isinstance(error, MissingExtra)
    assert isinstance(error, InputError)
    assert str(error) == (
        'fault review needs the extra "code" (read, review and change source code), which is not installed: '
        "pip install 'faultkit[code]'"
    )
    assert error.exit_code == 2


def test_a_command_that_needs_more_names_the_extra_that_brings_all(without: Any) -> None:
    without("tree-sitter")
    missing = ModuleNotFoundError("no", name="tree_sitter")
    assert str(explain_import(missing, "fault index", "index")).endswith(": pip install 'faultkit[index]'")
    assert str(explain_import(missing, "fault x", "llm")).endswith(": pip install 'faultkit[code]'")


def test_a_missing_package_of_the_core_is_one_sentence(without: Any) -> None:
    without("PyYAML")
    error = explain_import(ModuleNotFoundError("no", name="yaml"), "fault run")
    assert str(error) == "fault run needs PyYAML, which is not installed: pip install faultkit"


def test_an_old_package_is_named_with_its_version(without: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without()
    monkeypatch.setattr(installation, "installed_version", lambda package: "1.9.4")
    error = explain_import(ImportError("cannot import name", name="mcp.server.caching"), "fault agent tool")
    wanted = "mcp 2.3 or newer, below 3, got 1.9.4"
    assert str(error) == f"fault agent tool needs {wanted}: pip install 'faultkit[agent]'"


@pytest.mark.parametrize("name", ["my_app", "yaml", None])
def test_other_import_errors_stay_as_they_are(name: str | None) -> None:
    assert explain_import(ImportError("no", name=name), "fault run") is None


def test_an_extra_can_be_required_beforehand(without: Any) -> None:
    require_extra("toolkit", "it")
    without("chaostoolkit-lib")
    with pytest.raises(
        MissingExtra, match=r'^it needs the extra "toolkit" \(run experiments of Chaos Toolkit\)'
    ):
        require_extra("toolkit", "it")


def test_a_package_is_looked_for_without_importing_it() -> None:
    assert installation.is_installed(Package("PyYAML", "6", ("yaml",)))
    assert not installation.is_installed(Package("none", "1", ("no_such_module",)))
    assert installation.installed_version(Package("none-such", "1", ("none",))) is None
