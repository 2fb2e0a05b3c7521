"""Loops that go on to read from what has ended: closed channels, streams at their end.

    for {                                        loop {
        select {                                     if let Some(job) = jobs.recv().await {
        case a, ok := <-left:                            run(job).await;
            if !ok { leftEnded = true; continue }    }
        case b, ok := <-right: ...               }
        }
    }

A receive from a closed channel returns at once, for ever: it must leave the loop, or not be asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, Place, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.brackets import end_of_bracket
from faultkit.code.rules.vocabulary.channels import ChannelUse, cases_of, channel_uses

_OK = lazy_regex(r"^(\w+|_)\s*,\s*(\w+)\s*:?=\s*<-")
_ONE = lazy_regex(r"^(\w+)\s*:?=\s*<-")
_LEAVES = lazy_regex(r"\b(return|goto|panic\(|os\.Exit\(|log\.Fatal\w*\(|break\s+\w+|continue\s+\w+)")
_CLOSES = lazy_regex(r"\bclose\(\s*([\w.]+)\s*\)")
_TOLD = (
    r"\b(?:close[sd]?|closing)\b[^.\n]{{0,40}}\b{0}\b"
    r"|\b{0}\b[^.\n]{{0,40}}\b(?:is|are|be|been|gets?)\s+closed\b"
)
_CHECKED = r"\b{0}\s*(?:==|!=)\s*(?:nil|\"\"|0)|\blen\({0}|\b{0}\.(?:Err|Error|Canceled|IsClosed)\b"
"""A look at a received value that tells whether the channel has ended."""
_OF_LIBRARY = lazy_regex(
    r"\.(ResultChan|Channel|ChannelSize|Chan|Events|Messages|Consume|ConsumeWithContext|Watch|Subscribe|NotifyClose"
    r"|NotifyReturn|Updates|Errors|Successes)(\(\))?$"
)
"""Methods and fields of clients that give a channel, which they close when their connection ends."""
_OWN = frozenset(("Subscribe", "Watch", "Events", "Updates"))
"""Those of them that objects of a program often have as well."""
_SIGNALS = lazy_regex(
    r"done|stop|quit|ctx|cancel|shut|clos|exit|tick|timer|\.C$|After\(|signal|sig$", re.IGNORECASE
)


def ended_sources(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield receives that a loop repeats at once after their source has ended, with what happens."""
    if facts.language == "go":
        yield from _go(facts)
    elif facts.language == "rust":
        yield from _rust(facts)
    elif facts.language == "kotlin":
        yield from _by_text(facts, _KOTLIN)
    elif facts.language == "csharp":
        yield from _by_text(facts, _CSHARP)
    elif facts.language == "python":
        yield from _by_text(facts, _PYTHON)
    elif facts.language in ("javascript", "typescript", "tsx"):
        yield from _by_text(facts, _JAVASCRIPT)
    elif facts.language == "java":
        yield from _by_text(facts, _JAVA)


# Go: the receive of a closed channel.


def _go(facts: Facts) -> Iterator[tuple[Span, str]]:
    for use in channel_uses(facts):
        loops = facts.loops_around(use)
        if use.sends or use.select is None or not loops or loops[-1].kind not in ("endless", "while"):
            continue
        case = next((each for each in cases_of(use.select, facts) if _is_of(use, each[0])), None)
        if case is None:
            continue
        of_library = _is_of_library(use, facts)
        if _SIGNALS.search(use.channel) and not of_library:
            continue
        checked = _OK.match(case[0])
        if checked is not None:
            is_ended = of_library or not _is_ended_by_owner(use, facts)
            if is_ended and _goes_on_when_closed(use, checked[2], case[1], loops[-1], facts):
                what = f"after {use.channel} is closed, its receive is always ready and the loop spins"
                yield use.span, what
        elif _ONE.match(case[0]) and (of_library or _is_closed(use, facts)) and not _is_left(case):
            what = (
                f"once {use.channel} is closed, the receive returns an empty value at once and the loop spins"
            )
            yield use.span, what


def _is_of(use: ChannelUse, head: str) -> bool:
    return re.search(rf"<-\s*{re.escape(use.channel)}$", head.strip()) is not None


def _goes_on_when_closed(use: ChannelUse, ok: str, body: str, loop: Loop, facts: Facts) -> bool:
    """Return whether a closed channel is received from again: neither left, nor set to nil."""
    found = re.search(
        rf"\bif\s+(?P<first>[^;{{}}\n]*;\s*)?(!\s*{re.escape(ok)}\b|{re.escape(ok)}\s*\{{)", body
    )
    if found is None or use.select is None:
        return False
    if found[2].startswith("!"):
        arm = _block(body, found.end())
        if re.match(r"[^{]*(\|\||&&)", body[found.end() :]):
            return False
    else:
        block = _block(body, found.start())
        rest = body[body.find(block, found.start()) + len(block) :]
        arm = _block(rest, 0) if re.match(r"\W*else\b", rest) else rest
    if _LEAVES.search(arm) or re.search(rf"\b{re.escape(use.channel)}\s*(?:,\s*\w+\s*)?=[^=]", arm):
        return False
    if re.search(
        r"\b(Sleep|reconnect|resubscribe|restart|kill|cancel|stop|shutdown)\w*\(", arm, re.IGNORECASE
    ):
        return False
    # Also those that the head sets: `if open = ok; !ok {`.
    flags = {*re.findall(r"\b(\w+)\s*(?:=[^=]|\+\+|--)", (found["first"] or "") + arm)}
    if not flags:
        return not _follows_exit(use.select, loop, facts)
    return not _ends_by_flag(flags, loop, use.select, facts)


def _is_ended_by_owner(use: ChannelUse, facts: Facts) -> bool:
    """Return whether a channel of an object is closed elsewhere, if at all, and a context ends the loop."""
    if "." not in use.channel or use.select is None or _is_closed(use, facts):
        return False
    return any(
        re.search(r"<-\s*[\w.]*(ctx|[cC]ontext)\w*\.Done\(\)", head)
        for head, _ in cases_of(use.select, facts)
    )


def _block(text: str, start: int) -> str:
    """Return the first block in braces from a place on."""
    first = text.find("{", start)
    end = None if first < 0 else end_of_bracket(text, first + 1, "}")
    return text[start:] if end is None else text[first : end + 1]


def _ends_by_flag(flags: set[str], loop: Loop, select: Span, facts: Facts) -> bool:
    """Return whether one flag alone ends the loop; of `!aEnded || !bEnded` it does not."""
    word = re.compile("|".join(rf"\b{re.escape(flag)}\b" for flag in flags))
    if loop.kind == "while" and word.search(loop.over) and "||" not in loop.over:
        return True
    for step in facts.within(facts.steps, loop.body):
        if step.span == select:
            continue
        if step.kind == "branch" and word.search(step.text) and "&&" not in step.text:
            leaves = not is_within(step.span, select) or _LEAVES.search(facts.text(step.span))
            if leaves:
                return True
    return False


def _follows_exit(select: Span, loop: Loop, facts: Facts) -> bool:
    """Return whether the loop is left after the select, where a plain `break` leads to."""
    after = facts.text(Span(select.end, loop.body.end))
    return re.search(r"\b(return|break)\b", after) is not None


def _is_left(case: tuple[str, str]) -> bool:
    """Return whether the case looks at the value before it goes on: `if line == "" { return }`."""
    found = re.match(r"(\w+)", case[0])
    name = "" if found is None else found[1]
    return (
        re.search(_CHECKED.format(re.escape(name)), case[1]) is not None
        or re.match(r"\s*return\b", case[1]) is not None
        or (
            re.search(r"^\s*(return|break \w+)\b", case[1], re.MULTILINE) is not None and "if " not in case[1]
        )
    )


def _is_of_library(use: ChannelUse, facts: Facts) -> bool:
    if use.channel.endswith(")"):
        path, _, _ = use.channel.partition("(")
        owner, _, method = path.rpartition(".")
        if method in _OWN and not any(
            each.call is not None and "/" in each.call.name
            for each in facts.assignments_to(owner.partition(".")[0], use)
        ):
            return False
        return _OF_LIBRARY.search(path) is not None and "time." not in use.channel
    if not use.channel.isidentifier():
        return False
    # One of an object of this program is closed by its subscriber, if at all: `s.hub.Subscribe(topic)`.
    return any(
        each.call is not None
        and _OF_LIBRARY.search("." + each.call.method) is not None
        and not (each.call.method in _OWN and "/" not in each.call.name)
        for each in facts.assignments_to(use.channel, use)
    )


def _is_closed(use: ChannelUse, facts: Facts) -> bool:
    """Return whether this text closes a channel, or says that it is closed."""
    last = use.channel.rpartition(".")[2]
    if not last.isidentifier():
        return False
    reader = facts.function_of(use)
    for found in _CLOSES.finditer(facts.whole_text):
        if found[1].rpartition(".")[2] != last:
            continue
        place = Place(facts.syntax.place_of(found, 0))
        # The reader itself closes it when its loop has ended, or as it leaves.
        if facts.function_of(place) is not reader and _is_same(use, found[1], place, facts):
            return True
    scope = facts.named_function_of(use)
    if scope is None:
        return False
    above = facts.text(Span(max(0, scope.span.start - 400), scope.span.start))
    comment = "\n".join(line for line in above.split("\n") if line.startswith("//"))
    return re.search(_TOLD.format(re.escape(last)), comment) is not None


_RECEIVER = lazy_regex(r"func\s*\(\s*(\w+)")


def _is_same(use: ChannelUse, closed: str, place: Place, facts: Facts) -> bool:
    """Return whether two paths name one channel: fields of the same name belong to the same type."""
    if "." not in use.channel or "." not in closed:
        return "." not in use.channel and "." not in closed
    return _owner(use.channel, use, facts) == _owner(closed, place, facts)


def _owner(path: str, place: Place | ChannelUse, facts: Facts) -> str:
    """Return the type whose method names its own field, or the name of another object."""
    name = path.partition(".")[0]
    scope = next(facts.functions_around(place), None)
    receiver = None if scope is None else _RECEIVER.match(facts.text(scope.span))
    return scope.owner if scope is not None and receiver is not None and receiver[1] == name else name


# Rust: `recv()` of a channel without senders.


_RECEIVED = lazy_regex(
    r"\bif\s+let\s+(?:Some|Ok)\([^)]*\)\s*=\s*([\w.]+)\.recv\(\)(?:\.await)?\s*\{"
    r"|\bmatch\s+([\w.]+)\.recv\(\)(?:\.await)?\s*\{"
)
_NOTHING_ARM = lazy_regex(
    r"(?:None|Err\(_\)|Err\(\w+\)|_)\s*=>\s*(?:\{\s*\}|continue|\(\)|\{\s*continue;?\s*\})\s*,?"
)
_LEFT_ARM = lazy_regex(r"\b(?:None|Err\([^\n]*?\))\s*=>(?:(?!=>)[\s\S])*?\b(?:break|return)\b")


def _rust(facts: Facts) -> Iterator[tuple[Span, str]]:
    if not facts.syntax.has_any(b".recv()"):
        return
    for loop in facts.loops:
        if loop.kind != "endless":
            continue
        text = facts.text(loop.body)
        if "select!" in text:
            yield from _rust_select(loop, text, facts)
        if re.search(r"\bselect!|sleep|interval|timeout\(|\.tick\(", text):
            continue
        for found in _RECEIVED.finditer(text):
            name = found[1] or found[2]
            if re.search(r"socket|consumer|udp|stream|sub(scriber)?$|listener", name):
                continue
            block = _block(text, found.end() - 1)
            after = text[found.end() - 1 + len(block) :].strip(" \n\t}")
            if found[1] and (after or text[: found.start()].strip("{ \n\t")):
                continue  # More is done in the round, or an `else` ends it.
            if found[2] and not _goes_on_with_nothing(block):
                continue
            place = facts.syntax.place_of(found, loop.body.start)
            yield place, f"once the senders of {name} are gone, recv() returns at once and the loop spins"
            break


_BRANCH = lazy_regex(r"(?<![\w(])(\w+)\s*=\s*([\w.]+)\.recv\(\)\s*(?:,\s*if\b[^\n]*?)?=>\s*")
_ENDS_LOOP = lazy_regex(
    r"\b(break|return|panic!|exit\(|unwrap\(|expect\(|else\b)|\?[;\s.)]|\bis_none\(|\bsleep\("
)


def _rust_select(loop: Loop, text: str, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield branches of a `select!` that take the end of a channel for an empty round.

    `Some(job) = jobs.recv()` leaves out the branch once the channel has ended; a plain name does not."""
    for found in _BRANCH.finditer(text):
        rest = text[found.end() :]
        block = _block(rest, 0) if rest.startswith(("{", "match ", "if ")) else rest.partition("\n")[0]
        head = rest.partition("{")[0] if rest.startswith(("match ", "if ")) else ""
        name = re.escape(found[1])
        if _ENDS_LOOP.search(block) or _ENDS_LOOP.search(rest[len(head) + len(block) :][:12]):
            continue
        inner = re.search(rf"\bmatch\s+{name}\s*\{{", head + block)
        ignores = (
            _goes_on_with_nothing(_block(head + block, inner.start()))
            if inner is not None
            else re.search(rf"\bif\s+let\s+(?:Some|Ok)\([^)]*\)\s*=\s*{name}\s*\{{", head + block) is not None
        )
        if ignores:
            place = facts.syntax.place_of(found, loop.body.start)
            yield place, f"once the senders of {found[2]} are gone, recv() returns at once and the loop spins"


def _goes_on_with_nothing(block: str) -> bool:
    """Return whether an arm of a match, not of one inside it, takes the end for an empty round (Rust)."""
    return any(_is_outer(each, block) for each in _NOTHING_ARM.finditer(block)) and not any(
        _is_outer(each, block) for each in _LEFT_ARM.finditer(block)
    )


def _is_outer(found: re.Match[str], block: str) -> bool:
    return block.count("{", 0, found.start()) - block.count("}", 0, found.start()) == 1


# Other languages: the answer that says that the source has ended goes on with the next round.


_KOTLIN = (
    lazy_regex(r"\b([\w.]+)\.receiveCatching\(\)\.getOrNull\(\)\s*\?:\s*continue\b"),
    lazy_regex(r"\bval\s+(\w+)\s*=\s*[\w.]+\.readLine\(\)\s*\?:\s*continue\b"),
    lazy_regex(r"\b([\w.]+)\.readUTF8Line\(\)\s*\?:\s*continue\b"),
)
_CSHARP = (
    lazy_regex(
        r"(?<![=(]\s)(?<!if \()\bawait\s+([\w.]+)\.WaitToReadAsync\([^;]*\)(?:\.ConfigureAwait\(\w+\))?;"
    ),
)
_PYTHON = (
    lazy_regex(
        r"(\w+)\s*=\s*(?:await\s+)?[\w.]*(?:reader|sock|conn|socket|stdout|stream|pipe|stdin)\.(?:readline|recv|read)\([^)\n]*\)"
        r"\s*\n\s*if\s+not\s+\1\s*:\s*(?:#[^\n]*)?\s*continue\b"
    ),
)
_JAVASCRIPT = (
    lazy_regex(
        r"const\s*\{\s*(?:value|done,\s*value|value,\s*done)\s*\}\s*=\s*await\s+[\w.]*reader\.read\(\);?\s*"
        r"if\s*\(\s*!value\s*\)\s*(?:\{\s*)?continue\b"
    ),
)
_JAVA = (
    lazy_regex(
        r"(?:String\s+)?(\w+)\s*=\s*[\w.]*(?:reader|in|input|br)\.readLine\(\);\s*if\s*\(\s*\1\s*==\s*null\s*\)\s*(?:\{\s*)?continue\b"
    ),
)


def _by_text(facts: Facts, patterns: tuple[re.Pattern[str], ...]) -> Iterator[tuple[Span, str]]:
    if not facts.syntax.has_any(
        b"receivecatching", b"readline", b"readutf8line", b"waittoread", b"recv", b"read("
    ):
        return
    for loop in facts.loops:
        if loop.kind not in ("endless", "while") or re.search(r"WaitToRead|read|next", loop.over):
            continue
        text = facts.text(loop.body)
        if re.search(r"sleep|delay\(|Delay\(|wait_for|setTimeout", text):
            continue
        for pattern in patterns:
            found = pattern.search(text)
            if found is not None and facts.loops_around(loop) == ():
                place = facts.syntax.place_of(found, loop.body.start)
                yield place, "once this source has ended, it answers at once and the loop spins"
                break
