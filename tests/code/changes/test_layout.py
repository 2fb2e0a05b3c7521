"""New lines keep the line length of a project, and new imports stand in the right group."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.code.advice.improvement import improve
from faultkit.code.advice.project_settings import project_of
from faultkit.code.changes.project import Project
from faultkit.code.changes.python.layout import wrapped

LINES = {
    "arguments that fit on one line": (
        "    return requests.get(url, headers=headers, params=parameters, auth=AUTH, timeout=30.0).json()",
        "    return requests.get(\n        url, headers=headers, params=parameters, auth=AUTH, timeout=30.0\n"
        "    ).json()",
    ),
    "arguments that do not": (
        "    answer = self.session.request(method, self.base + path, headers=self.headers, json=body, "
        "auth=self.auth, timeout=30.0)",
        "    answer = self.session.request(\n        method,\n        self.base + path,\n"
        "        headers=self.headers,\n        json=body,\n        auth=self.auth,\n"
        "        timeout=30.0,\n    )",
    ),
    "a comma in a text": (
        "    return requests.post('https://example.com/a,b,c', json={'a': 1, 'b': [2, 3]}, timeout=30.0)",
        "    return requests.post(\n"
        "        'https://example.com/a,b,c', json={'a': 1, 'b': [2, 3]}, timeout=30.0\n    )",
    ),
    "a line without brackets": ("x" * 100, "x" * 100),
    "a bracket of another line": (f"    {'x' * 90}), timeout=30.0", f"    {'x' * 90}), timeout=30.0"),
}


@pytest.mark.parametrize(("line", "broken"), LINES.values(), ids=LINES)
def test_a_long_line_is_broken_at_its_last_brackets(line: str, broken: str) -> None:
    assert wrapped(line, 88) == broken
    assert wrapped(line, None) == line
    assert wrapped(line, 200) == line


def test_a_changed_call_keeps_the_line_length_of_the_project() -> None:
    call = "requests.get(url, headers=self.headers, params=parameters, auth=self.auth)"
    head = "import requests\n\n\nclass A:\n    def f(self, url, parameters):\n"
    text = f"{head}        return {call}.status_code\n"
    new = improve(text, "python", None, None, 1.0, project=Project(line_length=88)).new
    assert max(map(len, new.splitlines())) <= 88
    compile(new, "a.py", "exec")


def test_a_new_package_stands_before_the_packages_of_the_project() -> None:
    head = "import requests\n\nimport shop\n\n\n"
    text = f"{head}def f(url):\n    return shop.read(requests.get(url, timeout=5))\n"
    new = improve(text, "python", None, None, 1.0, project=Project(own=frozenset({"shop"}))).new
    assert new.startswith("import requests\nimport tenacity\n\nimport shop\n")


FILES = {
    "ruff": ({"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, {"line_length": 99}),
    "black without a length": ({"pyproject.toml": "[tool.black]\npreview = true\n"}, {"line_length": 88}),
    "flake8": ({"setup.cfg": "[flake8]\nmax-line-length = 79  # narrow\n"}, {"line_length": 79}),
    "an editor": (
        {"package.json": "{}", ".editorconfig": "[*]\nmax_line_length = 72\n"},
        {"line_length": 72},
    ),
    "prettier": ({"package.json": "{}", ".prettierrc": '{"printWidth": 90}'}, {"line_length": 90}),
    "the oldest Python": (
        {"pyproject.toml": '[project]\nrequires-python = ">=3.8,<4"\n'},
        {"python": (3, 8)},
    ),
    "the oldest Node.js": ({"package.json": '{"engines": {"node": ">=18"}}'}, {"node": (18, 0)}),
    "Go": (
        {"go.mod": "module a\n\ngo 1.21\n\nrequire github.com/x/y v1.2.3\n"},
        {"declared": frozenset({"github.com/x/y"}), "declared_in": "go.mod"},
    ),
    "own packages": (
        {"pyproject.toml": "", "src/shop/__init__.py": "", "tool.py": ""},
        {"own": frozenset({"shop", "tool"})},
    ),
    "files that cannot be read": ({"pyproject.toml": "[[[", "setup.cfg": "x", "package.json": "["}, {}),
}


@pytest.mark.parametrize(("files", "wanted"), FILES.values(), ids=FILES)
def test_settings_come_from_the_files_of_the_project(
    tmp_path: Path, files: dict[str, str], wanted: dict[str, object]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = project_of(tmp_path / "a" / "b.py")
    assert {name: getattr(found, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["Requests>=2", "python_dateutil"]\n'),
        ("pyproject.toml", '[tool.poetry.dependencies]\nrequests = "^2"\npython-dateutil = "*"\n'),
        ("setup.cfg", "[options]\ninstall_requires =\n    requests\n    python-dateutil>2\n"),
        ("setup.py", "setup(install_requires=['requests', \"python-dateutil\"])"),
        ("requirements-dev.txt", "# all\nrequests==2.1\npython.dateutil\n-r other.txt\n"),
        ("package.json", '{"dependencies": {"requests": "1"}, "devDependencies": {"python-dateutil": "2"}}'),
    ],
)
def test_dependencies_are_those_that_are_declared(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    project = project_of(tmp_path / "a.py")
    assert (project.lacks("requests"), project.lacks("python-dateutil"), project.lacks("tenacity")) == (
        False,
        False,
        True,
    )
    assert project.declared_in == name


def test_a_dependency_counts_as_soon_as_it_is_declared(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("requests\n")
    assert project_of(tmp_path / "a.py").lacks("tenacity")
    file.write_text("requests\ntenacity\n")
    assert not project_of(tmp_path / "a.py").lacks("tenacity")


def test_a_go_file_knows_the_other_files_of_its_package(tmp_path: Path) -> None:
    for name in ("a.go", "b.go", "c.py"):
        (tmp_path / name).write_text(name)
    assert project_of(tmp_path / "a.go").package == (("b.go", "b.go"),)
    new = {str((tmp_path / "b.go").resolve()): "new"}
    assert project_of(tmp_path / "a.go", new).package == (("b.go", "new"),)
