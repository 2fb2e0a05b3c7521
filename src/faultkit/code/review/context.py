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
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from faultkit.code.languages import LANGUAGES
from faultkit.code.review.file_head import FileHead, leading_comment
from faultkit.code.review.programs import is_app, is_cli, is_command, is_managed, is_script
from faultkit.code.review.vendored_copies import is_copy
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, PYTHON

Treatment: TypeAlias = Literal["skipped", "left out", "narrowed"]

PRODUCTION = "production"
_BUILT_BYTES = 400_000
_BUILT_LINE = 250
"""Characters of a line, on average, in what a builder wrote."""
_LONG_LINE = 500
"""Characters of a line that people do not write; the first lines of a licence are shorter."""


@dataclass(frozen=True, slots=True)
class Context:
    """One row of the table."""

    name: str
    title: str
    """What a file is, for messages: `generated code`."""
    treatment: Treatment
    folders: str = ""
    """Names of folders, as alternatives of a regular expression; a file below one belongs here."""
    names: str = ""
    """Names of files, likewise."""
    languages: tuple[str, ...] = ()
    """The languages that this row is about; empty: all."""
    says: Callable[[FileHead], bool] | None = None
    """Whether the head of a file says so."""

    def fits(self, head: FileHead) -> bool:
        if self.languages and head.language not in self.languages:
            return False
        folder, _, name = head.path.rpartition("/")
        if self.folders and folder and _is_below(self.folders, folder):
            return True
        if self.names and _fits(self.names, name):
            return True
        return self.says is not None and self.says(head)


@lru_cache(maxsize=4096)
def _is_below(pattern: str, folder: str) -> bool:
    return any(_fits(pattern, each.lower()) for each in folder.split("/"))


@lru_cache(maxsize=8192)
def _fits(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # Python forgets expressions if there are many.


# --- what the head of a file says ---------------------------------------------------------------

_DO_NOT_EDIT = re.compile(
    r"\bgenerated\b.{0,200}?\bdo\s+not\s+(?:edit|modify|change|touch)\b"
    r"|\bdo\s+not\s+(?:edit|modify|change)\b.{0,200}?\bgenerated\b"
    r"|(?<![\w.`])@generated\b|<auto-?generated",
    re.IGNORECASE | re.DOTALL,
)
_GENERATED = re.compile(
    r"^[^\w\n]*(?:note:? |warning:? )?(?:this (?:file|code|class|module|source)(?: is| was| has been)? )?"
    r"(?:auto-? ?|automatically |machine[- ])?generated (?:by|from|with|using|file|code)\b(?! django)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a comment that begins so. Not of a docstring: that may be about something generated."""
_BUNDLE_MARKS = (
    "webpackBootstrap",
    "webpackUniversalModuleDefinition",
    "__webpack_require__",
    "/******/",
    "parcelRequire",
    'Object.defineProperty(exports, "__esModule"',
    "Object.defineProperty(exports, '__esModule'",
    *(
        f"var __{name} = "
        for name in ("create", "defProp", "commonJS", "toESM", "awaiter", "importDefault", "extends")
    ),
)
_MIGRATION = re.compile(
    r"^Revision ID:|^down_revision\b|\bmigrations\.Migration\b|\bimplements MigrationInterface\b"
    r"|\bextends BaseJavaMigration\b",
    re.MULTILINE,
)
_IMPORTED = re.compile(r"""\b(?:from|import|require)\s{0,9}\(?\s{0,9}['"]([^'"\n]{1,100})['"]""")
_UI_MODULES = frozenset(
    {
        "backbone", "jquery", "lit", "mobx", "mobx-react", "mobx-react-lite", "next/image", "next/link",
        "next/navigation", "next/router", "pinia", "preact", "react", "react-dom", "react-router",
        "react-router-dom", "redux", "socket.io-client", "solid-js", "styled-components", "svelte", "swr",
        "vue", "vue-router", "vuex", "zustand",
    }
)  # fmt: skip
_UI_SCOPES = (
    "@angular/",
    "@ember",
    "ember",
    "@glimmer/",
    "@reduxjs/",
    "@tanstack/react",
    "@mui/",
    "@radix-ui/",
    "prosemirror-",
    "$lib/",
    "$app/",
    "@vueuse/",
    "react-dom/",
)
_SERVER_MODULES = frozenset(
    {
        "@prisma/client", "amqplib", "aws-sdk", "child_process", "cluster", "dgram", "express", "fastify",
        "fs", "fs/promises", "hono", "http", "http2", "https", "ioredis", "kafkajs", "knex", "koa", "mongodb",
        "mongoose", "mysql", "mysql2", "mysql2/promise", "net", "next/headers", "next/server", "os", "path",
        "pg", "redis", "sequelize", "socket.io", "tls", "typeorm", "worker_threads", "ws",
    }
)  # fmt: skip
_UI_PACKAGES = (
    "react-dom", "react-native", "vue", "svelte", "@angular/core", "preact", "solid-js", "ember-source",
    "lit", "nuxt",
)  # fmt: skip
_SERVER_PACKAGES = (
    "@apollo/server", "@hapi/hapi", "@nestjs/core", "@prisma/client", "@remix-run/node", "@sveltejs/kit",
    "@trpc/server", "apollo-server", "astro", "drizzle-orm", "electron", "express", "fastify", "graphql-yoga",
    "hono", "ioredis", "knex", "koa", "mongodb", "mongoose", "mysql2", "next", "pg", "redis", "sequelize",
    "socket.io", "typeorm", "ws",
)  # fmt: skip
_SERVER_SCOPES = ("node:", "@aws-sdk/", "@hapi/", "@koa/", "@nestjs/")
_DOM = re.compile(
    r"""(?<![\w.$'"])(?:
          document\.(?:querySelector|getElement|createElement|addEventListener|body|head|cookie|documentElement
            |location)
        | window\.(?:location|addEventListener|document|localStorage|sessionStorage|history|navigator|open\(
            |alert\(|matchMedia|__\w+|\$|jQuery)
        | (?:localStorage|sessionStorage)\.
        | new\ (?:XMLHttpRequest|FileReader)\b
        | self\.(?:addEventListener|skipWaiting|clients)\b
        | (?:\$|jQuery)\(\s*(?:document|function|['"][.#])
        )""",
    re.VERBOSE,
)
_DOM_WORDS = (
    "document.",
    "window.",
    "localStorage.",
    "sessionStorage.",
    "XMLHttpRequest",
    "FileReader",
    "self.",
    "$(",
    "jQuery(",
)
"""One of them is in each text that `_DOM` matches; they are found faster."""
_PROCESS = re.compile(r"""(?<![\w.$])process\.(?:exit|on|argv|stdout|stdin|pid)\b|['"]use server['"]""")
_BROWSER_FOLDER = re.compile(
    r"(?:^|/)(?:public|static|assets|frontend|front-end|wwwroot|www|browser|webapp|webui|ui|web/src)/"
)
_FRONTEND = re.compile(r"(?:^|/)(?:frontend|front-end|webapp|webui|(?:ui|web)/src)/")
"""Folders in which `api` is what a page asks, and no server."""
_DOCS_FOLDER = re.compile(
    r"(?:(?!(?:src|internal|pkg|lib|app)/)[^/]+/)*?(?:docs?|documentation|apidocs?|\.vitepress|\.?storybook)/"
)
"""Not below folders of source code: `internal/docs` is code about docs."""
_DOUBLE = re.compile(r"(?:^|/|_|-)(?:stub|fake|mock|dummy)(?:s|ed)?(?:[-_]\w+)?\.\w+$")
_FOR_TESTS = re.compile(
    r"\b(?:for|in|within|during|used (?:by|in)) (?:\w+ ){0,3}test(?:s|ing)?\b", re.IGNORECASE
)
_JS_TEST_IMPORTS = re.compile(
    r"""^(?:import\b.*\bfrom|const .*= require\()\s*['"](?:vitest|@jest/globals|supertest|sinon|chai)['"]""",
    re.MULTILINE,
)
_TEST_IMPORTS = {
    "go": re.compile(
        r"^\s*(?:import\s+)?(?:\w+\s+)?\"(?:testing|github\.com/stretchr/testify/\w+)\"$", re.MULTILINE
    ),
    "java": re.compile(r"^import (?:static )?org\.(?:junit|testng|mockito|assertj)\.", re.MULTILINE),
    "kotlin": re.compile(r"^import (?:org\.junit|kotlin\.test|io\.mockk|io\.kotest)\.", re.MULTILINE),
    "csharp": re.compile(
        r"^using (?:Xunit|NUnit\.Framework|Moq|NSubstitute|FluentAssertions|AutoFixture)\b", re.MULTILINE
    ),
    "python": re.compile(r"^(?:import pytest\b|from pytest import)", re.MULTILINE),
    "javascript": _JS_TEST_IMPORTS,
    "typescript": _JS_TEST_IMPORTS,
}
_SERVER_FOLDER = re.compile(r"(?:^|/)(?:server|servers|backend|back-end|api|controllers|middlewares?)/")


def _says_generated(head: FileHead) -> bool:
    if "generated" not in head.text.lower():
        return False
    lines = list(leading_comment(head.text))
    if _DO_NOT_EDIT.search("\n".join(text for _, text in lines)):
        return True
    return _GENERATED.search("\n".join(text for quoted, text in lines if not quoted)) is not None


def _says_built(head: FileHead) -> bool:
    # Builds write JavaScript. TypeScript that looks like a bundle is about bundles.
    if head.language == "javascript" and (
        head.size > _BUILT_BYTES or any(mark in head.text for mark in _BUNDLE_MARKS)
    ):
        return True
    lines = head.text.splitlines()
    if head.language == "javascript" and len(head.text) > 4000 and len(head.text) > _BUILT_LINE * len(lines):
        return True
    # The last line is cut off by the end of the head, and may be a long text in a file of its own.
    return sum(len(line) > _LONG_LINE for line in lines) * 4 > len(lines) and len(head.text) > 1000


def _says_migration(head: FileHead) -> bool:
    if re.search(r"(?:^|/)migrations/\d{4}_\w+\.py$", head.path):
        return True
    # Most files have none of these words, which are found faster than the expression.
    may_be = any(word in head.text for word in ("Revision ID:", "down_revision", "Migration"))
    return may_be and _MIGRATION.search(head.text) is not None


def _says_browser(head: FileHead) -> bool:
    modules = frozenset(_IMPORTED.findall(head.text))
    if modules & _SERVER_MODULES or any(each.startswith(_SERVER_SCOPES) for each in modules):
        return False
    if ("process." in head.text or "use server" in head.text) and _PROCESS.search(head.text):
        return False
    of_page = (
        modules & _UI_MODULES
        or any(each.startswith(_UI_SCOPES) for each in modules)
        or (head.project.has_any(*_UI_PACKAGES) and not head.project.has_any(*_SERVER_PACKAGES))
    )
    if ".server." in head.path or "+server." in head.path or "$lib/server" in head.text:
        return False
    if _SERVER_FOLDER.search(head.path) and not (of_page or _FRONTEND.search(head.path)):
        return False
    if of_page or _FRONTEND.search(head.path) or _BROWSER_FOLDER.search(head.path):
        return True
    if head.path.endswith((".tsx", ".jsx")):
        return True
    return any(word in head.text for word in _DOM_WORDS) and _DOM.search(head.text) is not None


def _says_docs(head: FileHead) -> bool:
    return _DOCS_FOLDER.match(head.path) is not None


def _says_test(head: FileHead) -> bool:
    """Return whether a file imports what only tests use: it helps to test, whatever its name."""
    imported = _TEST_IMPORTS.get(head.language)
    return imported is not None and imported.search(head.text) is not None


def _is_test_project(head: FileHead) -> bool:
    return head.project.has_any("Microsoft.NET.Test.Sdk", "xunit", "NUnit", "MSTest.TestFramework", "TUnit")


def _says_web_assembly(head: FileHead) -> bool:
    """Return whether a file of .NET runs in a browser."""
    web = ("Microsoft.NET.Sdk.BlazorWebAssembly", "Microsoft.AspNetCore.Components.WebAssembly")
    return "WebAssemblyHostBuilder" in head.text or head.project.has_any(*web)


def _says_double(head: FileHead) -> bool:
    """Return whether a file named after a test double says that it is for tests."""
    return _DOUBLE.search(head.path) is not None and _FOR_TESTS.search(head.text) is not None


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
        says=_says_generated,
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
        says=is_copy,
    ),
    Context(
        "built",
        "the output of a build",
        "skipped",
        folders=r"dist|bundles?|\.next|_next|\.nuxt|_nuxt|\.output|umd",
        names=rf".+\.min\.{_JS}|.+[.-]bundle\.{_JS}|.+\.chunk\.{_JS}|.+\.umd\.{_JS}",
        languages=JAVASCRIPT,
        says=_says_built,
    ),
    Context(
        "tests",
        "tests",
        "left out",
        folders=r"tests?|__tests__|e2e|testing|test[-_]?utils?|test[-_]?helpers?|test[-_]support"
        r"|(?:integration|unit|functional|acceptance|system|smoke|live|component|contract|api|ui|regression"
        r"|conformance|int)[-_]?tests?|testfixtures|androidtest|cypress|playwright"
        r"|.+\.(?:unit|integration)?tests?|.+[-_]tests?|tests?[-_].+|.+[-_]testing(?:[-_]support)?",
        names=rf"test_.+\.py|.+_tests?\.\w+|tests?\.\w+|testing\.(?:py|rs|go)|conftest\.py|.+[.-](?:test|spec|e2e|cy)\.{_JS}"
        r"|.+(?:Tests?|TestCase|IT|ITCase|Spec)\.(?:java|kt|cs|scala|swift)|Test[A-Z].*\.(?:java|kt)"
        r"|.+_spec\.rb|[tT]est[-_]?[hH]elper.*\.\w+|[tT]est[-_]?(?:[uU]til|[sS]erver|[sS]upport|[sS]uite|[cC]ase|[kK]it|[sS]etup)s?\.\w+"
        rf"|(?:vitest|jest|karma|cypress|playwright|wdio)[.-].+\.{_JS}|(?:.+\.)?global[-.]?(?:[sS]etup|[tT]eardown)\.{_JS}"
        r"|.+(?:ForTests?|ForTesting|Test(?:Util|Helper|Fixture|Harness)s?)\.(?:java|kt|cs)|.+_for_test(?:s|ing)?\.\w+",
        says=_says_test,
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
        r"|(?:.+\.)?test(?:client|console|app|host|harness|server|common|infrastructure|kit|project|runner|bed)s?",
        languages=CSHARP,
        says=_is_test_project,
    ),
    # Go has a package of helpers beside the one that it helps to test: httptest.
    Context(
        "tests", "tests", "left out", folders=r"(?!latest|contest|attest)[a-z0-9]+test|suites", languages=GO
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
        folders=r"fixtures?|__fixtures__|(?:.+[-_.])?[a-z]*test[-_]?data[a-z]*|mocks|__mocks__|__snapshots__|snapshots",
        names=rf"mock_.+\.go|.+_mock\.go|(?:Mock|Fake)[A-Z]\w*\.(?:java|kt|cs)|.+(?:Mock|Fake)\.(?:java|kt|cs)|.+\.mock\.{_JS}|.+\.(?:stories|story|fixture)\.{_JS}",
        says=_says_double,
    ),
    Context(
        "benchmarks",
        "benchmarks",
        "left out",
        folders=r"bench|benches|benchmarks?|microbench(?:mark)?s?|(?:perf|load|stress|soak)[-_]?tests?|jmh"
        r"|load[-_]?gen(?:erator)?|fuzz(?:ing)?|fuzz[-_]targets?",
        names=rf"bench_.+\.py|.+_bench(?:mark)?\.\w+|.+\.bench(?:mark)?\.{_JS}|.+Benchmark\.(?:java|kt|cs)"
        r"|benchmark\.\w+|(?:.+[-_])?bench(?:mark)?[-_].+\.\w+",
    ),
    Context("benchmarks", "benchmarks", "left out", folders=r".+\.(?:micro)?benchmarks?", languages=CSHARP),
    Context(
        "examples",
        "examples",
        "left out",
        folders=r"(?:examples?|samples?|demos?)(?:[-_]?(?:apps?|code|projects?))?|tutorials?|quickstarts?|playgrounds?|cookbook|docs_src|toys",
        names=r"(?:examples?|demo)\.\w+",
    ),
    Context("examples", "examples", "left out", folders=r".*(?:examples?|samples?|demos?)", languages=CSHARP),
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
        folders=r"(?:\w+[-_])?migrations?|seeders?",
        languages=tuple({*JAVASCRIPT, "go", "java", "kotlin", "csharp", "rust", "ruby", "php"}),
        names=r"V\d[\d_.]*__\w+\.(?:java|kt)",
        says=_says_migration,
    ),
    Context(
        "scripts",
        "scripts",
        "left out",
        folders=r"hack|ci|ci[-_]?cd|(?:build|release)[-_]?(?:tools|scripts|builder)|devtools|code[-_]generation|xtask|buildsrc|build-logic|[a-z0-9]+-(?:gen|scripts)",
        names=rf"setup\.py|noxfile\.py|fabfile\.py|manage\.py|magefile\.go|build\.rs|gulpfile\.{_JS}|[Gg]runtfile\.{_JS}"
        rf"|.+\.config\.{_JS}|\.\w+rc\.{_JS}|.+\.gradle\.kts|release\.(?:py|{_JS})",
        says=is_script,
    ),
    Context("scripts", "scripts", "left out", languages=(*JAVASCRIPT, *PYTHON), says=is_command),
    Context("browser", "browser code", "narrowed", languages=JAVASCRIPT, says=_says_browser),
    Context("browser", "browser code", "narrowed", languages=CSHARP, says=_says_web_assembly),
    Context("commands", "a management command", "narrowed", languages=PYTHON, says=is_managed),
    Context(
        "scripts",
        "scripts",
        "left out",
        folders=r"scripts?",
        languages=tuple(name for name in LANGUAGES if name != "python"),
    ),
    Context("cli", "a command-line tool", "narrowed", says=is_cli),
    Context("app", "an app with a screen", "narrowed", says=is_app),
)
CONTEXT_NAMES: tuple[str, ...] = tuple(dict.fromkeys(each.name for each in CONTEXTS))
BY_NAME: dict[str, Context] = {each.name: each for each in CONTEXTS}


def context_of(head: FileHead, without: frozenset[str] = frozenset()) -> Context | None:
    """Return the context of a file, apart from some; None for production code."""
    return next((each for each in CONTEXTS if each.name not in without and each.fits(head)), None)


def contexts_of_folder(path: str) -> frozenset[str]:
    """Return the names of all contexts that keep what is in a folder from being shown."""
    head = FileHead(f"{path.rstrip('/')}/file", "", "")
    hiding = [replace(each, languages=()) for each in CONTEXTS if each.treatment != "narrowed"]
    return frozenset(each.name for each in hiding if each.fits(head))


def treatment_of(context: str) -> Treatment | None:
    """Return what happens to files of a context, by its name; None for production code."""
    return BY_NAME[context].treatment if context else None
