"""Projects that only help to test or to build others."""

from __future__ import annotations

from pathlib import Path

from faultkit.code.facts import Project
from faultkit.code.review.helper_projects import helper_projects
from faultkit.code.review.review_files import find_files, review_file

UNPUBLISHED = frozenset({"unpublished"})


def kinds(*projects: Project) -> dict[str, set[str]]:
    return {each.name: {*new.kinds} - each.kinds for each, new in helper_projects(projects).items()}


def needing(
    name: str, *used: str, tests: str = "", builds: str = "", kinds: frozenset[str] = frozenset()
) -> Project:
    return Project(
        dict.fromkeys(used, ()),
        name=name,
        kinds=kinds,
        for_tests=frozenset(tests.split()),
        for_builds=frozenset(builds.split()),
    )


def test_what_only_tests_and_builds_need_helps_them() -> None:
    found = kinds(
        needing("server", "core", tests="shop-test-db seeding", builds="shop-codegen"),
        needing("core"),
        needing("shop-test-db"),
        needing("seeding", kinds=UNPUBLISHED),
        needing("shop-codegen"),
    )
    assert found == {"shop-test-db": {"tests"}, "seeding": {"tests"}, "shop-codegen": {"builds"}}


def test_what_other_code_needs_or_users_may_need_does_not() -> None:
    found = kinds(
        needing("server", "test-clock", tests="client test-clock"),
        needing("client"),
        needing("test-clock"),
        needing("derive", tests="server"),
    )
    assert found == {}


def test_projects_for_tests_need_helpers_and_what_they_test() -> None:
    found = kinds(
        needing("integration", "harness", "server", "sink", kinds=frozenset({"tests"})),
        needing("harness"),
        needing("server", kinds=frozenset({"exe", "unpublished"})),
        needing("sink", kinds=frozenset({"cdylib", "unpublished"})),
    )
    assert found == {"integration": set(), "harness": {"tests"}}


def test_files_of_such_a_project_are_tests(tmp_path: Path) -> None:
    manifests = {
        "server": '[dependencies]\ncore = "1"\n[dev-dependencies]\nfakes = "1"\n',
        "core": "",
        "fakes": "",
    }
    top = tmp_path / "shop"
    for name, text in manifests.items():
        (top / name / "src").mkdir(parents=True)
        (top / name / "Cargo.toml").write_text(f'[package]\nname = "{name}"\n{text}')
        (top / name / "src/lib.rs").write_text("pub fn load() {}\n")
    found = {each.relative: review_file(each).context for each in find_files((str(top),)).wanted}
    assert found == {"server/src/lib.rs": "", "core/src/lib.rs": "", "fakes/src/lib.rs": "tests"}
