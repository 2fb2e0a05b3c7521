"""Temporary files that writers of different files share, before each renames its own.

`draft = folder / "mark.tmp"`, then `os.replace(draft, folder / f"{station}.json")`: two that save at
once mix their bytes. A name that is made of the final one, of a process or at random is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span

_RENAMES = ("replace", "rename", "renameSync", "Rename", "move", "Move", "moveTo", "renameTo")
_DRAFT = lazy_regex(
    r"[\"'`][^\"'`]*(?:te?mp|part|draft|new|scratch|partial|swp|staging)\b[^\"'`]*[\"'`]", re.I
)
_OWN = lazy_regex(
    r"pid|uuid|guid|rand|token|time|now|mkstemp|[tT]emp(?:File|Dir|orary)|thread|nonce|hash|counter|seq|unique|\bid\b",
    re.IGNORECASE,
)
_NAME = lazy_regex(r"(?<![\w.$])[A-Za-z_]\w*")
_LEVELS = 3


def shared_drafts(facts: Facts) -> Iterator[tuple[Span, str, str]]:
    """Yield where a draft with a fixed name is put together, with its name and that of the final file."""
    for call in facts.calls_of_method(*_RENAMES):
        if call.method == "replace" and not _renames(call, facts):
            continue
        scope = facts.named_function_of(call)
        given = [each.value.text for each in call.positional]
        if len(given) == 1 and call.receiver_written:
            given.insert(0, call.receiver_written)
        if scope is None or len(given) < 2:
            continue
        source, target = (_expanded(each, call, facts) for each in given[:2])
        if not _DRAFT.search(source) or _OWN.search(source):
            continue
        varies = _varying(target, scope) - _varying(source, scope)
        if varies and not _varying(source, scope) - _varying(target, scope):
            yield _made_at(given[0], call, facts), given[0], given[1]


def _renames(call: Call, facts: Facts) -> bool:
    """Return whether `replace` renames a file, which only Python has; of a text it takes two arguments."""
    return facts.language == "python" and (call.name == "os.replace" or len(call.positional) == 1)


def _varying(text: str, scope: Scope) -> set[str]:
    """Return the parameters of which a path is made."""
    own = {each.name for each in scope.parameters} - {"self", "this", "cls"}
    bare = re.sub(r"(?<![fF$`])(?:\"[^\"{]*\"|'[^'{]*')", "", text)
    return own & {*_NAME.findall(bare)}


def _expanded(text: str, call: Call, facts: Facts) -> str:
    """Return an expression with the values of the variables in it."""
    seen, newest = set[str](), [text]
    for _ in range(_LEVELS):
        names = {name for each in newest for name in _NAME.findall(each)} - seen
        seen |= names
        newest = [
            each.value.text
            for name in sorted(names)
            for each in facts.assignments_to(name, call)
            if each.value is not None and each.scope is not None and each.targets == (name,)
        ]
        text = " ".join((text, *newest))
        if not newest:
            break
    return text


def _made_at(name: str, call: Call, facts: Facts) -> Span:
    made = [each for each in facts.assignments_to(name, call) if each.scope is not None]
    return made[-1].span if made else call.span
