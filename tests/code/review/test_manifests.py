"""Manifests: what the one nearest above a file says."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.review.manifests import Manifests

GO_MOD = """\
module example.com/shop

go 1.22.1

require (
\tgithub.com/a/b v1.4.2
\tgolang.org/x/sync v0.7.0 // indirect
)

require github.com/c/d/v2 v2.0.0
"""
PROJECT_FILE = """\
<Project Sdk="Microsoft.NET.Sdk.Web">
  <ItemGroup>
    <PackageReference Include="xunit" Version="2.9.0" />
    <PackageReference Include="Polly" />
  </ItemGroup>
</Project>
"""


def package(folder: Path, **said: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps(said))


def above(top: Path, folder: str = "", language: str = "typescript") -> Project:
    return Manifests(str(top)).above(str(top / folder), language)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("^5.2.1", (5, 2)),
        ("~4", (4,)),
        ("4.x || 5.x", (4,)),
        (">=4.17 <6", (4, 17)),
        ("v3.1.0-beta.2", (3, 1)),
        ("<6", ()),
        ("*", ()),
        ("latest", ()),
        ("workspace:^5", ()),
        ("github:a/b#5", ()),
        (5, ()),
    ],
)
def test_the_lowest_version_counts(tmp_path: Path, text: object, version: tuple[int, ...]) -> None:
    package(tmp_path, dependencies={"express": text})
    project = above(tmp_path)
    assert project.version_of("express") == version
    assert project.has_at_least("express", 5) == (version >= (5,))
    assert project.version_of("koa") is None


def test_the_nearest_manifest_that_says_something_counts(tmp_path: Path) -> None:
    package(tmp_path, name="all", engines={"node": ">=20"}, devDependencies={"vite": "7.0.0"})
    package(tmp_path / "apps/api", dependencies={"express": "5.0.0"})
    package(tmp_path / "apps/api/src/esm", type="module")
    for folder in ("apps/api", "apps/api/src/esm"):
        project = above(tmp_path, folder)
        assert project.dependencies == {"express": (5, 0)}
    outer = above(tmp_path, "apps/web/src")
    assert (outer.dependencies, outer.language_version) == ({"vite": (7, 0)}, (20,))
    assert above(tmp_path / "apps/web") is NO_PROJECT
    assert above(tmp_path, "apps/api", "python") is NO_PROJECT


def test_other_languages_have_their_own(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(GO_MOD)
    (tmp_path / "Shop.csproj").write_text(PROJECT_FILE)
    go, dotnet = above(tmp_path, "a/b", "go"), above(tmp_path, "Pages", "csharp")
    assert go.language_version == (1, 22)
    assert go.dependencies == {
        "github.com/a/b": (1, 4),
        "golang.org/x/sync": (0, 7),
        "github.com/c/d/v2": (2, 0),
    }
    assert dotnet.dependencies == {"xunit": (2, 9), "Polly": (), "Microsoft.NET.Sdk.Web": ()}
    assert dotnet.kinds == {"tests"}


def test_a_crate_says_what_it_is_and_what_its_tests_need(tmp_path: Path) -> None:
    inner = tmp_path / "crates/shop"
    (inner / "src").mkdir(parents=True)
    (tmp_path / "Cargo.toml").write_text('[workspace]\nmembers = ["crates/*"]\n')
    (inner / "Cargo.toml").write_text(
        '[package]\nname = "shop"\npublish = false\n[lib]\ncrate-type = ["cdylib"]\n'
        '[dependencies]\naxum = "0.8"\nmockall = { version = "1", optional = true }\n'
        '[dev-dependencies]\nshop-test = { path = "../test" }\n[build-dependencies]\n'
        "shop-gen.workspace = true\n"
        "[target.'cfg(unix)'.dependencies]\nnix = \"0.30\"\n"
    )
    found = above(tmp_path, "crates/shop/src", "rust")
    assert found.dependencies == {"axum": (0, 8), "nix": (0, 30)}
    assert found.name == "shop"
    assert found.kinds == {"cdylib", "unpublished"}
    assert found.for_tests == {"shop-test"}
    assert found.for_builds == {"shop-gen"}
    (inner / "src/main.rs").write_text("fn main() {}\n")
    assert "exe" in above(tmp_path, "crates/shop/src", "rust").kinds
    assert above(tmp_path, "crates", "rust") is NO_PROJECT


def test_a_crate_that_needs_test_libraries_is_for_tests(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "a"\n[dependencies]\nassert_cmd = "2"\n')
    assert above(tmp_path, "src", "rust").kinds == {"tests"}
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "a"\n[dev-dependencies]\nassert_cmd = "2"\n')
    assert above(tmp_path, "src", "rust").kinds == set()


@pytest.mark.parametrize("file", ["build.gradle", "build.gradle.kts"])
def test_gradle_says_that_a_module_is_an_app(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text('plugins {\n    id("com.android.application")\n}\n')
    assert above(tmp_path, "src/main/kotlin", "kotlin").kinds == {"android"}
    (tmp_path / file).write_text("plugins {\n    `kotlin-dsl`\n}\n")
    assert above(tmp_path, "src/main/kotlin", "kotlin").kinds == {"gradle-plugin"}


def test_files_that_only_scripts_for_developers_run(tmp_path: Path) -> None:
    scripts = {
        "build": "tsc && node ./mv.js",
        "generate": "NODE_ENV=x npx tsx --tsconfig=a.json src/generate.ts",
        "check:env": "node scripts/check.mjs",
        "start": "node index.js",
        "prebuild": "node index.js",
        "worker": "node worker.js",
    }
    package(tmp_path / "web", name="@shop/web", scripts=scripts)
    found = above(tmp_path, "web/src")
    assert found.tool_files == {"web/mv.js", "web/src/generate.ts", "web/scripts/check.mjs"}
    assert found.name == "@shop/web"
    assert above(tmp_path / "web").name == ""


def test_a_project_of_dotnet_names_the_projects_that_it_needs(tmp_path: Path) -> None:
    needs = '<ProjectReference Include="..\\Shop.Core\\Shop.Core.csproj" />'
    for name, inner in (
        ("Shop", "<OutputType>Exe</OutputType>"),
        ("Tests", "<IsTestProject>true</IsTestProject>"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csproj").write_text(f"<Project>{inner}{needs}</Project>")
    shop, tests = above(tmp_path, "Shop", "csharp"), above(tmp_path, "Tests", "csharp")
    assert shop.name == "Shop"
    assert shop.kinds == {"exe"}
    assert shop.dependencies == {"Shop.Core": ()}
    assert tests.kinds == {"tests"}
    assert tests.dependencies == {}
    assert tests.for_tests == {"Shop.Core"}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"name": "a", "dependencies": [1]}', "[" * 100_000, " " * 2**21]
)
def test_a_damaged_manifest_says_nothing(tmp_path: Path, text: str) -> None:
    package(tmp_path, name="outer", dependencies={"express": "4"})
    (tmp_path / "a").mkdir()
    (tmp_path / "a/package.json").write_text(text)
    assert above(tmp_path, "a").version_of("express") == (4,)


def test_a_manifest_is_read_once(tmp_path: Path) -> None:
    package(tmp_path, name="a", dependencies={"express": "4"})
    manifests = Manifests(str(tmp_path))
    first = manifests.above(str(tmp_path / "src"), "typescript")
    (tmp_path / "package.json").unlink()
    assert manifests.above(str(tmp_path / "src/a"), "javascript") is first


def test_a_digest_differs_where_the_facts_do() -> None:
    some = [
        *(NO_PROJECT, Project({"a": (1,)}), Project({"a": (2,)}), Project({}, (1,)), Project(name="a")),
        *(Project(kinds=frozenset("a")), Project(tool_files=frozenset("a"))),
    ]
    assert len({each.digest for each in some}) == len(some)
    assert [pickle.loads(pickle.dumps(each)).digest for each in some] == [each.digest for each in some]
    assert NO_PROJECT.digest == Project().digest == b""


def test_dependencies_of_cargo(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "a"\n[dependencies]\naxum = "0.7.2"\nserde = { version = "1.0", features = [] }\n'
        "clap.workspace = true\n[target.'cfg(unix)'.dependencies]\nnix = \"0.29\"\n"
    )
    found = Manifests(str(tmp_path)).above(str(tmp_path), "rust")
    assert found.dependencies == {"axum": (0, 7), "serde": (1, 0), "clap": (), "nix": (0, 29)}


def test_a_workspace_of_cargo_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text(
        '[workspace]\nmembers = ["a"]\n[workspace.dependencies]\naxum = "0.7"\n'
    )
    assert Manifests(str(tmp_path)).above(str(tmp_path), "rust") is NO_PROJECT
