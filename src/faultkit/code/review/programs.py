"""Which files belong to programs that are no services. Pure.

    scripts    tools of the project itself: they build, release, generate or fill it with data, or belong to
               a compiler or a build tool
    cli        command-line tools for its users
    app        apps with a screen, on a computer or phone of one user

Where something in a file serves requests, it belongs to none of them.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.review.file_head import FileHead
from faultkit.code.review.helper_projects import BUILDS
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_JS = r"(?:[cm]?[jt]s|[jt]sx)"
_NOT_BUILT = TextPattern(r"^//(?:go:build| ?\+build) (?:ignore|mage|tools|wireinject)$", re.MULTILINE)
"""A Go file that belongs to no package of the program: `go run` or a tool starts it."""
_TOOLS = lazy_regex(rf"(?:tools|dev|docker)/(?:.+/)?[^/]+\.(?:py|{_JS})$", re.IGNORECASE)
"""A file below a folder of a project's tools, in its root."""
_PROJECT_OF_TOOLS = lazy_regex(
    r"tools/(?!src/)[^/]+/.+\.(?:cs|java|kt|rs)$|(?!src/|app/|lib/)[^/]+/tools/[^/]+/.+\.cs$", re.IGNORECASE
)
"""Likewise, in languages in which each tool is a project of its own. `tools/src` is a single project, which
others may need."""
_FOR_DEVELOPERS = lazy_regex(r"(?:.+/)?cmd/dev/")
_GO_TOOLS = lazy_regex(
    r"(?:tools|dev)/|(?:.+/)?cmd/dev/|(?:.+/)?(?:gen|generate|docgen|release)/|(?:.+/)?internal/[^/]+\.go$"
)
_MADE_ONCE = lazy_regex(
    r"(?:.+/)?(?:bump|check|convert|debug|gen|generate|make|publish|release|repro|seed|update|verify)[-_]"
    rf"[^/]+\.(?:py|{_JS})$|(?:.+/)?release\.(?:py|{_JS})$"
)
_CONFIG = lazy_regex(
    rf"(?!(?:.+/)?src/)(?:.+/)?[^/]+\.config\.{_JS}$|(?:.+/)?(?:babel|eslint|jest|next|nuxt|playwright|postcss|rollup"
    rf"|svelte|tailwind|tsdown|tsup|vite|vitest|vue|webpack)(?:\.\w+)?\.config\.{_JS}$"
)
"""What tools of JavaScript read; among sources, what the program itself is configured by."""
_TOOL_PACKAGE = lazy_regex(
    r"(?:@[^/]+/)?(?:create-.+|.*eslint-(?:config|plugin).*|.*(?:prettier|tailwind|typescript)-config"
    r"|.*code-?gen(?:erator)?|.*(?:release-notes|changelog).*|.*docs-generator)"
)
"""Names of packages for developers."""
_NO_MODULE = lazy_regex(r"(?:.+/)?\w+(?:-\w+)+\.py$")
"""A name that Python cannot import."""
_SCRIPTS = lazy_regex(r"(?:.+/)?scripts?/", re.IGNORECASE)
_SCRIPTS_AT_TOP = lazy_regex(r"scripts?/", re.IGNORECASE)
_SOURCES = lazy_regex(
    r"(?:.+/)?(?:src|lib|app|internal|pkg|wwwroot|webroot|static|public)/(?:.+/)?scripts?/",
    re.IGNORECASE,
)
"""`scripts` among the sources of a program, or of a page: what it calls scripts, and no tools."""
_MAIN = {
    "csharp": lazy_regex(rb"\bstatic\s+(?:async\s+)?[\w<>]+\s+Main\s*\("),
    "go": lazy_regex(rb"^package main$", re.MULTILINE),
    "java": lazy_regex(rb"\bstatic\s+void\s+main\s*\("),
    "kotlin": lazy_regex(rb"^fun main\(", re.MULTILINE),
    "rust": lazy_regex(rb"^(?:async )?fn main\(", re.MULTILINE),
}
_COMPILER_IMPORTS = {
    **dict.fromkeys(
        ("java", "kotlin"),
        TextPattern(
            r"^import (?:javax\.annotation\.processing|com\.google\.devtools\.ksp|com\.intellij"
            r"|org\.gradle\.(?:api|kotlin)|org\.jetbrains\.kotlin\.(?:backend|compiler|fir|gradle|ir)"
            r"|org\.apache\.maven\.plugins?|com\.android\.(?:build|tools\.lint))\.",
            re.MULTILINE,
        ),
    ),
    "csharp": TextPattern(
        r"^\s*\[(?:Generator|DiagnosticAnalyzer|ExportCodeFixProvider)\b"
        r"|^using (?:Microsoft\.Build\.(?:Framework|Utilities)|Nuke\.Common|Cake)\b",
        re.MULTILINE,
    ),
    "python": TextPattern(r"^(?:import|from) (?:setuptools|hatchling|invoke)\b", re.MULTILINE),
    **dict.fromkeys(
        ("javascript", "typescript"),
        TextPattern(
            r"""^import\b[^'"\n]*['"](?:@actions/core|@typescript-eslint/utils|eslint|jscodeshift|ts-morph|zx)['"]""",
            re.MULTILINE,
        ),
    ),
}
"""Imports of compilers, linters and build tools, of which a file is a part or a task."""
_RUN_ALONE = lazy_regex(
    rb"\A#!|^if __name__ == |\bprocess\.(?:argv|exit\()|\brequire\.main === module"
    rb"|^(?:await |void )?main\(\)",
    re.MULTILINE,
)
_BUILD_MODULES = lazy_regex(
    r"""^import\b[^'"\n]*['"](?:vite|webpack|rollup|esbuild|gulp(?:-\w+)?|@rollup/\S+|@vitejs/\S+|aws-cdk-lib\S*|@pulumi/\S+)['"]"""
    r"""|\brequire\(['"](?:vite|webpack|rollup|esbuild|gulp(?:-\w+)?)['"]\)""",
    re.MULTILINE,
)
_MAY_SERVE = ("listen(", "createServer(", "serve(", "start(", "run(", "fork(")
_SERVES = TextPattern(
    rb"\.listen\((?!\s*0\b)|\bcreateServer\((?!\s*\))|\bserve\(|\bserve_forever\b|\brun_forever\b|\bstart_server\("
    rb"|\b(?:uvicorn|gunicorn|hypercorn|waitress)\b|\bHTTPServer\b|\b(?:Flask|FastAPI|Quart|Sanic|Starlette)\(|\bapp\.run\("
    rb"|\bListenAndServe|\bnet\.Listen|\.Serve\(|\bhttp\.Server\{|\bgrpc\.NewServer\(|\bgrpc\.(?:aio\.)?server\("
    rb"|\b(?:TcpListener|HttpListener|WebApplication|BackgroundService|WebHost|UnixListener)\b"
    rb"|\bHost\.Create|\bHostApplicationBuilder\b|\bSpringApplication\b|@(?:Rest)?Controller\b"
    rb"|\bServerSocket\b|\.jetty\.|\bServerBootstrap\b"
    rb"|\b(?:axum|actix_web|warp|hyper::server|rocket)::|\btransport::Server\b|\bcluster\.fork\("
    rb"|\b[sS]erver(?:::new|\.(?:[sS]tart|[rR]un)\()|\b(?:run|start)_?[sS]erver\b|/server\"|\bsignal\.Notify"
)
_LASTS = TextPattern(
    rb"\bwhile\s*\(?\s*(?:True|1|true)\b|\bwhile\b[^\n]{0,40}(?:[cC]ancel|[sS]top|[sS]hut|[rR]unning)|\bloop\s*\{"
    rb"|^\s*for\s*\{|\bsetInterval\(|\bloop_forever\b|\b(?:start_)?consum(?:e|ing|er)\b|\bsubscribe\(|\bWorker\(",
    re.MULTILINE,
)
"""Loops that do not end by themselves, and consumers, as services have."""
_JS_COMMANDS = (
    r"(?:from|require\()\s*"
    r"['\"](?:commander|@commander-js/\S+|yargs(?:/\w+)?|@oclif/\w+|clipanion|citty)['\"]"
)
_COMMANDS = {
    "python": r"\bArgumentParser\(|^@click\.|\btyper\.Typer\(|\bAppGroup\("
    r"|^@(?:cli|\w+_cli|manager)\.command\b|\bsys\.argv\[1",
    "javascript": _JS_COMMANDS,
    "typescript": _JS_COMMANDS,
    "go": r"[ *&](?:cobra\.Command|cli\.(?:App|Command|Context)|kingpin\.\w+)\b|\bflag\.Parse\(\)",
    "java": r"^import (?:static )?(?:picocli|com\.beust\.jcommander|org\.apache\.commons\.cli)\.",
    "kotlin": r"^import (?:picocli|com\.github\.ajalt\.clikt|kotlinx\.cli)\.",
    "rust": r"\b(?:clap|structopt)::|\benv::args\(",
    "csharp": r"^using (?:System\.CommandLine|Spectre\.Console\.Cli)\b|\bnew RootCommand\(|^\s*\[Verb\(",
}
"""How commands and their arguments are declared, by language."""
_DECLARES = {name: TextPattern(text, re.MULTILINE) for name, text in _COMMANDS.items()}
_ARGUMENTS = ("flag.Parse()", "sys.argv[1", "env::args(")
"""Arguments that are read without a command that is declared."""
_BUILD_WORDS = ("vite", "webpack", "rollup", "esbuild", "gulp", "aws-cdk-lib", "@pulumi/")
_JVM_SCREENS = TextPattern(r"^import (?:androidx?|javafx|javax\.swing)\.", re.MULTILINE)
_SCREENS = {
    "java": _JVM_SCREENS,
    "kotlin": _JVM_SCREENS,
    "csharp": TextPattern(
        r"^using (?:Avalonia|System\.Windows\.(?!Input)|Microsoft\.(?:UI\.Xaml|Maui)|Windows\.UI)\b",
        re.MULTILINE,
    ),
    "python": TextPattern(r"^(?:from|import) (?:tkinter|PyQt\d|PySide\d?|kivy|wx)\b", re.MULTILINE),
}
"""Imports of libraries for windows and screens."""
_ANDROID_FOLDER = lazy_regex(
    r"(?:^|/)(?:[^/]+[-_])?android(?:main)?/(?:.+/)?[^/]+\.(?:java|kt)$", re.IGNORECASE
)
_CLI_FOLDER = lazy_regex(r"(?:^|/)(?:[^/]+[-_.])?(?:cli|command[-_]?line|cmdline)/", re.IGNORECASE)
_COMMAND_FOLDER = lazy_regex(r"(?:^|/)(?:cmd|commands?|src/bin)/", re.IGNORECASE)


def is_script(head: FileHead) -> bool:
    """Return whether a file is a tool of the project, by its place, its manifest and by what it says."""
    if _is_for_builds(head) or (head.language == "python" and is_in_scripts(head)):
        return True
    if head.language == "go":
        return _is_go_tool(head)
    if _PROJECT_OF_TOOLS.match(head.path):
        return True
    if head.language == "csharp" and "/generator/" in f"/{head.path.lower()}":
        return head.says(_MAIN["csharp"]) and not head.says(_SERVES)
    if _TOOLS.match(head.path) and head.says(_RUN_ALONE):
        return not head.says(_SERVES)
    if (_MADE_ONCE.match(head.path) or _NO_MODULE.match(head.path)) and head.says(_RUN_ALONE):
        return not head.says(_SERVES) and not head.says(_LASTS)
    if ".config." in head.path and _CONFIG.match(head.path):
        return True
    if head.language in ("javascript", "typescript") and "src/" not in head.path:
        may_build = any(word in head.text for word in _BUILD_WORDS)
        return may_build and _BUILD_MODULES.search(head.text) is not None and not head.says(_SERVES)
    return False


def is_in_scripts(head: FileHead) -> bool:
    """Return whether a file is in a folder of scripts. Inside a package of Python, and among sources, such a
    folder may hold code that others import."""
    if head.language == "python" and head.path.startswith(("scripts/", "script/", "contrib/")):
        return True
    if not _SCRIPTS.match(head.path):
        return False
    if head.language == "python":
        return "\nif __name__ ==" in head.text
    if head.language in _MAIN and ("/src/" in head.path or not _SCRIPTS_AT_TOP.match(head.path)):
        return head.says(_MAIN[head.language])
    return not _SOURCES.match(head.path) or head.says(_RUN_ALONE)


def _is_for_builds(head: FileHead) -> bool:
    project = head.project
    if any(each == head.path or each.endswith(f"/{head.path}") for each in project.tool_files):
        return not head.says(_SERVES)
    if not project.kinds.isdisjoint(("aspire", BUILDS, "gradle-plugin", "proc-macro", "roslyn")):
        return True
    if project.name and _TOOL_PACKAGE.fullmatch(project.name):
        return True
    imported = _COMPILER_IMPORTS.get(head.language)
    return imported is not None and imported.is_in(head.text) and not head.says(_SERVES)


def _is_go_tool(head: FileHead) -> bool:
    if _NOT_BUILT.is_in(head.text):
        return True
    is_program = "\npackage main\n" in f"\n{head.text}"
    if not is_program or not _GO_TOOLS.match(head.path):
        return False
    return not head.says(_SERVES) and (_FOR_DEVELOPERS.match(head.path) is not None or not head.says(_LASTS))


def is_command(head: FileHead) -> bool:
    """Return whether a file below the project's `bin` is a command; `bin/www` of Express starts a server."""
    return head.path.startswith("bin/") and not any(word in head.text for word in _MAY_SERVE)


def is_managed(head: FileHead) -> bool:
    """Return whether a file is a command of Django, which `manage.py` runs."""
    return "management/commands/" in head.path


def is_cli(head: FileHead) -> bool:
    """Return whether a file belongs to a command-line tool, by its folder or by commands that it declares.

    It does not serve and, unless its folder says what it is, does not run for long. Services read arguments,
    too, but seldom declare commands."""
    if _CLI_FOLDER.search(head.path):
        return not head.says(_SERVES)
    if not _declares_commands(head) or head.says(_SERVES):
        return False
    if _COMMAND_FOLDER.search(head.path) and not any(word in head.text for word in _ARGUMENTS):
        return True
    return not head.says(_LASTS)


def is_app(head: FileHead) -> bool:
    """Return whether a file belongs to an app with a screen."""
    screens = _SCREENS.get(head.language)
    if screens is not None and screens.is_in(head.text):
        return not head.says(_SERVES)
    project = head.project
    if not project.kinds.isdisjoint(("android", "vscode")) or project.has_any("electron", "tauri"):
        return not head.says(_SERVES)
    return _ANDROID_FOLDER.search(head.path) is not None


def _declares_commands(head: FileHead) -> bool:
    declares = _DECLARES.get(head.language)
    return declares is not None and declares.is_in(head.text)
