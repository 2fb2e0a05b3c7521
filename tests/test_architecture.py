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
    "base": 0,
    "faults": 1,
    "plan": 2,
    "report": 2,
    "proxy": 3,
    "demo": 4,
    "llm": 4,
    "load": 4,
    "mcp": 4,
    "audit": 5,
    "scenario": 5,
    "agents": 6,
    "chaos": 6,
    "code": 6,
    "agent_tools": 7,
    "web": 7,
    "cli": 8,
    "__main__": 9,
    "testing": 9,
}
"""The first part of a module's name below `faultkit`, and how high it stands; `""` is the package itself."""

PURE = (
    "base/errors.py",
    "base/documents/jsonc.py",
    "base/rng.py",
    "base/units.py",
    "llm/ask/budget.py",
    "llm/ask/client.py",
    "llm/ask/extract.py",
    "llm/ask/failure.py",
    "llm/ask/prompt.py",
    "llm/ask/prompts.py",
    "llm/ask/redact.py",
    "llm/ask/schema.py",
    "llm/ask/schemas.py",
    "llm/ask/settings.py",
    "code/advice/analysis.py",
    "code/advice/answers.py",
    "code/advice/applying.py",
    "code/advice/changes.py",
    "code/advice/engine.py",
    "code/advice/explaining.py",
    "code/advice/inputs.py",
    "code/advice/parsing.py",
    "code/promql/*",
    "code/advice/proposal.py",
    "code/advice/score.py",
    "code/slos/*",
    "code/advice/threats.py",
    "chaos/effects/instant.py",
    "chaos/experiment/plain.py",
    "chaos/experiment/variables.py",
    "chaos/outcome.py",
    "chaos/toolkit/messages.py",
    "chaos/toolkit/strategies.py",
    "chaos/toolkit/verdict.py",
    "mcp/probe/servers/arguments.py",
    "mcp/probe/servers/judge.py",
    "mcp/probe/servers/model.py",
    "mcp/probe/servers/report.py",
    "mcp/probe/servers/seen.py",
    "faults/*",
    "llm/*",
    "load/*",
    "mcp/gateway/parameter_headers.py",
    "mcp/gateway/splice.py",
    "mcp/gateway/tee.py",
    "mcp/hosts/wrap.py",
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
    "mcp/probe/clients/battery.py",
    "mcp/probe/clients/conduct.py",
    "mcp/probe/clients/journal.py",
    "mcp/probe/clients/report.py",
    "proxy/active.py",
    "base/address.py",
    "proxy/budget.py",
    "proxy/face.py",
    "proxy/happenings.py",
    "proxy/http/*",
    "proxy/lane.py",
    "proxy/lateness.py",
    "proxy/control/leases.py",
    "proxy/plain.py",
    "proxy/snapshot.py",
    "proxy/spec.py",
    "agents/recovery/*",
    "report/*",
    "scenario/*",
    "code/*",
    "agents/__init__.py",
    "agents/kinds/__init__.py",
    "agents/kinds/agent.py",
    "agents/kinds/endpoints.py",
    "agents/kinds/prices.py",
    "agents/kinds/shipped.py",
    "agents/kinds/step.py",
    "agents/kinds/tool_arguments.py",
    "agents/kinds/turns.py",
    "agents/coverage.py",
    "agents/execute/__init__.py",
    "agents/execute/budget.py",
    "agents/first.py",
    "agents/gate.py",
    "agents/matchers/*",
    "agents/model.py",
    "agents/parse/*",
    "agents/ranking.py",
    "agents/result.py",
    "agents/schema.py",
    "agents/select.py",
    "agents/shrink.py",
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
    "scenario/report/files.py",
    "scenario/file.py",
    "scenario/measure.py",
    "scenario/openapi/*",
    "scenario/run.py",
    "code/__init__.py",
    "code/extract.py",
    "code/file.py",
    "code/rules/review.py",
    "code/index/__init__.py",
    "code/index/edge_store.py",
    "code/index/embeddings.py",
    "code/index/indexer.py",
    "code/index/lock.py",
    "code/index/prepare.py",
    "code/index/search.py",
    "code/index/server_store.py",
    "code/index/store.py",
    "code/walk.py",
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
    "anthropic": ("llm/ask/*", "agents/kinds/anthropic_dialect.py"),
    "anyio": ("demo/calls.py", "agent_tools/*"),
    "asyncio": (
        "audit/access/*",
        "chaos/*",
        "demo/*",
        "mcp/probe/servers/*",
        "mcp/*",
        "mcp/probe/clients/*",
        "proxy/control/server.py",
        "proxy/toxiproxy/*",
        "agent_tools/*",
        "agents/*",
        "testing/*",
        "web/*",
    ),
    "chaoslib": ("chaos/toolkit/*",),
    "click": ("cli/*",),
    "httptools": ("load/answer.py", "mcp/wire/*"),
    "httpx": ("demo/calls.py",),
    "hypothesis": ("testing/*",),
    "jsonpath2": ("chaos/experiment/*",),
    "jwt": ("audit/access/issuer.py", "audit/access/oidc.py"),
    "libcst": ("code/changes/*",),
    "mcp": ("agent_tools/*",),
    "mcp_types": ("agent_tools/*",),
    "openai": ("llm/ask/*", "agents/kinds/openai_dialect.py"),
    "pathspec": ("code/walk.py",),
    "pickle": ("base/child_process.py",),
    "pytest": ("chaos/fixture.py", "agents/plugin.py"),
    "qdrant_client": ("code/index/server_store.py",),
    "qdrant_edge": ("code/index/edge_store.py",),
    "re2": ("mcp/mock/operators.py",),
    "rich": ("cli/*",),
    "sqlalchemy": ("audit/*",),
    "ssl": (
        "chaos/undoing.py",
        "demo/calls.py",
        "base/http/client.py",
        "proxy/middle.py",
        "proxy/tls.py",
    ),
    "starlette": ("demo/*", "proxy/control/server.py", "proxy/toxiproxy/*", "agent_tools/*"),
    "tree_sitter": ("code/*",),
    "uvicorn": (
        "code/proof/runner.py",
        "demo/*",
        "proxy/control/server.py",
        "proxy/toxiproxy/*",
        "agent_tools/*",
    ),
    "wordllama": ("code/index/embeddings.py",),
}
"""Where alone a package may be imported."""

APIS = ("proxy/control/server.py", "proxy/control/protocol.py", "proxy/toxiproxy/*")
READS_THE_WALL_CLOCK = {
    "proxy/control/protocol.py": "tells users when a lease ends",
    "scenario/run.py": "a report says when it was made",
    "base/times.py": "a row of the audit log says when its call began",
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
    assert _importers("agent_tools") <= {"agent_tools", "cli"}


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
