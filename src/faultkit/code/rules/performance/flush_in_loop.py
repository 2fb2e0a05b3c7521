"""Finds loops that wait for the disk in every round."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.repetition import is_over_items, uses_item

_FORCES = frozenset(
    (
        "os.fsync", "os.fdatasync", "os.sync", "fs.fsyncSync", "fs.writeFileSync", "fs.appendFileSync",
        "fs/promises.appendFile", "fs.promises.appendFile",
    )
)  # fmt: skip
_FLUSHES = ("flush", "Flush", "Sync", "force", "getFD().sync")
_OPENS = ("open", "io.open", "os.OpenFile", "print")
_FILES = lazy_regex(
    r"^(open|io\.open|gzip\.open|pathlib\.Path\.open|os\.Create|os\.OpenFile|bufio\.NewWriter)\(\)$|os\.File$"
    r"|(^|\.)(FileWriter|FileOutputStream|BufferedWriter|PrintWriter|BufferedOutputStream)$|csv\.NewWriter\(\)$"
)
_FILE_NAMES = ("out", "output", "f", "fh", "fp", "file", "csvfile", "outfile", "out_file")
_APPENDS = lazy_regex(r"^['\"]a[bt+]*['\"]$")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.name not in _FORCES and call.method not in _FLUSHES and call.name not in _OPENS:
            continue
        loops = [loop for loop in facts.loops_around(call) if is_over_items(loop) or _is_reading_loop(loop)]
        if not loops:
            continue
        if call.name in _FORCES:
            if not call.name.endswith("writeFileSync") or _same_file(call, facts):
                yield Hit(call.span, f"{call.written}() waits for the disk for every item", LIKELY)
        elif call.method in _FLUSHES and call.receiver_written and not call.arguments and call.is_discarded:
            own = _opened_inside(call, loops[-1].body.start)
            if own or _is_terminal(call) or _is_rare(call, loops[-1], facts) or not _is_file(call):
                continue
            if call.receiver_written.partition(".")[0] not in loops[-1].targets:
                mild: Severity | None = None if call.method == "Sync" else "low"
                yield Hit(call.span, f"{call.written}() flushes its output for every item", LIKELY, mild)
        elif call.name in ("open", "io.open") and _opens_again(call, loops[-1].targets):
            yield Hit(call.span, f"{call.written}() opens the same file again for every item", LIKELY)
        elif call.name == "print" and call.has("flush") and "True" in facts.text(call.span):
            yield Hit(call.span, "print() flushes its output for every item", LIKELY, "low")
        elif (
            call.name == "os.OpenFile"
            and "O_APPEND" in facts.text(call.span)
            and not uses_item(call, loops[-1], facts)
        ):
            yield Hit(call.span, f"{call.written}() opens the same file again for every item", LIKELY)


def _is_reading_loop(loop: Loop) -> bool:
    """Return whether each round reads on: `while ((b = in.read()) != -1)`, `while scanner.Scan()`."""
    return (
        loop.kind in ("while", "count") and re.search(r"\b(read\w*|next|Next|Scan)\(", loop.over) is not None
    )


def _is_terminal(call: Call) -> bool:
    return (
        re.search(r"stdout|stderr|response|res$|session|entityManager|em$", call.receiver_written) is not None
    )


def _is_file(call: Call) -> bool:
    """Return whether a file is known to be behind it: a flush of a protocol or a log handler is meant."""
    return _FILES.search(call.receiver) is not None or call.receiver_written in _FILE_NAMES


def _same_file(call: Call, facts: Facts) -> bool:
    first = call.argument(place=0)
    return first is not None and not uses_item(call, facts.loops_around(call)[-1], facts)


def _is_rare(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether it is done once in many rounds: `if n % 1000 == 0: out.flush()`."""
    inside = facts.within(facts.steps, loop.body)
    return any(step.kind == "branch" and is_within(call.span, step.span) for step in inside)


def _opened_inside(call: Call, start: int) -> bool:
    """Return whether the file was opened for the item, and so may be flushed with it."""
    return call.origin is not None and call.origin.span.start >= start


def _opens_again(call: Call, targets: tuple[str, ...]) -> bool:
    first, mode = call.argument("file", place=0), call.argument("mode", place=1)
    if first is None or mode is None or not _APPENDS.match(mode.value.text):
        return False
    words = {word for each in targets for word in re.findall(r"\w+", each)}
    return first.value.shape in ("text", "name") and not words & {*re.findall(r"\w+", first.value.text)}


RULE = Rule(
    id="FK-P014",
    slug="disk-wait-in-loop",
    title="Wait for the disk in a loop",
    why="Each wait takes milliseconds, so a loop of ten thousand items takes minutes for seconds of work.",
    fix="Open it once, write with a buffer, and flush once at the end or every few thousand items.",
    kind="performance",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
