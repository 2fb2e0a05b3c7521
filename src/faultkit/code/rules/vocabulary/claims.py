"""Keys, files, entries and flags that are asked for and then taken, so that others can come in between.

`if redis.exists(key): return False`, then `redis.set(key, …)`: a claim is a question, a branch that refuses
if the thing is there, and a call that sets it whether or not it is there by then. What is only kept to be
faster (`value = cache.get(key)`, return it, or load and store it) is no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.claimed_things import Thing, asked_things, set_things
from faultkit.code.rules.vocabulary.lock_regions import lock_regions, regions_around

_ATOMIC = lazy_regex(
    r"\b[nN][xX]\b|NX\b|NotExists|IfAbsent|\beval\w*\(|\bEval|[sS]cript\w*\(|\bwatch\(|\bWATCH\b|\bWatch\(|O_EXCL|CREATE_NEW"
    r"|CreateNew|create_new|[\"']w?x[bt+]?[\"']|compare|Compare|[tT]ransaction|ConditionExpression|not_exists|TryAdd|LoadOrStore"
    r"|\.entry\(|getAndSet|\.swap\(|\bSwap\(|exchange|Exchange|flock|FileLock|[rR]edlock|putIfAbsent|add\(\s*nx|for_update"
)
_TAKES_LOCK = frozenset(
    (
        "lock",
        "Lock",
        "acquire",
        "tryLock",
        "WaitAsync",
        "Wait",
        "runExclusive",
        "withLock",
        "using",
        "tryAcquire",
    )
)
_IS_MISSING = lazy_regex(
    r"\bis\s+None\b|\bis\s+null\b|(?<![!<>])===?\s*(?:null|nil|undefined|None|0|false|False|\"\"|'')\b|\.is_none\(\)|\.isEmpty\b"
    r"|IsNull|isBlank|isNull|FALSE\.equals|IsNotExist|(?:==|\bIs\(\w+,)\s*\w*\.?(?:Nil|ErrNotExist|ErrNil|ErrCacheMiss)\b"
    r"|\bnot\s+in\b|\.isAbsent|<\s*1\b|\.is_err\(\)"
)
_NEGATED = lazy_regex(r"^[\s(]*(?:!(?!=)|not\b)|Boolean\.FALSE\b")
_COMPARES = lazy_regex(r"[^-=<>][<>](?![<>])")
_BELOW = lazy_regex(r"[^-=<>]<(?!<)")
_NONE_LEFT = lazy_regex(r"(?:[^!=<>]=?==|<=)\s*[\"']?0\b|^[\s(]*!\w+\s*$")
_ERROR_IS_NIL = lazy_regex(r"\berr\s*==\s*nil\b")
_ONLY_ERROR = lazy_regex(r"^[\s(]*err\s*!=\s*nil[\s)]*$")
_PRESENCE = (
    r"(?!\s*[\[(]"
    r"|\.(?!is_some|is_none|isPresent|isEmpty|is_ok|is_err|exists|Has|IsNull|Item|has_value|equals|rows))"
)
"""After the name of an answer: what asks whether it is there, and not for a part of it."""
_OUT = lazy_regex(r"^out\s+(?:\S+\s+)?(\w+)$")
_COMPARED = lazy_regex(
    r"[\w.!]+(?:\(\))?\s*[!=]==?\s*[\w.]+|[\w.]+\.(?:equals|Equals|as_deref|eq)\([^()]*(?:\(\)[^()]*)*\)(?:\s*==\s*[^,;)]+)?"
)
"""`return holder === sessionId` says who has the thing, and does not give it out."""
_ABOUT_ONCE = lazy_regex(r"idempot|dedup|nonce|replay|once\b", re.IGNORECASE)


class Claim(NamedTuple):
    """Something that is asked for and taken in two steps."""

    asked: str
    """The question as written."""
    taken: str
    """What takes it, as written."""
    span: Span
    """From the question to the call that takes it."""
    thing: Thing


def claims(facts: Facts) -> Iterator[Claim]:
    """Yield claims of keys, files, entries and flags, at most one for each question."""
    settings = set_things(facts)
    if not settings:
        return
    for question in asked_things(facts):
        for setting in settings:
            if setting.place.start <= question.place.end or not question.is_same(setting):
                continue
            if _is_claim(question, setting, facts):
                asked = "the question" if question.call is None else f"{question.call.written}()"
                taken = "this" if setting.call is None else f"{setting.call.written}()"
                yield Claim(asked, taken, Span(question.place.start, setting.place.end), question)
                break


def _is_claim(question: Thing, setting: Thing, facts: Facts) -> bool:
    scope = question.scope
    if _ATOMIC.search(facts.text(scope.span)) or _is_locked(question, setting, facts):
        return False
    if question.kind == "entry" and not _may_interleave(question, setting, facts):
        return False
    if question.kind == "entry" and _is_variable(question, facts):
        return False
    if question.kind == "entry" and not _is_about_once(question) and _is_given_out(question, facts):
        return False
    names = _names_of(question, facts)
    refuses = False
    for step in facts.within(facts.steps, scope.body):
        if (
            step.kind != "branch"
            or step.span.end < question.place.start
            or step.span.start > setting.place.start
        ):
            continue
        text = step.text
        if not _depends(step, question, names, facts) or _ONLY_ERROR.match(text):
            continue
        if setting.is_down and "match" in facts.text(Span(step.span.start, step.span.start + 5)):
            text = f"{text} {facts.text(Span(step.span.start, setting.place.start))}"
        if setting.counts and not (_COMPARES.search(text) or (setting.is_down and _NONE_LEFT.search(text))):
            continue
        is_missing = _BELOW.search(text) is not None if setting.counts else _is_about_missing(text, names)
        if setting.is_down:
            is_missing = not is_missing and _NONE_LEFT.search(text) is None
        for arm in (arm for arm in facts.arms if arm.fork == step.span):
            if is_missing != (arm.place == 0) and _gives_value(arm, question, names, facts):
                return _is_about_once(question) and arm.leaves != ""
            refuses = refuses or _refuses(arm, is_missing, question, setting, facts)
    return refuses


def _is_variable(question: Thing, facts: Facts) -> bool:
    """Return whether the function has a variable of its own with the name of a shared one (Python)."""
    own = facts.own(facts.assignments, question.scope) if facts.language == "python" else ()
    written = facts.text(Span(question.place.start, question.place.end))
    return (
        question.store not in facts.globals_in(question.scope)
        and f"self.{question.store}" not in written
        and any(each.targets == (question.store,) and each.operator == "=" for each in own)
    )


def _is_given_out(question: Thing, facts: Facts) -> bool:
    """Return whether the function returns the entry itself, as a cache does: `return self.clients[key]`."""
    last = question.store.rpartition(".")[2]
    return bool(last) and any(
        step.kind == "return" and re.match(rf"(?:await\s+)?(?:\w+\.)*{re.escape(last)}\s*[\[!]", step.text)
        for step in facts.within(facts.steps, question.scope.body)
    )


def _is_about_missing(text: str, names: frozenset[str]) -> bool:
    """Return whether a condition holds if nothing is there."""
    if "err" in names and _ERROR_IS_NIL.search(text):
        return False
    return (_IS_MISSING.search(text) is not None) != (_NEGATED.search(text) is not None)


def _refuses(arm: Arm, is_missing: bool, question: Thing, setting: Thing, facts: Facts) -> bool:
    """Return whether an arm leaves because the thing is there, or takes it and goes on because it is not."""
    holds_set = is_within(setting.place, arm.span)
    if is_missing == (arm.place == 0):
        # Nothing is there: it is taken here, and work is done for it.
        if setting.is_down and holds_set and is_missing:
            return True
        return (
            holds_set
            and is_missing
            and arm.span.start > question.place.start
            and _works(arm, setting, question, facts)
        )
    return not holds_set and arm.leaves != "" and arm.span.start < setting.place.start


def _works(arm: Arm, setting: Thing, question: Thing, facts: Facts) -> bool:
    """Return whether an arm does more than to fill a cache."""
    if question.kind == "file":
        return False  # A file that is made where none is: often a default.
    others = [
        call
        for call in facts.within(facts.calls, arm.span)
        if call.is_discarded and not is_within(call.span, setting.place) and not is_logging(call)
    ]
    if any(not is_within(setting.place, call.span) for call in others) and not _is_filled(
        arm, setting, facts
    ):
        return True
    return arm.leaves == "function" and any(
        step.kind == "return" and re.fullmatch(r"(?:Ok\()?(?:true|True)\)?(?:, nil)?;?", step.text.strip())
        for step in facts.within(facts.steps, arm.span)
    )


def _is_filled(arm: Arm, setting: Thing, facts: Facts) -> bool:
    """Return whether what is set was loaded in the same arm, as into a cache."""
    call = setting.call
    given = {
        name for each in (call.positional if call else ()) for name in re.findall(r"\w+", each.value.text)
    }
    return any(
        each.call is not None and not given.isdisjoint(each.targets)
        for each in facts.within(facts.assignments, arm.span)
    ) or any(each.value.shape == "call" for each in (call.positional[1:] if call else ()))


def _gives_value(arm: Arm, question: Thing, names: frozenset[str], facts: Facts) -> bool:
    """Return whether an arm answers with what is there, as a cache does."""
    text = facts.text(arm.span)
    words = names - {"err", "ok"}
    for step in facts.within(facts.steps, arm.span):
        if step.kind not in ("return", "yield") or re.match(
            r"\s*(?:new\s+\w*(?:Error|Exception)|Err\()", step.text
        ):
            continue
        given = _COMPARED.sub("", step.text)
        if any(re.search(rf"(?<!\w)(?<!\w\.){re.escape(name)}\b", given) for name in words):
            return True
    if any(re.search(rf"=\s*[\w.(]*\b{re.escape(name)}\b", text) for name in words):
        return True
    # `if cache.exists(key): return cache.get(key)`
    return any(
        call.receiver_written and question.store.startswith(call.receiver_written) and call.arguments
        and re.match(r"(?i)h?get|string_?get|read|load|open", call.method)
        for call in facts.within(facts.calls, arm.span)
    )  # fmt: skip


def _is_about_once(question: Thing) -> bool:
    """Return whether the thing is kept to do work once only: an answer that is found is given again."""
    if question.kind != "key":
        return False
    return _ABOUT_ONCE.search(f"{question.key} {question.scope.name} {question.raw_key}") is not None


def _depends(step: Step, question: Thing, names: frozenset[str], facts: Facts) -> bool:
    head_end = min((arm.span.start for arm in facts.arms if arm.fork == step.span), default=step.span.end)
    if step.span.start <= question.place.start and question.place.end <= head_end:
        return True
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b{_PRESENCE}", step.text) for name in names)


def _names_of(question: Thing, facts: Facts) -> frozenset[str]:
    """Return the variables that hold the answer."""
    found = set(question.call.assigned if question.call is not None else ())
    for each in facts.within(facts.assignments, question.scope.body):
        if each.value is not None and is_within(question.place, each.value.span):
            found.update(name for target in each.targets for name in re.findall(r"[A-Za-z_]\w*", target))
    # `cache.TryGetValue(key, out var known)`
    given = question.call.positional if question.call is not None else ()
    found.update(name for each in given for name in _OUT.findall(each.value.text))
    return frozenset(found - {"_", "self", "this", "mut", "let"})


def _is_locked(question: Thing, setting: Thing, facts: Facts) -> bool:
    regions = lock_regions(facts)
    if regions_around(Place(question.place), regions):
        return True
    around: Iterable[Call] = facts.calls_around(Place(setting.place))
    if any(each.method in _TAKES_LOCK for each in around):
        return True
    return any(
        call.method in _TAKES_LOCK and call.span.end <= question.place.start and call.receiver_written
        for call in facts.within(facts.calls, question.scope.body)
    ) or any(
        "lock" in call.written.lower()
        for call in facts.managed_around(Place(setting.place))
    )  # fmt: skip


def _may_interleave(question: Thing, setting: Thing, facts: Facts) -> bool:
    """Return whether others run between the two steps: threads at any time, tasks at an await."""
    if facts.language not in ("python", "javascript", "typescript", "tsx"):
        return True
    between = Span(question.place.end, setting.place.start)
    return any(
        step.kind == "await" and facts.function_of(step) is facts.function_of(Place(setting.place))
        for step in facts.within(facts.steps, between)
    )
