"""The laws of docs/architecture.md, read off the source: who may import what, and how files look."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import faultkit

PACKAGE = Path(faultkit.__file__).parent
PROJECT = Path(__file__).parent.parent
MOST_LINES = 500
LEAST_LINES = 30

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
"""The first part of a module's name below `faultkit`, and its layer; `""` is the package itself."""
MOST_PACKAGES = 18

PURE = (
    "agents/matchers/*",
    "agents/recovery/*",
    "base/address.py",
    "base/code_secrets.py",
    "base/documents/*",
    "base/errors.py",
    "base/extras.py",
    "base/framing.py",
    "base/histogram.py",
    "base/numbers.py",
    "base/patterns.py",
    "base/program_output.py",
    "base/quoted_values.py",
    "base/rng.py",
    "base/sample_statistics.py",
    "base/secret_names.py",
    "base/secrets.py",
    "base/text.py",
    "base/units.py",
    "chaos/report/*",
    "chaos/steps/json_path.py",
    "code/changes/*",
    "code/facts/*",
    "code/languages/*",
    "code/rules/performance/*",
    "code/rules/reliability/*",
    "code/rules/vocabulary/*",
    "code/slos/*",
    "faults/*",
    "llm/profile/cases.py",
    "llm/profile/evidence.py",
    "llm/profile/judging.py",
    "load/doubts.py",
    "load/impact.py",
    "load/item_figures.py",
    "load/item_summary.py",
    "load/kubernetes/manifests.py",
    "load/kubernetes/pod_settings.py",
    "load/kubernetes/pod_states.py",
    "load/load.py",
    "load/samples.py",
    "load/search/*",
    "load/slo.py",
    "load/summary.py",
    "load/tally.py",
    "mcp/wire/era.py",
    "mcp/wire/message.py",
    "plan/*",
    "proxy/active_plan.py",
    "proxy/data_plane.py",
    "proxy/filter_chain.py",
    "proxy/http/*",
    "proxy/plane_events.py",
    "report/*",
    "scenario/report/*_rules.py",
    "scenario/report/review.py",
    "scenario/report/search_*.py",
)
"""Files that import, directly or through others, nothing that waits, reads, writes or tells the time."""
READS_A_FILE = "plan/plan_file.py"
"""Does not count against its importers: the facade `faultkit.plan` re-exports it."""
IMPURE = {
    "asyncio",
    "concurrent",
    "datetime",
    "io",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
}

HOMES: dict[str, tuple[str, ...]] = {
    "anthropic": ("llm/*",),
    "anyio": ("agent_tools/*",),
    "chaoslib": ("chaos/experiment/toolkit_child.py",),
    "click": ("cli/*",),
    "cryptography": ("base/leaf_certificates.py", "base/local_authority.py", "base/trust_files.py"),
    "distributed": ("load/dask_place.py",),
    "h2": ("proxy/http2/*",),
    "httptools": ("base/http/*", "load/*"),
    "hypothesis": ("testing/*",),
    "jsonpath2": ("chaos/steps/json_path.py",),
    "jwt": ("audit/access/*",),
    "kubernetes": ("load/kubernetes/cluster_api.py",),
    "libcst": ("code/changes/*",),
    "mcp": ("agent_tools/*",),
    "mcp_types": ("agent_tools/*",),
    "openai": ("llm/*",),
    "pathspec": ("code/*",),
    "pickle": ("base/child_process.py",),
    "promql_parser": ("code/slos/*",),
    "pytest": ("agents/plugin.py", "chaos/fixture.py", "llm/profile/fixture.py"),
    "qdrant_client": ("code/index/*",),
    "qdrant_edge": ("code/index/*",),
    "re2": ("base/patterns.py",),
    "rich": ("cli/*",),
    "sqlalchemy": ("audit/*",),
    "starlette": ("agent_tools/*", "demo/*", "proxy/control/*", "proxy/toxiproxy/*"),
    "tree_sitter": ("code/*",),
    "uvicorn": ("base/http/asgi_server.py", "code/proof/*", "proxy/control/*", "proxy/toxiproxy/*"),
    "wsproto": ("proxy/websocket/*",),
    "wordllama": ("code/index/*",),
}
"""The only places where a package may be imported."""

OWNERS: dict[str, tuple[str, ...]] = {
    "create_default_context": ("base/certificates.py",),
    "get_close_matches": ("base/text.py",),
    "os.killpg": ("base/process_group.py",),
    "signal.signal": ("base/child_process.py", "base/signals.py"),
    "add_signal_handler": ("base/signals.py",),
    "os.replace": ("base/files.py",),
    "sarif-schema": ("report/sarif.py",),
}
"""Small things that exist once: a text, and the files of `src` that may hold it."""

APIS = ("proxy/control/*", "proxy/toxiproxy/*")
READS_THE_WALL_CLOCK = {
    "base/times.py": "rows of logs and reports say when something happened",
    "proxy/control/control_core.py": "tells users when a lease ends",
    "scenario/scenario_run.py": "a report says when it was made",
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
    return is_in(source, PURE)


def layer_of(module: str) -> str:
    return [*module.split("."), ""][1]


def test_every_part_of_the_package_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)


def test_there_are_few_packages() -> None:
    packages = [path for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    assert len(packages) <= MOST_PACKAGES


def test_there_is_no_circle_of_files() -> None:
    arrows = {module_of(source): {*names} & {*MODULES} for source, names in imports().items()}
    assert circle({module: names - {module} for module, names in arrows.items()}) == []


def test_there_is_no_circle_of_folders() -> None:
    """An `__init__` that re-exports names of its sub-packages is a facade, and does not count."""
    arrows: dict[str, set[str]] = {}
    for source, names in imports().items():
        folder = str(Path(source).parent)
        if Path(source).name == "__init__.py" or folder == ".":
            continue
        targets = {
            str(Path(MODULES[name]).parent) for name in names if name in MODULES and name != "faultkit"
        }
        arrows.setdefault(folder, set()).update(targets - {folder})
    assert circle(arrows) == []


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Return nodes that each lead to the next and end where they begin, if there are such."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def test_imports_go_down_only() -> None:
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


@cache
def impure_files() -> dict[str, str]:
    """Return the files that reach something impure, each with the import that leads to it."""
    found = {
        source: name
        for source, names in imports().items()
        if source != READS_A_FILE
        for name in names
        if name.split(".")[0] in IMPURE
    }
    grows = True
    while grows:
        grows = False
        for source, names in imports().items():
            if source in found or source == READS_A_FILE:
                continue
            via = next((name for name in names if name != "faultkit" and MODULES.get(name) in found), None)
            if via is not None:
                found[source] = via
                grows = True
    return found


def test_pure_modules_reach_nothing_that_waits_reads_or_tells_the_time() -> None:
    assert {source: via for source, via in impure_files().items() if is_pure(source)} == {}


def test_every_pattern_of_the_lists_matches_a_file() -> None:
    listed = [*PURE, *APIS, *(home for homes in HOMES.values() for home in homes)]
    listed += [owner for owners in OWNERS.values() for owner in owners]
    assert [
        pattern for pattern in listed if not any(is_in(source, (pattern,)) for source in MODULES.values())
    ] == []


def test_pure_modules_open_no_files() -> None:
    openers = {
        source
        for source, tree in sources().items()
        if is_pure(source) and source != READS_A_FILE
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == "open")
            or (isinstance(node.func, ast.Attribute) and node.func.attr in ("read_text", "read_bytes"))
        )
    }
    assert openers == set()


@pytest.mark.parametrize(("text", "owners"), OWNERS.items(), ids=OWNERS)
def test_each_small_thing_has_one_owner(text: str, owners: tuple[str, ...]) -> None:
    holders = {
        source
        for source, path in FILES_OF_PACKAGE.items()
        # Rules name the calls that they look for.
        if (source in owners or not source.startswith("code/rules/")) and text in path.read_text("utf-8")
    }
    assert holders == set(owners)


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


def test_a_file_name_stands_at_most_three_times() -> None:
    names = Counter(Path(source).name for source in FILES_OF_PACKAGE)
    assert {name: times for name, times in names.items() if times > 3 and name != "__init__.py"} == {}


def test_no_file_of_the_package_looks_like_a_test() -> None:
    assert [source for source in FILES_OF_PACKAGE if source.endswith("_test.py")] == []


def test_no_file_is_a_shard() -> None:
    """One fault and one rule a file are the design, however short."""
    short = {
        source: lines
        for source, path in FILES_OF_PACKAGE.items()
        if not is_in(source, ("faults/*", "code/rules/*", "*__init__.py", "*__main__.py"))
        and (lines := len(path.read_text("utf-8").splitlines())) < LEAST_LINES
    }
    assert short == {}


def test_every_public_function_says_what_it_does() -> None:
    silent = [
        f"{source}: {node.name}"
        for source, tree in sources().items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
        and not any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
    ]
    assert silent == []
