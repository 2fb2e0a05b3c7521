"""Finds children that are waited for while nothing reads what they write.

Evidence that it matters: the wait has no end of its own. After a wait with a limit the child has ended, or is
given up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, EVERY_LANGUAGE, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, Hit, Rule

_WHAT = "waits for a child whose {0} is a pipe that nothing reads: when the pipe is full, both wait for ever"


_SHORT = lazy_regex(
    r"""["'](?:/usr)?(?:/bin/)?(?:which|where|whoami|id|hostname|uname|pwd|groups|sw_vers)(?:\.exe)?(?:\s[^"']*)?["']"""
    r"""|["']--version["']"""
)
"""Commands that write one line, which a pipe always holds."""


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "python":
        yield from _python(facts)
    elif facts.language == "go":
        yield from _go(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
    elif facts.language in CSHARP:
        yield from _csharp(facts)
    elif facts.language in JAVASCRIPT:
        yield from _node(facts)
    else:
        yield from _jvm(facts)


def _between(made: Call, wait: Call, facts: Facts) -> str:
    """Return the text from where a child is made to where it is waited for."""
    return facts.text(Span(made.span.end, wait.span.start))


def _waits(made: Call, methods: tuple[str, ...], facts: Facts) -> Iterator[tuple[str, Call]]:
    """Yield the calls in the same function that wait for a child, with its name."""
    scope = facts.named_function_of(made)
    for name in made.assigned:
        for call in facts.calls_of_method(*methods):
            is_mine = call.receiver_written == name.removeprefix("mut ") and call.span.start > made.span.end
            if is_mine and facts.named_function_of(call) is scope:
                yield call.receiver_written, call


def _python(facts: Facts) -> Iterator[Hit]:
    for made in facts.calls_named(
        "subprocess.Popen", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"
    ):
        piped = [
            name
            for name in ("stdout", "stderr")
            if (given := made.argument(name)) and given.value.text.endswith("PIPE")
        ]
        for name, wait in _waits(made, ("wait",), facts):
            text = _between(made, wait, facts)
            left = [pipe for pipe in piped if not re.search(rf"\b{re.escape(name)}\.{pipe}\b", text)]
            if re.search(rf"\b{re.escape(name)}\.communicate\b|[(,]\s*{re.escape(name)}\s*[,)]", text):
                continue
            if left:
                yield Hit(wait.span, f"{wait.written}() {_WHAT.format(left[0])}", LIKELY)
                break


def _jvm(facts: Facts) -> Iterator[Hit]:
    for made in facts.calls_of_method("start", "exec"):
        if not re.search(r"ProcessBuilder\b|Runtime\.getRuntime\(\)", made.name):
            continue
        scope = facts.named_function_of(made)
        body = facts.whole_text if scope is None else facts.text(scope.span)
        if re.search(
            r"inheritIO|redirectOutput\(|Redirect\.|DISCARD|onExit|CompletableFuture|Thread\(|submit\(", body
        ):
            continue
        for name, wait in _waits(made, ("waitFor",), facts):
            text = _between(made, wait, facts)
            reads = re.search(r"[iI]nputStream|[iI]nputReader|errorStream|ErrorStream", text)
            if reads is None and not re.search(rf"[(,]\s*{re.escape(name)}\s*[,)]", text):
                confidence = POSSIBLE if _SHORT.search(body) else LIKELY
                yield Hit(wait.span, f"{wait.written}() {_WHAT.format('output')}", confidence)
                break
    if facts.language in KOTLIN:
        # `ProcessBuilder("convert", a, b).start().waitFor()`
        for wait in facts.calls_of_method("waitFor"):
            text = facts.text(wait.span)
            if "ProcessBuilder(" in text and not re.search(
                r"inheritIO|redirectOutput|Redirect\.|nputStream", text
            ):
                yield Hit(wait.span, f"{wait.method}() {_WHAT.format('output')}", LIKELY)


def _csharp(facts: Facts) -> Iterator[Hit]:
    for wait in facts.calls_of_method("WaitForExit", "WaitForExitAsync", "ReadToEnd"):
        scope = facts.named_function_of(wait)
        body = facts.whole_text if scope is None else facts.text(scope.span)
        start = 0 if scope is None else scope.span.start
        before = facts.text(Span(start, wait.span.start))
        outputs = [
            each for each in ("Output", "Error") if re.search(rf"RedirectStandard{each}\s*=\s*true", body)
        ]
        if not outputs or re.search(
            r"BeginOutputReadLine|BeginErrorReadLine|DataReceived|ReadToEndAsync|CopyToAsync", body
        ):
            continue
        unread = [each for each in outputs if f"Standard{each}.Read" not in before]
        if _is_given_away(wait.receiver_written.partition(".")[0], before):
            continue
        if wait.method != "ReadToEnd":
            if unread:
                limited = wait.method == "WaitForExit" and wait.arguments
                confidence = POSSIBLE if limited or _SHORT.search(body) else LIKELY
                what = f"{wait.written}() {_WHAT.format(f'Standard{unread[0]}')}"
                yield Hit(wait.span, what, confidence)
        elif len(outputs) == 2 and len(unread) == 2 and not re.search(r"WaitForExit|HasExited", before):
            other = "Error" if "StandardOutput" in wait.written else "Output"
            yield Hit(wait.span, f"{wait.written}() {_WHAT.format(f'Standard{other}')}", LIKELY)


def _is_given_away(name: str, before: str) -> bool:
    """Return whether a child is given to another function or object, which may read its output."""
    return re.search(rf"[(,]\s*{re.escape(name)}\s*[,)]", before) is not None


def _go(facts: Facts) -> Iterator[Hit]:
    for made in facts.calls_of_method("StdoutPipe", "StderrPipe"):
        scope, pipe = facts.function_of(made), made.assigned[0] if made.assigned else ""
        if scope is None or not pipe or pipe == "_":
            continue
        for wait in facts.own(facts.calls_of_method("Wait"), scope):
            if (
                wait.receiver_written != made.receiver_written
                or wait.span.start < made.span.end
                or wait.is_deferred
            ):
                continue
            if not re.search(rf"\b{re.escape(pipe)}\b", _between(made, wait, facts)):
                yield Hit(
                    wait.span, f"{wait.written}() {_WHAT.format(made.method.removesuffix('Pipe'))}", LIKELY
                )


def _rust(facts: Facts) -> Iterator[Hit]:
    for made in facts.calls_of_method("spawn"):
        text = facts.text(made.span)
        piped = [
            name
            for name in ("stdout", "stderr")
            if re.search(rf"\.{name}\(\s*(\w+::)*Stdio::piped\(\)", text)
        ]
        holders = [*made.assigned]
        holders += [name for each in facts.assignments if each.call is made for name in each.targets]
        if not piped or not holders:
            continue
        for name in holders:
            bare = name.removeprefix("mut ")
            for wait in facts.calls_of_method("wait", "try_wait"):
                if wait.receiver_written != bare or wait.span.start < made.span.end:
                    continue
                left = [
                    pipe
                    for pipe in piped
                    if not re.search(rf"\b{bare}\s*\.{pipe}\b", _between(made, wait, facts))
                ]
                if left and facts.named_function_of(wait) is facts.named_function_of(made):
                    yield Hit(wait.span, f"{wait.written}() {_WHAT.format(left[0])}", LIKELY)
                    break


def _node(facts: Facts) -> Iterator[Hit]:
    for made in facts.calls_named("child_process.spawn", "cross-spawn", "execa"):
        name = made.assigned[0] if made.assigned else ""
        if not name or not name.isidentifier() or made.name == "execa" or made.spreads:
            continue
        options = made.positional[2].value.text if len(made.positional) > 2 else ""
        if (
            made.has("stdio")
            or re.search(r"stdio|detached|\.\.\.", facts.text(made.span))
            or options.isidentifier()
        ):
            continue
        scope = facts.named_function_of(made)
        body = facts.whole_text if scope is None else facts.text(scope.span)
        own = re.escape(name)
        waits = re.search(rf"\b{own}\.(on|once)\(\s*['\"](close|exit)['\"]|once\(\s*{own}\s*,", body)
        reads = re.search(
            rf"\b{own}\??\.(stdout|stderr|stdio|unref)\b|return {own}\b|[(,]\s*{own}\s*[,)]", body
        )
        if waits is not None and reads is None:
            yield Hit(
                made.span, f"{made.written}() {_WHAT.format('output').replace('waits for', 'starts')}", LIKELY
            )


RULE = Rule(
    id="FK-R124",
    slug="undrained-pipe",
    title="Child waited for whose output nothing reads",
    why="A pipe holds some 64 KiB: a child that writes more stops in the middle, and the wait ends with the "
    "time limit or never.",
    fix="Read the output while the child runs (communicate(), wait_with_output, a thread), or use a file.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"Popen",
        b"create_subprocess",
        b"ProcessBuilder",
        b"getRuntime",
        b"RedirectStandard",
        b"StdoutPipe",
        b"StderrPipe",
        b"piped()",
        b"spawn(",
    ),
)
