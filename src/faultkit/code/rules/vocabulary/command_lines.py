"""Programs of one user, at a terminal or in a browser, and branches that an option of theirs chooses."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

COMMAND_LINES = (
    "argparse", "optparse", "click", "typer", "docopt", "fire", "commander", "@commander-js/extra-typings",
    "yargs", "oclif", "@oclif/core", "inquirer", "cac", "github.com/spf13/cobra", "github.com/urfave/cli",
    "github.com/alecthomas/kingpin", "setuptools", "invoke", "fabric", "nox", "ora",
)  # fmt: skip
"""Libraries of command lines: their user sees that a program hangs, and ends it."""
_OF_COMMANDS = NamePattern(
    r"/cli(/v\d+)?$|^System\.CommandLine|(^|\.)(picocli|jcommander|clikt|airline)\b|^(clap|structopt|argh|gumdrop)\b"
)
_OF_USERS = (
    "commander", "@commander-js/extra-typings", "yargs", "@oclif/core", "cac", "inquirer",
    "@inquirer/prompts", "meow", "ink", "electron", "crossterm", "ratatui", "dialoguer", "indicatif",
    "inquire", "tauri", "egui", "iced", "Spectre.Console.Cli", "System.CommandLine", "CommandLineParser",
    "Avalonia", "Microsoft.Maui.Controls",
)  # fmt: skip
"""Packages of programs at a terminal or with a screen."""
_OF_SERVERS = (
    "express", "fastify", "koa", "hono", "@nestjs/core", "@hapi/hapi", "next", "nuxt", "@trpc/server",
    "bullmq", "axum", "actix-web", "warp", "rocket", "poem", "salvo", "tonic", "hyper", "tower-http",
    "Microsoft.NET.Sdk.Web",
)  # fmt: skip
"""Packages of services."""
_OF_BROWSER = lazy_regex(
    r"^(?:window\.\w|(?:local|session)Storage\.\w|(?:chrome|browser)\.(?:runtime|tabs|storage)\b"
    r"|document\.(?:getElement|querySelector|createElement|body|cookie|title|head|addEventListener|location))"
)
_BROWSER_WORDS = (b"window.", b"Storage.", b"chrome.", b"browser.", b"document.")
"""One of them is in each name that the pattern above matches."""
_FRAMEWORKS = TextPattern(
    rb"^['\"]use client['\"]|import\.meta\.env\.VITE_"
    rb"|\buse(?:Mutation|Query|QueryClient|State|Effect|Callback|Memo)\("
    rb"|(?:from|require\()\s*['\"](?:react|react-dom|vue|svelte|pinia|vuex|zustand|@angular/core|@reduxjs/toolkit)['\"/]",
    re.MULTILINE,
)
_GO_MAIN = TextPattern(rb"^package main\b", re.MULTILINE)
_GO_COMMANDS = TextPattern(rb"^package \w*(?:cmd|cli|commands?)$", re.MULTILINE)
_GO_SERVES = TextPattern(rb"ListenAndServe|http\.Server\{|\.Serve\(|HandleFunc|grpc\.NewServer|\.Run\([^)]")
_OPTION = lazy_regex(r"timeout|deadline", re.IGNORECASE)


def is_command_line(facts: Facts) -> bool:
    """Return whether a text imports a library of command lines."""
    return facts.imports_any(*COMMAND_LINES) or any(map(_OF_COMMANDS.search, facts.imports.all_modules))


def is_for_one_user(facts: Facts) -> bool:
    """Return whether a text is part of a program for a terminal or a browser: its user sees what hangs."""
    if is_command_line(facts) or _is_program_of_user(facts):
        return True
    source = facts.syntax.source
    if facts.language == "go":
        is_main = _GO_MAIN.search(source) is not None and facts.imports_any("flag")
        is_main = is_main or _GO_COMMANDS.search(source) is not None
        return is_main and _GO_SERVES.search(source) is None
    return is_for_browser(facts)


def _is_program_of_user(facts: Facts) -> bool:
    """Return whether the manifest names what draws on a terminal or screen, and nothing that serves."""
    return facts.project.has_any(*_OF_USERS) and not facts.project.has_any(*_OF_SERVERS)


@lru_cache(maxsize=4)
def is_for_browser(facts: Facts) -> bool:
    """Return whether a text of JavaScript uses what only a browser has, apart from comments and texts."""
    if facts.syntax.language.family != "javascript":
        return False
    if _FRAMEWORKS.search(facts.syntax.source) is not None or facts.calls_named("$"):
        return True  # `$` that is neither declared nor imported is jQuery.
    if not any(word in facts.syntax.source for word in _BROWSER_WORDS):
        return False
    return (
        any(map(_OF_BROWSER.match, facts.assigned_names))
        or any(_OF_BROWSER.match(each.written) for each in facts.calls)
        or any(_OF_BROWSER.match(each.written) for each in facts.accesses)
    )


_OF_PAGES = ("react-dom", "react-native", "vue", "svelte", "@angular/core", "preact", "solid-js", "nuxt")
_ON_SERVER = TextPattern(
    rb"\bprocess\.(?!env\.(?:NEXT_PUBLIC|NODE_ENV|VITE|REACT_APP))|^['\"]use server['\"]"
    rb"|\bBuffer\.|[pP]risma\b|['\"](?:server-only|next/(?:headers|server|cache)|node:\w+|fs|crypto|path|ioredis|express)['\"/]"
    rb"|\b(?:NextRequest|NextResponse|getServerSession|serverConfig)\b",
    re.MULTILINE,
)


def may_be_for_browser(facts: Facts) -> bool:
    """Return whether a text of a project with pages shows nothing that only a server has (JavaScript)."""
    return facts.project.has_any(*_OF_PAGES) and _ON_SERVER.search(facts.syntax.source) is None


def is_without_option(call: Call, facts: Facts) -> bool:
    """Return whether it is the branch for calls without a limit, beside one for those that have it."""
    for step in facts.steps_of("branch"):
        if is_within(call.span, step.span):
            head = facts.text(Span(step.span.start, min(step.span.start + 80, call.span.start)))
            if _OPTION.search(head.partition("{")[0].partition(":\n")[0]):
                return True
    return False
