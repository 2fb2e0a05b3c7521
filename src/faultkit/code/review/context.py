"""What a file is for, by its path and its first bytes: code that serves users, or tests, examples, output of
a generator, … One table, `CONTEXTS`. Pure.

    skipped    generated, vendored and built code is not reviewed: its authors are elsewhere
    left out   tests, fixtures, benchmarks, examples, docs, scripts and migrations are counted, not reviewed
    narrowed   some rules do not run (`context_rules`): in browser code those about servers, in commands that
               run now and then and in command-line tools and apps those about requests

The first row that fits decides. `production` stands for none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from faultkit.base.patterns import lazy_regex
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.browser_code import is_browser, is_rust_page, is_web_assembly
from faultkit.code.review.file_head import FileHead
from faultkit.code.review.helps_tests import imports_benchmarks, imports_tests, is_double, is_test_project
from faultkit.code.review.programs import is_app, is_cli, is_command, is_in_scripts, is_managed, is_script
from faultkit.code.review.vendored_copies import is_copy
from faultkit.code.review.written_by_tools import is_built, is_generated
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, PYTHON, RUST

Treatment: TypeAlias = Literal["skipped", "left out", "narrowed"]

PRODUCTION = "production"


@dataclass(frozen=True, slots=True)
class Context:
    """One row of the table."""

    name: str
    title: str
    """What a file is, for messages: `generated code`."""
    treatment: Treatment
    folders: str = ""
    """Names of folders, as alternatives of a regular expression; a file below one belongs here."""
    modules: str = ""
    """Names of folders of modules and projects, likewise: `shop-examples` in `shop-examples/src/main`. Inside
    a module, such a name may be that of a feature."""
    names: str = ""
    """Names of files, likewise."""
    languages: tuple[str, ...] = ()
    """The languages that this row is about; empty: all."""
    says: Callable[[FileHead], bool] | None = None
    """Whether the head of a file says so."""

    def fits(self, head: FileHead) -> bool:
        """Return whether a file of one of the languages belongs here."""
        folder, _, name = head.path.rpartition("/")
        if self.folders and folder and _is_below(self.folders, folder):
            return True
        if self.modules and folder and _is_in_module(self.modules, folder, head.language):
            return True
        if self.names and _fits(self.names, name):
            return True
        return self.says is not None and self.says(head)


@lru_cache(maxsize=4096)
def _is_below(pattern: str, folder: str) -> bool:
    return any(_fits(pattern, each.lower()) for each in folder.split("/"))


@lru_cache(maxsize=4096)
def _is_in_module(pattern: str, folder: str, language: str) -> bool:
    return any(_fits(pattern, each) for each in _modules_of(folder, language))


@lru_cache(maxsize=256)
def _modules_of(folder: str, language: str) -> list[str]:
    """Return the names of folders that may be those of modules: the ones above sources, or the first ones."""
    parts = folder.lower().split("/")
    if language == "csharp":
        # Folders of projects are below `src`, and are named after namespaces.
        return [each for number, each in enumerate(parts) if number < 3 or "." in each]
    return parts[: parts.index("src")] if "src" in parts else parts[:3]


@lru_cache(maxsize=8192)
def _fits(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # Python forgets expressions if there are many.


# --- what the head of a file says ---------------------------------------------------------------

_MIGRATION = lazy_regex(
    r"^Revision ID:|^down_revision\b|\bmigrations\.Migration\b|\bimplements MigrationInterface\b"
    r"|\bextends BaseJavaMigration\b|^from alembic import (?:context|op)\b",
    re.MULTILINE,
)
_UPGRADE = lazy_regex(r"(?:^|/)(?:migrations/\d{4}_\w+\.py$|(?:deltas?/\d+|upgrades?/v?\d+(?:[._]\d+)+)/)")
_MIGRATIONS = lazy_regex(r"(?:^|/)(?:\w+[-_])?migrations?/(?:[^/]+/)?[^/]+$")
_NUMBERED = lazy_regex(r"\d[^/]*$")
_IS_MIGRATION = lazy_regex(
    r"\b(?:extends|implements) \w*Migration\b|\) ?: \w*Migration\w*\(|\bobject \w+ : \w*Migration\b"
)
_DOCS_FOLDER = lazy_regex(
    r"(?:(?!(?:src|internal|pkg|lib|app)/)[^/]+/)*?(?:docs?|documentation|apidocs?|\.vitepress|\.?storybook)/"
)
"""Not below folders of source code: `internal/docs` is code about docs."""


def _says_migration(head: FileHead) -> bool:
    if _UPGRADE.search(head.path):
        return True
    # Most files have none of these words, which are found faster than the expression.
    may_be = any(word in head.text for word in ("Revision ID:", "down_revision", "Migration", "from alembic"))
    return may_be and _MIGRATION.search(head.text) is not None


def _says_jvm_migration(head: FileHead) -> bool:
    """Return whether a file of Java or Kotlin is one migration, and no code that runs them or moves users."""
    if _says_migration(head):
        return True
    return _MIGRATIONS.search(head.path) is not None and (
        _NUMBERED.search(head.path) is not None or _IS_MIGRATION.search(head.text) is not None
    )


def _says_docs(head: FileHead) -> bool:
    return _DOCS_FOLDER.match(head.path) is not None


# --- the table ------------------------------------------------------------------------------------

_JS = r"(?:[cm]?[jt]s|[jt]sx)"
CONTEXTS: tuple[Context, ...] = (
    Context(
        "generated",
        "generated code",
        "skipped",
        folders=r"generated|__generated__|autogenerated|generated-sources|openapi-client",
        names=rf".+_pb2(?:_grpc)?\.pyi?|.+\.pb(?:\.gw)?\.go|.+\.gen\.go|.+[._]generated\.\w+"
        rf"|zz_generated.+|bindata\.go|.+_pb\.(?:d\.)?{_JS}|.+_grpc_pb\.{_JS}|.+\.gen\.{_JS}|.+\.g\.cs"
        r"|.+\.[Dd]esigner\.cs|parser\.out\.py|.+\.pb\.\w+",
        says=is_generated,
    ),
    Context(
        "vendored",
        "a copy of another project",
        "skipped",
        folders=r"vendor|vendored|_vendor|_vendored|vendors|third[-_]?party|3rdparty|godeps|pods|node_modules"
        r"|bower_components|jspm_packages|site-packages|dist-packages",
        names=r"jquery(?:[.-].+)?\.js|[\w.-]+?[.-]v?\d+\.\d+\.\d+(?:[.-]\w+)*\.js",
        # In these, a folder is a part of a package's name.
        languages=tuple(name for name in LANGUAGES if name not in ("java", "kotlin", "scala", "csharp")),
    ),
    Context("vendored", "a copy of another project", "skipped", says=is_copy),
    Context(
        "built",
        "the output of a build",
        "skipped",
        folders=r"dist|\.next|_next|\.nuxt|_nuxt|\.output|umd",
        names=r".+\.min\.[cm]?js|.+[.-]bundle\.[cm]?js|.+\.chunk\.[cm]?js|.+\.umd\.[cm]?js",
        languages=JAVASCRIPT,
        says=is_built,
    ),
    # In TypeScript, code about bundles.
    Context("built", "the output of a build", "skipped", folders=r"bundles?", languages=("javascript",)),
    Context(
        "tests",
        "tests",
        "left out",
        folders=r"tests?|__tests__|e2e|testing|test[-_]?utils?|test[-_]?helpers?|test[-_](?:fixtures?|support)"
        r"|(?:integration|unit|functional|acceptance|system|smoke|live|component|contract|api|ui|regression"
        r"|conformance|int)[-_]?tests?|testfixtures|androidtest|cypress|playwright"
        r"|.+\.(?:unit|integration)?tests?|.+[-_]testing(?:[-_]support)?|testing[-_]helpers?",
        modules=r".+[-_]tests?|tests?[-_].+|e2e[-_].+|.+[-_]e2e|.+[-_]test[-_](?:common|data|db|fixtures?|framework|harness"
        r"|helpers?|infra|kit|lib|server|suites?|support|utils?)",
        names=rf"test_.+\.py|.+_tests?\.\w+|tests?\.\w+|testing\.(?:py|rs|go)|conftest\.py|.+[.-](?:test|spec|e2e|cy)\.{_JS}"
        r"|.+(?:Tests?|TestCase|IT|ITCase|Spec)\.(?:java|kt|cs|scala|swift)|Test[A-Z].*\.(?:java|kt)"
        r"|.+_spec\.rb|[tT]est[-_]?[hH]elper.*\.\w+|[tT]est[-_]?(?:[uU]til|[sS]erver|[sS]upport|[sS]uite|[cC]ase|[kK]it|[sS]etup)s?\.\w+"
        rf"|(?:vitest|jest|karma|cypress|playwright|wdio)[.-].+\.{_JS}|(?:.+\.)?global[-.]?(?:[sS]etup|[tT]eardown)\.{_JS}"
        r"|.+(?:ForTests?|ForTesting|Test(?:Util|Helper|Fixture|Harness)s?)\.(?:java|kt|cs)|.+_for_test(?:s|ing)?\.\w+",
        says=imports_tests,
    ),
    # Among sources of JavaScript, features have such names: `test-runner`.
    Context(
        "tests",
        "tests",
        "left out",
        folders=r".+[-_]tests?|tests?[-_].+",
        languages=tuple(name for name in LANGUAGES if name not in JAVASCRIPT),
    ),
    Context("tests", "tests", "left out", folders=r"specs?", languages=(*JAVASCRIPT, "ruby")),
    Context("tests", "tests", "left out", folders="t", languages=PYTHON),
    # Sets of sources of Gradle.
    Context(
        "tests",
        "tests",
        "left out",
        folders=r"(?:common|jvm|js|native|ios|desktop|android(?:unit|instrumented)?)test",
        languages=(*JAVA, *KOTLIN),
    ),
    # Names of folders are those of projects: Api.IntegrationTests, ApiTest, TestConsole.
    Context(
        "tests",
        "tests",
        "left out",
        folders=r"(?!.*(?:la|con|at|fas|grea|pro)tests?$).*tests?"
        r"|(?:.+\.)?test(?:ing)?(?:client|console|app|host|harness|server|common|infrastructure|kit|project|runner|bed"
        r"|framework|util|utilitie|helper|support|suite|shared|base)s?|.+\.test(?:s|ing)?\..+",
        languages=CSHARP,
    ),
    Context("tests", "tests", "left out", says=is_test_project),
    # Go has a package of helpers beside the one that it helps to test: httptest.
    Context(
        "tests",
        "tests",
        "left out",
        folders=r"(?!latest|contest|attest)[a-z0-9]+test|test(?!able|ament|data|ed|er|imon)[a-z0-9]+|suites",
        languages=GO,
        says=lambda head: head.path.startswith("integration/"),
    ),
    Context("fixtures", "fixtures", "left out", folders=r"[a-z0-9]*mocks?|[a-z0-9]*fakes?", languages=GO),
    Context(
        "fixtures",
        "fixtures",
        "left out",
        folders=r"(?:[a-z0-9]+[-_])?mock[a-z0-9]*",
        languages=(*JAVA, *KOTLIN),
    ),
    Context(
        "fixtures",
        "fixtures",
        "left out",
        folders=r"fixtures?|__fixtures__|(?:.+[-_.])?[a-z]*test[-_]?data[a-z]*|mocks|__mocks__|__snapshots__",
        modules=r".+[-_](?:mocks|msw)",
        names=rf"mock_.+\.go|.+_mock\.go|(?:Mock|Fake)[A-Z]\w*\.(?:java|kt|cs)|.+(?:Mock|Fake)\.(?:java|kt|cs)|.+\.mock\.{_JS}|.+\.(?:stories|story|fixture)\.{_JS}",
        says=is_double,
    ),
    Context(
        "benchmarks",
        "benchmarks",
        "left out",
        folders=r"bench|benches|benchmarks?|microbench(?:mark)?s?|(?:perf|load|stress|soak)[-_]?tests?|jmh"
        r"|load[-_]?gen(?:erator)?|fuzz(?:ing)?|fuzz[-_]targets?",
        modules=r".+[-_.](?:micro)?bench(?:mark(?:s|ing)?)?|bench(?:mark)?[-_.].+|gatling|jmeter|k6|locust"
        r"|(?:.+[-_.])?(?:load|perf|performance|stress)[-_.]?test(?:s|er|ing)?",
        names=rf"bench_.+\.py|.+_bench(?:mark)?\.\w+|.+\.bench(?:mark)?\.{_JS}|.+Benchmark\.(?:java|kt|cs)"
        r"|benchmark\.\w+|(?:.+[-_])?bench(?:mark)?[-_].+\.\w+",
        says=imports_benchmarks,
    ),
    Context("benchmarks", "benchmarks", "left out", folders=r".+\.(?:micro)?benchmarks?", languages=CSHARP),
    Context(
        "examples",
        "examples",
        "left out",
        folders=r"(?:examples?|samples)(?:[-_]?(?:apps?|code|projects?))?|docs_src|toys",
        modules=r"(?:sample|demos?)(?:[-_]?(?:apps?|code|projects?))?|playgrounds?|quickstarts?|tutorials?"
        r"|.+[-_]examples?(?:[-_].+)?|examples?[-_].+|.+[-_](?:samples?|demo)|(?:demo|samples?)[-_](?:api|apps?|client|data"
        r"|plugin|project|server|service|web)",
        names=r"(?:examples?|demo)\.\w+",
    ),
    Context(
        "examples",
        "examples",
        "left out",
        folders=r".*(?:examples?|samples?|demos?)",
        modules=r"(?:.+\.)?samples?[a-z]*(?:api|app|client|console|consumer|host|module|plugin|producer|project|server"
        r"|service|site|web|worker)s?",
        languages=CSHARP,
    ),
    Context("docs", "docs", "left out", says=_says_docs),
    Context(
        "migrations",
        "migrations",
        "left out",
        languages=PYTHON,
        says=_says_migration,
    ),
    Context(
        "migrations",
        "migrations",
        "left out",
        folders=r"(?:\w+[-_])?migrations?(?:[-_](?:jobs?|scripts?|steps?|tasks?))?|seeders?",
        languages=tuple({*JAVASCRIPT, "go", "csharp", "rust", "ruby", "php"}),
        says=_says_migration,
    ),
    Context(
        "migrations",
        "migrations",
        "left out",
        names=r"V\d[\d_.]*__\w+\.(?:java|kt)",
        languages=(*JAVA, *KOTLIN),
        says=_says_jvm_migration,
    ),
    Context(
        "scripts",
        "scripts",
        "left out",
        folders=r"hack|ci|ci[-_]?cd|(?:build|release)[-_]?(?:tools|scripts|builder)|code[-_]generation|xtask"
        r"|buildsrc|build-logic|(?:deploy|dev|docker|installer|maintenance|npm|package)[-_]scripts|scripts[-_]dev",
        modules=r"[a-z0-9]+-gen|ci[-_].+|devtools|build[-_](?:helpers?|plugins?|settings|support|system|utils?)(?:[-_].+)?|gradle[-_]plugins?"
        r"|tooling",
        names=rf"setup\.py|noxfile\.py|fabfile\.py|manage\.py|magefile\.go|build\.rs|gulpfile\.{_JS}|[Gg]runtfile\.{_JS}"
        rf"|\.\w+rc\.{_JS}|.+\.gradle\.kts|(?:pre|post)install\.{_JS}",
        says=is_script,
    ),
    Context(
        "scripts",
        "scripts",
        "left out",
        modules=r".+\.(?:analyzers?|(?:code|source)generators?|codefixes|apphost|aspirehost|buildtasks?)|.+pluginpacker",
        languages=CSHARP,
    ),
    Context("scripts", "scripts", "left out", languages=(*JAVASCRIPT, *PYTHON), says=is_command),
    Context("browser", "browser code", "narrowed", languages=JAVASCRIPT, says=is_browser),
    Context("browser", "browser code", "narrowed", languages=CSHARP, says=is_web_assembly),
    Context("browser", "browser code", "narrowed", languages=RUST, says=is_rust_page),
    Context("commands", "a management command", "narrowed", languages=PYTHON, says=is_managed),
    Context(
        "scripts",
        "scripts",
        "left out",
        languages=tuple(name for name in LANGUAGES if name != "python"),
        says=is_in_scripts,
    ),
    Context("cli", "a command-line tool", "narrowed", says=is_cli),
    Context("app", "an app with a screen", "narrowed", says=is_app),
)
CONTEXT_NAMES: tuple[str, ...] = tuple(dict.fromkeys(each.name for each in CONTEXTS))
BY_NAME: dict[str, Context] = {each.name: each for each in CONTEXTS}


def context_of(head: FileHead, without: frozenset[str] = frozenset()) -> Context | None:
    """Return the context of a file, apart from some; None for production code."""
    for each in _rows_for(head.language):
        if each.name not in without and each.fits(head):
            return each
    return None


@cache
def _rows_for(language: str) -> tuple[Context, ...]:
    return tuple(each for each in CONTEXTS if not each.languages or language in each.languages)


def contexts_of_folder(path: str) -> frozenset[str]:
    """Return the names of all contexts that keep what is in a folder from being shown."""
    head = FileHead(f"{path.rstrip('/')}/file", "", "")
    return frozenset(each.name for each in CONTEXTS if each.treatment != "narrowed" and each.fits(head))


def treatment_of(context: str) -> Treatment | None:
    """Return what happens to files of a context, by its name; None for production code."""
    return BY_NAME[context].treatment if context else None
