"""What a file is for, by its path and its first bytes: code that serves users, or tests, examples, output of
a generator, … One table, `CONTEXTS`. Pure.

    skipped    generated, vendored and built code is not reviewed: its authors are elsewhere
    left out   tests, fixtures, benchmarks, examples, docs, scripts and migrations are counted, not reviewed
    narrowed   some rules do not run (`context_rules`): in browser code those about servers, in commands that
               run now and then those about how long a request takes

The first row that fits decides. `production` stands for none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from faultkit.code.languages import LANGUAGES
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, KOTLIN, PYTHON

Treatment: TypeAlias = Literal["skipped", "left out", "narrowed"]

HEAD_BYTES = 8192
"""The first bytes of a file, by which it is judged besides its path."""
PRODUCTION = "production"
_BUILT_BYTES = 400_000
_QUOTES = ('"""', "'''")
_BUILT_LINE = 250
"""Characters of a line, on average, in what a builder wrote."""
_LONG_LINE = 500
"""Characters of a line that people do not write; the first lines of a licence are shorter."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """What a file's context is decided by."""

    path: str
    """Relative to the project, with `/`."""
    language: str
    text: str
    """The first bytes of the file, as text."""
    size: int = 0


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
_NOT_BUILT = re.compile(r"^//(?:go:build| ?\+build) ignore$", re.MULTILINE)
"""A Go file that belongs to no package: `go run` starts it."""
_TOOLS = re.compile(r"(?:tools|dev|docker)/(?:.+/)?[^/]+\.(?:py|[cm]?[jt]s)$")
"""A file below a folder of a project's tools, in its root."""
_RUN_ALONE = re.compile(r"\A#!|^if __name__ == |\bprocess\.(?:argv|exit\()", re.MULTILINE)
_SERVES = ("listen(", "createServer(", "serve(", "start(", "run(", "fork(")
_SERVER_FOLDER = re.compile(r"(?:^|/)(?:server|servers|backend|back-end|api|controllers|middlewares?)/")


def _says_generated(head: FileHead) -> bool:
    if "generated" not in head.text.lower():
        return False
    lines = list(_leading_comment(head.text))
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
    of_page = modules & _UI_MODULES or any(each.startswith(_UI_SCOPES) for each in modules)
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


def _says_double(head: FileHead) -> bool:
    """Return whether a file named after a test double says that it is for tests."""
    return _DOUBLE.search(head.path) is not None and _FOR_TESTS.search(head.text) is not None


def _says_script(head: FileHead) -> bool:
    if head.language == "go":
        if _NOT_BUILT.search(head.text) is not None:
            return True
        return head.path.startswith(("tools/", "dev/")) and "\npackage main\n" in f"\n{head.text}"
    if "/scripts/" in head.path and "\nif __name__ ==" in head.text:
        return True
    if _TOOLS.match(head.path) and _RUN_ALONE.search(head.text):
        return not any(word in head.text for word in _SERVES)
    # Inside a package, `scripts` and `contrib` hold code that others import.
    return head.language == "python" and head.path.startswith(("scripts/", "script/", "contrib/"))


def _says_command(head: FileHead) -> bool:
    """Return whether a file below the project's `bin` is a command; `bin/www` of Express starts a server."""
    return head.path.startswith("bin/") and not any(word in head.text for word in _SERVES)


def _says_managed(head: FileHead) -> bool:
    """Return whether a file is a command of Django, which `manage.py` runs."""
    return "management/commands/" in head.path


def _leading_comment(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the lines of the comments with which a file begins, and whether they stand in a docstring."""
    end = ""
    for line in text.removeprefix("\ufeff").splitlines():
        bare = line.strip()
        if end:
            yield end in _QUOTES, bare
            end = "" if end in bare else end
        elif (begin := bare.lstrip("rR")[:3]) in _QUOTES or bare.startswith("/*"):
            end = begin if begin in _QUOTES else "*/"
            yield end in _QUOTES, bare
            end = "" if end in bare.lstrip("rR")[len(end) :] else end
        elif not bare or bare.startswith(("#", "//", "--")) or bare.strip(";'\"") == "use strict":
            yield False, bare
        else:
            return


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
        r"|integration[-_]?tests?|unit[-_]?tests?|functional[-_]?tests?|androidtest|cypress|playwright"
        r"|.+\.(?:unit|integration)?tests?|.+[-_]tests?|tests?[-_].+|.+[-_]testing(?:[-_]support)?",
        names=rf"test_.+\.py|.+_tests?\.\w+|tests?\.\w+|conftest\.py|.+[.-](?:test|spec|e2e|cy)\.{_JS}"
        r"|.+(?:Tests?|TestCase|IT|ITCase|Spec)\.(?:java|kt|cs|scala|swift)|Test[A-Z].*\.(?:java|kt)"
        r"|.+_spec\.rb|[tT]est[-_]?[hH]elper.*\.\w+|[tT]est[-_]?(?:[uU]til|[sS]erver|[sS]upport|[sS]uite|[cC]ase|[kK]it|[sS]etup)s?\.\w+",
        says=_says_test,
    ),
    Context("tests", "tests", "left out", folders=r"specs?", languages=(*JAVASCRIPT, "ruby")),
    Context("tests", "tests", "left out", folders="t", languages=PYTHON),
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
        folders=r"fixtures?|__fixtures__|test[-_]?data|mocks|__mocks__|__snapshots__|snapshots",
        names=rf"mock_.+\.go|.+_mock\.go|.+\.mock\.{_JS}|.+\.(?:stories|story|fixture)\.{_JS}",
        says=_says_double,
    ),
    Context(
        "benchmarks",
        "benchmarks",
        "left out",
        folders=r"bench|benches|benchmarks?|microbench(?:mark)?s?|perf[-_]?tests?|load[-_]?tests?",
        names=rf"bench_.+\.py|.+_bench(?:mark)?\.\w+|.+\.bench(?:mark)?\.{_JS}|.+Benchmark\.(?:java|kt|cs)"
        r"|benchmark\.\w+|(?:.+[-_])?bench(?:mark)?[-_].+\.\w+",
    ),
    Context(
        "examples",
        "examples",
        "left out",
        folders=r"(?:examples?|samples?|demos?)(?:[-_]?(?:apps?|code|projects?))?|tutorials?|quickstarts?|playgrounds?|cookbook|docs_src",
        names=r"(?:examples?|demo)\.\w+",
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
        folders=r"(?:\w+[-_])?migrations?|seeders?",
        languages=tuple({*JAVASCRIPT, "go", "java", "kotlin", "csharp", "rust", "ruby", "php"}),
        names=r"V\d[\d_.]*__\w+\.(?:java|kt)",
        says=_says_migration,
    ),
    Context(
        "scripts",
        "scripts",
        "left out",
        folders=r"hack|ci|ci[-_]?cd|build[-_]?(?:tools|scripts)|devtools|code[-_]generation|[a-z0-9]+-(?:gen|scripts)",
        names=rf"setup\.py|noxfile\.py|fabfile\.py|manage\.py|magefile\.go|build\.rs|gulpfile\.{_JS}|[Gg]runtfile\.{_JS}"
        rf"|.+\.config\.{_JS}|\.\w+rc\.{_JS}|.+\.gradle\.kts|release\.(?:py|{_JS})",
        says=_says_script,
    ),
    Context("scripts", "scripts", "left out", languages=(*JAVASCRIPT, *PYTHON), says=_says_command),
    Context("browser", "browser code", "narrowed", languages=JAVASCRIPT, says=_says_browser),
    Context("commands", "a management command", "narrowed", languages=PYTHON, says=_says_managed),
    Context(
        "scripts",
        "scripts",
        "left out",
        folders=r"scripts?",
        languages=tuple(name for name in LANGUAGES if name != "python"),
    ),
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
