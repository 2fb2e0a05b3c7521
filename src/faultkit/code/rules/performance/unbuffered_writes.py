"""Finds files that are written in small pieces without a buffer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import GO, LIKELY, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.data_sizes import is_over_data

_OPENS = frozenset(
    (
        "os.Create",
        "os.OpenFile",
        "os.CreateTemp",
        "std.fs.File.create",
        "File.create",
        "std.fs.OpenOptions.open",
    )
)
_WRITES = frozenset(
    ("writeln", "write", "write_all", "WriteString", "Write", "Fprintf", "Fprintln", "Fprint")
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.name not in _OPENS or not call.assigned:
            continue
        name, scope = call.assigned[0], facts.function_of(call)
        if scope is None or not name.isidentifier():
            continue
        for write in facts.within(facts.calls, scope.body):
            if write.method not in _WRITES or not _is_on(name, write):
                continue
            around = [loop for loop in facts.loops_around(write) if not is_within(call.span, loop.body)]
            if any(is_over_data(loop, facts) for loop in around):
                what = f"{write.written}() writes each piece to the file with a call of the system"
                yield Hit(write.span, what, LIKELY)
                break


def _is_on(name: str, write: Call) -> bool:
    if write.receiver_written == name:
        return True
    first = write.argument(place=0)
    return first is not None and re.sub(r"^&(mut )?", "", first.value.text) == name


RULE = Rule(
    id="FK-P036",
    slug="unbuffered-writes",
    title="File written piece by piece without a buffer",
    why="Each line is a call of the system: an export of a million lines takes minutes instead of a second.",
    fix="Write through bufio.NewWriter (Go) or BufWriter (Rust), and flush it at the end.",
    kind="performance",
    severity="medium",
    languages=(*GO, *RUST),
    check=_check,
    words=(b"os.Create", b"os.OpenFile", b"File::create", b"OpenOptions"),
)
