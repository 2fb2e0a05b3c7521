"""Finds child processes that are awaited without a timeout.

Evidence that it matters: a request or a message waits for the program, the program is known to hang on bad
input, locks or servers, or a limit is there that does not end it. Programs that a command, a build or a job
runs may take as long as they need: `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.cancellation_limits import is_limited
from faultkit.code.rules.vocabulary.command_lines import is_command_line, is_without_option
from faultkit.code.rules.vocabulary.late_limits import late_limits
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of
from faultkit.code.rules.vocabulary.short_lives import repeated_around
from faultkit.code.rules.vocabulary.surviving_programs import surviving_programs
from faultkit.code.rules.vocabulary.waits import is_bounded

_RUNS = ("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
_WAITS = ("subprocess.Popen.wait", "subprocess.Popen.communicate")
_NODE = ("execSync", "execFileSync", "spawnSync", "exec", "execFile")


_QUICK = lazy_regex(
    r"""^[\[(]*\s*f?["'`](?:/\S*/)?(ps|pgrep|pkill|kill|taskkill|clear|cls|whoami|id|hostname|which|where|tput|stty"""
    r"""|stat|df|sysctl|lsof|lsb_release|sw_vers|reset|true|date)\b|--?version\b|--list-|--prefix\b|["'\s](version|rev-parse)\b""",
    re.IGNORECASE,
)
"""Programs that only report something of this machine, and end by themselves."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call, hit in _waits(facts):
        if _is_killed(call, facts):
            continue
        if facts.route_of(call) is None and (is_command_line(facts) or _is_quick(call, facts)):
            continue
        # A command's user sees that a program hangs, and ends it.
        if facts.language == "csharp" and b"Console." in facts.syntax.source:
            continue
        if _waited_before(call, facts) or is_without_option(call, facts):
            continue
        yield hit if _is_served(call, facts) else replace(hit, confidence=POSSIBLE)
    for _, span, what in late_limits(facts):
        yield Hit(span, what, LIKELY)
    for call, what in surviving_programs(facts):
        yield Hit(call.span, what, LIKELY)


def _is_served(call: Call, facts: Facts) -> bool:
    """Return whether a request or a message waits for the program, or another machine runs it."""
    return (
        frequency_of(call, facts) in ("request", "message")
        or repeated_around(call, facts) is not None
        or call.name.startswith(_REMOTE)
        or _LONG.search(facts.text_with_values(call if call.origin is None else call.origin)) is not None
    )


_LONG = lazy_regex(
    r"\b(ffmpeg|ffprobe|pg_dump|pg_restore|mysqldump|mongodump|soffice|libreoffice|wkhtmltopdf|pandoc|tesseract"
    r"|pdfto\w+|ghostscript|imagemagick|exiftool|clamscan|yt-dlp|chromium|google-chrome|unrar|7z|rsync)\b"
    r"|[\"'](?:convert|magick|gs)[\"']"
)
"""Programs that read what others have made, or wait for a server or a lock: any input may hold them up."""
_REMOTE = ("asyncssh.", "fabric.", "golang.org/x/crypto/ssh")


def _waited_before(call: Call, facts: Facts) -> bool:
    """Return whether the same process was waited for with a limit, and this flushes its output (C#)."""
    return call.method == "WaitForExit" and any(
        each.arguments and each.receiver_written == call.receiver_written and each.span.end <= call.span.start
        for each in facts.own(facts.calls_of_method("WaitForExit"), facts.function_of(call))
    )


def _is_killed(call: Call, facts: Facts) -> bool:
    """Return whether the process was killed just before, so that it ends whatever it does."""
    killed = [
        each
        for each in facts.calls_of_method("kill", "Kill", "destroyForcibly", "start_kill")
        if each.receiver_written == call.receiver_written != "" and each.span.end <= call.span.start
    ]
    return bool(killed) and facts.text(Span(killed[-1].span.end, call.span.start)).count("\n") <= 3


def _is_quick(call: Call, facts: Facts) -> bool:
    process = call if call.origin is None else call.origin
    first = process.argument(place=0)
    if first is not None and _QUICK.search(" ".join(each.value.text for each in process.positional)):
        return True
    # The process was told to end before it is waited for.
    scope = facts.function_of(call)
    return call.name in _WAITS and any(
        each.method in ("kill", "terminate", "send_signal") and facts.function_of(each) is scope
        for each in facts.calls_on(process)
    )


def _waits(facts: Facts) -> Iterator[tuple[Call, Hit]]:
    for call in facts.calls_named(*_RUNS, *_WAITS):
        in_route = facts.route_of(call) is not None
        if not call.has("timeout") and not call.spreads and not (call.name in _WAITS and call.positional):
            if _uses_terminal(call) and call.name != "subprocess.Popen.wait" and not in_route:
                continue
            sure = LIKELY if in_route or not _uses_terminal(call) else POSSIBLE
            severity: Severity | None = "high" if in_route else None
            yield call, Hit(call.span, f"{call.written}() waits without a timeout", sure, severity)
    for call in facts.calls_named(*(f"child_process.{name}" for name in _NODE)):
        options = [each for each in call.positional[1:] if each.value.shape in ("name", "call", "other")]
        if call.has("timeout", "signal") or call.spreads or options:
            continue
        stdio = call.argument("stdio")
        shown = stdio is not None and "inherit" in stdio.value.text
        # With a callback, only its own caller waits.
        aside = not call.method.endswith("Sync") and not call.is_awaited and facts.route_of(call) is None
        if not shown and not aside:
            yield call, Hit(call.span, f"{call.written}() waits without a timeout", LIKELY)
    yield from _of_other_languages(facts)
    yield from _through_promises(facts)
    yield from _by_ssh(facts)
    yield from _spawned(facts)
    for call in facts.calls_of_method("communicate", "wait") if facts.language == "python" else ():
        made = call.origin
        if made is None or not made.name.startswith("asyncio.create_subprocess_"):
            continue
        if call.is_awaited and not is_bounded(call, facts):
            yield call, Hit(call.span, f"{call.written}() waits until the program ends by itself", LIKELY)
    for call in facts.calls_named("os/exec.Command"):
        ends = [
            each
            for each in facts.calls_on(call)
            if each.method in ("Run", "Output", "CombinedOutput", "Wait")
        ]
        if ends and not is_bounded(call, facts) and not _has_terminal(call, facts):
            yield call, Hit(call.span, f"{call.written}() runs until the program ends by itself", LIKELY)


_ENDS = lazy_regex(r"\.(?:on|once)\(\s*['\"`](?:close|exit)['\"`]")
_KILLS = lazy_regex(r"\.kill\(|\bsetTimeout\(|AbortSignal|\bsignal\b|tree-?[kK]ill")


def _spawned(facts: Facts) -> Iterator[tuple[Call, Hit]]:
    """Yield programs whose end a promise waits for, in a text that ends none (JavaScript)."""
    for call in facts.calls_named("child_process.spawn", "child_process.fork"):
        if call.has("timeout", "signal", "detached") or call.spreads:
            continue
        stdio = call.argument("stdio")
        options = [each for each in call.positional[2:] if each.value.shape in ("name", "call", "other")]
        if options or (stdio is not None and "inherit" in stdio.value.text):
            continue
        scope = facts.named_function_of(call)
        text = "" if scope is None else facts.text(scope.body)
        waits = "new Promise" in text and _ENDS.search(text) is not None
        if waits and _KILLS.search(facts.whole_text) is None:
            yield call, Hit(call.span, f"{call.written}() runs until the program ends by itself", LIKELY)


_SSH_RUNS = (
    "asyncssh.connect().run",
    "asyncssh.SSHClientConnection.run",
    "fabric.Connection.run",
    "fabric.Connection.sudo",
)
_SESSION = NamePattern(
    r"^golang\.org/x/crypto/ssh\.(.*\.)?(NewSession\(\)|Session)\.(Run|Output|CombinedOutput|Wait)$"
)
_OTHER_END = lazy_regex(r"\btime\.(?:After|AfterFunc|NewTimer)\(|\.Done\(\)|SetDeadline|context\.AfterFunc")


def _by_ssh(facts: Facts) -> Iterator[tuple[Call, Hit]]:
    """Yield programs on other machines: a limit of connecting is none of what runs there."""
    if facts.language == "python":
        for call in facts.calls_named(*_SSH_RUNS):
            if not call.has("timeout") and not call.spreads and not is_bounded(call, facts):
                yield call, Hit(call.span, f"{call.written}() waits until the program ends by itself", LIKELY)
    elif facts.language == "go" and facts.imports_any("golang.org/x/crypto/ssh"):
        for call in facts.calls_of_method("Run", "Output", "CombinedOutput", "Wait"):
            if _SESSION.match(call.name) and not _OTHER_END.search(facts.whole_text):
                yield call, Hit(call.span, f"{call.written}() waits until the program ends by itself", LIKELY)


_WRAPPED = lazy_regex(r"\b(?:promisify|pify)\(\s*(?:\w+\.)?(execFile|exec)\s*\)")


def _through_promises(facts: Facts) -> Iterator[tuple[Call, Hit]]:
    """Yield programs that are awaited through a promise, or by execa, without a limit (JavaScript)."""
    if facts.syntax.language.family != "javascript":
        return
    names = {
        each.targets[0]
        for each in facts.assignments
        if each.value is not None and len(each.targets) == 1 and _WRAPPED.search(each.value.text)
    }
    calls = [*facts.calls_of_method(*names)] if names else []
    calls += facts.calls_named("execa.execa", "execa", "execa.execaCommand", "execa.$")
    for call in calls:
        named = any(each.value.shape in ("name", "call", "other") for each in call.positional[2:])
        if (
            call.is_awaited
            and not named
            and not call.has("timeout", "signal", "cancelSignal")
            and not call.spreads
        ):
            stdio = call.argument("stdio")
            if not is_bounded(call, facts) and (stdio is None or "inherit" not in stdio.value.text):
                yield call, Hit(call.span, f"{call.written}() waits without a timeout", LIKELY)


_RUST = NamePattern(r"^(tokio|std)\.process\.(Command|Child)\b.*\.(output|status|wait|wait_with_output)$")
_JAVA = NamePattern(
    r"(^|\.)(ProcessBuilder\b.*\.start\(\)|Runtime\.getRuntime\(\)\.exec\(\)|Process)\.waitFor$"
)


def _of_other_languages(facts: Facts) -> Iterator[tuple[Call, Hit]]:
    """Yield programs that a function waits for without a limit."""
    for call in facts.calls if facts.language in ("java", "kotlin", "csharp", "rust") else ():
        what = f"{call.written}() waits until the program ends by itself"
        if facts.language in ("java", "kotlin"):
            found = _JAVA.search(call.name) is not None and not call.arguments
        elif facts.language == "csharp":
            # `Process.Start(info) ?? throw …` hides the type; no other class has these methods.
            waits = (call.method == "WaitForExit" and not call.arguments) or (
                call.method == "WaitForExitAsync" and is_limited(call, facts) is False
            )
            # The user of a window sees that a program hangs.
            found = waits and not facts.imports_any("System.Windows.Forms", "System.Windows")
        else:
            # A thread that waits is a matter of its own; a task that waits is found here.
            found = _RUST.match(call.name) is not None and call.is_awaited and not facts.imports_any("clap")
        if found and not is_bounded(call, facts):
            yield call, Hit(call.span, what, LIKELY)


def _has_terminal(call: Call, facts: Facts) -> bool:
    """Return whether a Go program reads from or writes to the terminal of its user."""
    names = {f"{name}.{each}" for name in call.assigned for each in ("Stdin", "Stdout", "Stderr")}
    given = [
        each.value.text for each in facts.assignments if names & {*each.targets} and each.value is not None
    ]
    return any(re.search(r"\b[oO]s\.Std|\.(In|Out|ErrOut)\b|^std(in|out)$", text) for text in given)


def _uses_terminal(call: Call) -> bool:
    """Return whether it has the terminal, as an editor or a pager does: the user can end it."""
    process = call if call.origin is None else call.origin
    if call.name == "subprocess.check_output" or process.spreads:
        return False
    return not process.has("stdin", "stdout", "stderr", "capture_output", "input", "check")


RULE = Rule(
    id="FK-R004",
    slug="subprocess-without-timeout",
    title="Program run without a timeout",
    why="A program that hangs, or asks for input, hangs everything that waits for it.",
    fix="Pass a timeout (Go: use exec.CommandContext with a deadline) and end the program when it is over.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"subprocess", b"child_process", b"os/exec", b"waitFor", b"WaitForExit", b"process::", b"::process",
        b"process as", b"execa", b"ssh", b"fabric", b"Popen",
    ),
)  # fmt: skip
