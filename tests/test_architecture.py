"""The laws of docs/architecture.md, read off the source: who may import what, and how files look."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import faultkit

PACKAGE = Path(faultkit.__file__).parent
PROJECT = Path(__file__).parent.parent
MOST_LINES = 500

LAYERS: dict[str, int] = {
    "": 0,
    "errors": 0,
    "jsonc": 0,
    "rng": 0,
    "units": 0,
    "process": 1,
    "faults": 1,
    "plan": 2,
    "eventloop": 2,
    "proxy": 3,
    "source": 4,
    "mcp": 4,
    "llm": 4,
    "load": 4,
    "demo": 4,
    "report": 5,
    "recovery": 5,
    "store": 5,
    "access": 6,
    "scenario": 6,
    "advice": 7,
    "chaos": 7,
    "edge": 7,
    "profile": 7,
    "suites": 7,
    "servers": 8,
    "web": 8,
    "cli": 9,
    "__main__": 10,
    "testing": 10,
}
"""The first part of a module's name below `faultkit`, and how high it stands; `""` is the package itself."""

PURE = (
    "errors.py",
    "jsonc.py",
    "rng.py",
    "units.py",
    "advice/llm/budget.py",
    "advice/llm/client.py",
    "advice/llm/extract.py",
    "advice/llm/failure.py",
    "advice/llm/prompt.py",
    "advice/llm/prompts.py",
    "advice/llm/redact.py",
    "advice/llm/schema.py",
    "advice/llm/schemas.py",
    "advice/llm/settings.py",
    "advice/analysis.py",
    "advice/answers.py",
    "advice/applying.py",
    "advice/changes.py",
    "advice/engine.py",
    "advice/explaining.py",
    "advice/inputs.py",
    "advice/parsing.py",
    "advice/promql/*",
    "advice/proposal.py",
    "advice/score.py",
    "advice/slos/*",
    "advice/threats.py",
    "chaos/effects/instant.py",
    "chaos/experiment/plain.py",
    "chaos/experiment/variables.py",
    "chaos/outcome.py",
    "chaos/toolkit/messages.py",
    "chaos/toolkit/strategies.py",
    "chaos/toolkit/verdict.py",
    "edge/arguments.py",
    "edge/judge.py",
    "edge/model.py",
    "edge/report.py",
    "edge/seen.py",
    "faults/*",
    "llm/*",
    "load/*",
    "mcp/gateway/parameter_headers.py",
    "mcp/gateway/splice.py",
    "mcp/gateway/tee.py",
    "mcp/gateway/wrap.py",
    "mcp/injector.py",
    "mcp/mock/*",
    "mcp/specs.py",
    "mcp/targets.py",
    "mcp/wire/era.py",
    "mcp/wire/lines.py",
    "mcp/wire/members.py",
    "mcp/wire/message.py",
    "mcp/wire/sse.py",
    "plan/*",
    "profile/battery.py",
    "profile/conduct.py",
    "profile/journal.py",
    "profile/report.py",
    "proxy/active.py",
    "proxy/address.py",
    "proxy/budget.py",
    "proxy/face.py",
    "proxy/happenings.py",
    "proxy/http/*",
    "proxy/lane.py",
    "proxy/lateness.py",
    "proxy/leases.py",
    "proxy/plain.py",
    "proxy/snapshot.py",
    "proxy/spec.py",
    "recovery/*",
    "report/*",
    "scenario/*",
    "source/*",
    "suites/__init__.py",
    "suites/agents/__init__.py",
    "suites/agents/agent.py",
    "suites/agents/endpoints.py",
    "suites/agents/prices.py",
    "suites/agents/shipped.py",
    "suites/agents/step.py",
    "suites/agents/tool_arguments.py",
    "suites/agents/turns.py",
    "suites/coverage.py",
    "suites/execute/__init__.py",
    "suites/execute/budget.py",
    "suites/first.py",
    "suites/gate.py",
    "suites/matchers/*",
    "suites/model.py",
    "suites/parse/*",
    "suites/ranking.py",
    "suites/result.py",
    "suites/schema.py",
    "suites/select.py",
    "suites/shrink.py",
)
EDGES = (
    "load/__main__.py",
    "load/askers.py",
    "load/connection.py",
    "load/engine.py",
    "load/once.py",
    "load/recorder.py",
    "load/segment.py",
    "load/sockets.py",
    "load/workers.py",
    "mcp/mock/file.py",
    "mcp/mock/run.py",
    "mcp/mock/service.py",
    "report/files.py",
    "scenario/file.py",
    "scenario/measure.py",
    "scenario/openapi/*",
    "scenario/run.py",
    "source/__init__.py",
    "source/extract.py",
    "source/file.py",
    "source/findings/review.py",
    "source/index/__init__.py",
    "source/index/edge_store.py",
    "source/index/embeddings.py",
    "source/index/indexer.py",
    "source/index/lock.py",
    "source/index/prepare.py",
    "source/index/search.py",
    "source/index/server_store.py",
    "source/index/store.py",
    "source/walk.py",
)
"""In packages that are pure otherwise: those that wait, read or tell the time, and what is built on them."""
READS_A_FILE = "plan/file.py"
IMPURE = {
    "asyncio",
    "concurrent",
    "datetime",
    "multiprocessing",
    "random",
    "secrets",
    "select",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
}
FILES = {"io", "os", "pathlib", "shutil", "sys", "tempfile"}

HOMES: dict[str, tuple[str, ...]] = {
    "anthropic": ("advice/llm/*", "suites/agents/anthropic_dialect.py"),
    "anyio": ("demo/calls.py", "servers/*"),
    "asyncio": (
        "access/*",
        "chaos/*",
        "demo/*",
        "edge/*",
        "mcp/*",
        "profile/*",
        "proxy/control.py",
        "proxy/toxiproxy/*",
        "servers/*",
        "suites/*",
        "testing/*",
        "web/*",
    ),
    "chaoslib": ("chaos/toolkit/*",),
    "click": ("cli/*",),
    "httptools": ("load/answer.py", "mcp/wire/*"),
    "httpx": ("demo/calls.py",),
    "hypothesis": ("testing/*",),
    "jsonpath2": ("chaos/experiment/*",),
    "jwt": ("access/issuer.py", "access/oidc.py"),
    "libcst": ("source/changes/*",),
    "mcp": ("servers/*",),
    "mcp_types": ("servers/*",),
    "openai": ("advice/llm/*", "suites/agents/openai_dialect.py"),
    "pathspec": ("source/walk.py",),
    "pickle": ("process.py",),
    "pytest": ("chaos/fixture.py", "suites/plugin.py"),
    "qdrant_client": ("source/index/server_store.py",),
    "qdrant_edge": ("source/index/edge_store.py",),
    "re2": ("mcp/mock/operators.py",),
    "rich": ("cli/*",),
    "sqlalchemy": ("store/*",),
    "ssl": (
        "chaos/undoing.py",
        "demo/calls.py",
        "mcp/wire/http/client.py",
        "proxy/middle.py",
        "proxy/tls.py",
    ),
    "starlette": ("demo/*", "proxy/control.py", "proxy/toxiproxy/*", "servers/*"),
    "tree_sitter": ("source/*",),
    "uvicorn": ("advice/proof/runner.py", "demo/*", "proxy/control.py", "proxy/toxiproxy/*", "servers/*"),
    "wordllama": ("source/index/embeddings.py",),
}
"""Where alone a package may be imported."""

APIS = ("proxy/control.py", "proxy/control_terms.py", "proxy/toxiproxy/*")
READS_THE_WALL_CLOCK = {
    "proxy/control_terms.py": "tells users when a lease ends",
    "scenario/run.py": "a report says when it was made",
    "store/times.py": "a row of the audit log says when its call began",
}

FILES_OF_PACKAGE = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def sources() -> dict[str, ast.Module]:
    """Not when this file is imported: every process that collects tests would have to wait for it."""
    return {source: ast.parse(path.read_text("utf-8")) for source, path in FILES_OF_PACKAGE.items()}


def module_of(source: str) -> str:
    parts = ["faultkit", *Path(source).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(source): source for source in FILES_OF_PACKAGE}


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in a file: in functions and for type checking, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test can read them"
            assert node.module is not None
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else node.module


@cache
def imports() -> dict[str, list[str]]:
    return {source: sorted(set(imports_of(tree))) for source, tree in sources().items()}


def is_in(source: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(source, pattern) for pattern in patterns)


def is_pure(source: str) -> bool:
    return is_in(source, PURE) and not is_in(source, EDGES)


def layer_of(module: str) -> str:
    return [*module.split("."), ""][1]


def test_every_part_of_the_package_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)


def test_imports_go_upward_only() -> None:
    wrong = [
        f"{source} imports {name}"
        for source, names in imports().items()
        for name in names
        if name in MODULES and LAYERS[layer_of(name)] > LAYERS[layer_of(module_of(source))]
    ]
    assert wrong == []


def test_every_import_of_the_package_is_a_module_that_exists() -> None:
    ours = {name for names in imports().values() for name in names if name.split(".")[0] == "faultkit"}
    assert ours <= set(MODULES)


def test_nothing_imports_the_testing_helpers_but_they_themselves() -> None:
    assert _importers("testing") <= {"testing"}


def test_nothing_imports_the_command_line_but_itself_and_the_entry() -> None:
    assert _importers("cli") <= {"cli", "__main__"}


def test_the_faces_do_not_know_each_other() -> None:
    assert _importers("web") <= {"web", "cli"}
    assert _importers("servers") <= {"servers", "cli"}


def _importers(layer: str) -> set[str]:
    return {
        layer_of(module_of(source))
        for source, names in imports().items()
        if any(name in MODULES and layer_of(name) == layer for name in names)
    }


def test_pure_modules_import_nothing_that_waits_reads_or_tells_the_time() -> None:
    wrong = [
        f"{source} imports {name}"
        for source, names in imports().items()
        if is_pure(source)
        for name in names
        if name.split(".")[0] in (IMPURE if source == READS_A_FILE else IMPURE | FILES)
    ]
    assert wrong == []


def test_pure_modules_import_pure_modules_only() -> None:
    wrong = [
        f"{source} imports {name}"
        for source, names in imports().items()
        if is_pure(source)
        for name in names
        if name in MODULES and name != "faultkit" and not is_pure(MODULES[name])
    ]
    assert wrong == []


def test_only_one_pure_module_opens_files() -> None:
    openers = {
        source
        for source, tree in sources().items()
        if is_pure(source)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "open")
            or (isinstance(node.func, ast.Attribute) and node.func.attr in ("read_text", "read_bytes"))
        )
    }
    assert openers == {READS_A_FILE}


@pytest.mark.parametrize(("package", "homes"), HOMES.items(), ids=HOMES)
def test_a_package_is_imported_only_where_it_is_at_home(package: str, homes: tuple[str, ...]) -> None:
    users = {
        source for source, names in imports().items() if any(name.split(".")[0] == package for name in names)
    }
    assert {source for source in users if not is_in(source, homes)} == set()
    assert users, f"nothing imports {package} any more: take it off the list"


def test_the_data_plane_does_not_know_the_apis_that_steer_it() -> None:
    wrong = [
        f"{source} imports {name}"
        for source, names in imports().items()
        if source.startswith("proxy/") and not is_in(source, APIS)
        for name in names
        if name in MODULES and is_in(MODULES[name], APIS)
    ]
    assert wrong == []


def test_chance_comes_from_the_seed_only() -> None:
    assert [source for source, names in imports().items() if "random" in names] == []


def test_the_wall_clock_is_read_only_where_a_user_is_told_the_time() -> None:
    readers = {source for source, tree in sources().items() for node in ast.walk(tree) if _reads_clock(node)}
    assert readers == set(READS_THE_WALL_CLOCK)


def _reads_clock(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return (node.value.id, node.attr) in {("time", "time"), ("time", "time_ns"), ("datetime", "now")}
    if isinstance(node, ast.ImportFrom) and node.module == "time":
        return any(alias.name in ("time", "time_ns") for alias in node.names)
    return False


def test_no_file_is_too_long() -> None:
    files = [path for folder in ("src", "tests", "bench", "examples", "docs") for path in _python(folder)]
    long = {
        str(path.relative_to(PROJECT)): lines
        for path in files
        if (lines := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}


def _python(folder: str) -> list[Path]:
    return [path for path in (PROJECT / folder).rglob("*.py") if not {"node_modules", "out"} & {*path.parts}]


def test_every_module_says_what_it_owns() -> None:
    silent = [source for source, tree in sources().items() if tree.body and not ast.get_docstring(tree)]
    assert silent == []
