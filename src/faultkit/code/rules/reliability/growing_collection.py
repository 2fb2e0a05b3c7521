"""Finds lists and sets of long-lived objects that get an item for each event and never lose one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Loop, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.long_lives import handles_events, is_long_lived
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.stores import drops_when_large, has_size_check
from faultkit.code.rules.vocabulary.test_doubles import IS_FAKE
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.unsent_items import unsent_items

_LIST = lazy_regex(
    r"=\s*(\[\]|list\(\))\s*;?\s*$|\b(ArrayList|LinkedList|mutableListOf|arrayListOf|CopyOnWriteArrayList)\b"
    r"|\bList<.*=\s*new|\bVec<|Vec::new\(\)|vec!\[\]|\[\]\*?[\w.]+(\{\})?\s*(`[^`]*`)?\s*$"
    r"|:\s*[\w.<>{}\[\]; ]+\[\]\s*=\s*\[\]|\bArray<.*=\s*\[\]"
)
_SET = lazy_regex(
    r"\bset\(\)|\bnew Set\b|\bHashSet\b|\bmutableSetOf\b|\bhashSetOf\b|\bnewKeySet\b|\bBTreeSet\b"
)
_ADDS = frozenset(
    ("append", "push", "add", "Add", "insert", "extend", "addAll", "AddRange", "TryAdd", "push_back")
)
_OF_PROGRAM = NamePattern(
    r"listener|subscri|callback|hook|middleware|route|rule|filter|child|node|field|column|header|task|worker|thread|observer"
    r"|step|stage|validator|check|plugin|handler|interceptor|provider|option|arg|param|config|class|type|module|import"
    r"|client|conn|socket|session|watcher|timer|future|promise|waiter|resolve|closer|cleanup|shutdown|dispos|stack|path"
    r"|token|part|chunk|line|segment|tables?$|schema|error|warning|known|valid|allow|supported|registered|loaded",
    re.IGNORECASE,
)
"""Names of collections that grow with the program, or that end with a connection or a file."""
_EVENTS = NamePattern(
    r"seen|processed|handled|delivered|visited|done|event|entr|sample|histor|record|measurement|timing|latenc|duration"
    r"|metric|log|audit|message|reading|point|buf(fer)?|pending|batch|backlog|request|usage|click|spans?$|ids?$|results?$",
    re.IGNORECASE,
)
_LIMITED = lazy_regex(
    r"[dD]eque\(|maxlen|maxsize|[cC]apacity|RingBuffer|Bounded|EvictingQueue|CircularBuffer"
)
_LONGEST = 300
"""Characters of the lines that are looked at; longer ones are packed code."""
_GIVEN = lazy_regex(
    r"event|message|msg|sample|value|entry|item|record|point|metric|request|req|payload|measure|milli|micro|duration|seconds"
    r"|^ms$|order|reading|click|span|id$",
    re.IGNORECASE,
)
"""Names of parameters that hold one of many things."""
_SETS_UP = lazy_regex(
    r"^_?(register|declare|create|define|configure|load|setup|build|parse|init|start|open|discover)"
)
_RECEIVES = lazy_regex(
    r"\b(recv|receive|poll|next_?message|consume|subscribe|messages|stream|updates|events|ReadMessage|FetchMessage|Receive|ReadAllAsync)\b"
)


def _check(facts: Facts) -> Iterator[Hit]:
    if is_for_screen(facts):
        return
    seen = set[str]()
    for made in facts.assignments:
        if len(made.targets) != 1 or made.targets[0] in seen:
            continue
        name = made.targets[0].removeprefix("self.")
        if not name.isidentifier() or _OF_PROGRAM.search(name) or not _EVENTS.search(name):
            continue
        if made.scope is not None and not made.targets[0].startswith("self."):
            hit = _of_loop(made, name, facts)
        else:
            hit = _of_object(made, name, facts)
        if hit is not None:
            seen.add(made.targets[0])
            yield hit
    for span, name in unsent_items(facts):
        if name not in seen and f"self.{name}" not in seen:
            what = f"{name} keeps what could not be sent, and has no limit while the other side is down"
            yield Hit(span, what, POSSIBLE)


def _of_object(made: Assignment, name: str, facts: Facts) -> Hit | None:
    """Return the place where a member or global gets an item, if nothing takes one out."""
    line = facts.syntax.line_text(made.line)
    if len(line) > _LONGEST:
        return None
    is_list, is_set = _LIST.search(line) is not None, _SET.search(line) is not None
    if not (is_list or is_set) or _LIMITED.search(line):
        return None
    grown = [each for each in _growths(name, made, facts) if not _is_made_in(each[1], made)]
    if not grown:
        return None
    owner = made.owner.rpartition(".")[2]
    if IS_FAKE.search(owner) or _is_brief(made, owner, facts):
        return None
    lives = not made.targets[0].startswith("self.") or is_long_lived(owner, facts)
    grown = [each for each in grown if _is_per_event(each[1], facts) and (lives or handles_events(each[1]))]
    if not grown:
        return None
    span, scope = grown[0]
    back = _put_back(name, facts)
    if back is not None:
        if drops_when_large(name, facts):
            return None
        what = f"{name} gets back what could not be sent, and has no limit while the other side is down"
        return Hit(span, what, LIKELY)
    if _is_trimmed(name, made, facts):
        return None
    sure = LIKELY if lives and handles_events(scope) else POSSIBLE
    return Hit(span, f"{name} gets an item in each call of {_called(scope)} and never loses one", sure)


_BRIEF = lazy_regex(
    r"(Parser|Visitor|Builder|Scraper|Walker|Collector|Extractor|Importer|Migrator)(Service)?$"
)
_OF_ONE = lazy_regex(r"^(session|db_session|request|req|tx|trx|transaction|user|current_user|repos|uow)$")


def _is_brief(made: Assignment, owner: str, facts: Facts) -> bool:
    """Return whether an object lives as long as one text or request, by its name or what it is made of."""
    if _BRIEF.search(owner):
        return True
    return any(
        _OF_ONE.match(one.name)
        for each in facts.functions_named("__init__", "constructor")
        if each.owner == made.owner
        for one in each.parameters
    )


def _is_per_event(scope: Scope, facts: Facts) -> bool:
    """Return whether a function is called for each of many things, by its name or what it is given."""
    if _SETS_UP.match(scope.short_name):
        return False
    if handles_events(scope) or scope.is_anonymous or facts.route_of(scope) is not None:
        return True
    given = [each for each in scope.parameters if each.name not in ("self", "cls", "ctx")]
    return len(given) < 3 and any(_GIVEN.search(each.name) or _GIVEN.search(each.type) for each in given)


def _called(scope: Scope) -> str:
    return f"{scope.short_name}()" if scope.short_name else "this function"


def _is_made_in(scope: Scope, made: Assignment) -> bool:
    return scope is made.scope or scope.short_name in ("__init__", "constructor", "init", "new", "New")


def _growths(name: str, made: Assignment, facts: Facts) -> Iterator[tuple[Span, Scope]]:
    """Yield the places in functions where one item is added."""
    for call in facts.calls_of_method(*_ADDS):
        scope = facts.named_function_of(call) or facts.function_of(call)
        if scope is None or len(call.positional) != 1 or not _is_on(call, name):
            continue
        if not scope.owner or not made.owner or scope.owner == made.owner:
            yield call.span, scope
    if facts.language != "go":
        return
    for each in facts.assignments_of(f"self.{name}", name):
        value = "" if each.value is None else each.value.text
        is_same = each.scope is not None and each.targets in ((f"self.{name}",), (name,))
        if is_same and re.match(rf"append\((\w+\.)?{re.escape(name)},", value):
            scope = facts.named_function_of(each)
            if scope is not None:
                yield each.span, scope


def _is_on(call: Call, name: str) -> bool:
    written = re.sub(
        r"\.(lock|write|borrow_mut|unwrap|await|expect|get_mut)\b(\([^()]*\))?", "", call.receiver_written
    )
    return written.removeprefix("this.").removeprefix("self.").removeprefix("#") == name


_TRIMS = (
    r"pop|popleft|popitem|shift|splice|clear|Clear|remove\w*|Remove\w*|drain|truncate|retain|take|split_off|discard|delete"
    r"|slice|poll\w*|Dequeue|TryTake|TryRemove|drainTo|swap|removeIf|pop_front|evict\w*|subList|Take"
)


def _is_trimmed(name: str, made: Assignment, facts: Facts) -> bool:
    """Return whether something takes items out, looks at the length, or sets the collection anew."""
    word = re.escape(name)
    text = facts.whole_text
    if TextPattern(rf"\b{word}\b(\.\w+\(\)|\.await|\?)*\.\s*({_TRIMS})\b").is_in(text):
        return True
    taken = rf"\b(del|delete|clear|mem::take|mem::swap|Exchange|getAndSet)\b[^\n]{{0,80}}\b{word}\b"
    if TextPattern(taken).is_in(text):
        return True
    if has_size_check(name, text):
        return True
    # Elsewhere than in Java, C# and Kotlin the bare name is a variable of its own.
    is_bare = facts.language in ("java", "csharp", "kotlin") or made.targets == (name,)
    own = {f"self.{name}", name} if is_bare else {f"self.{name}"}
    again = [
        each
        for each in facts.assignments_of(*own)
        if each is not made
        and {*each.targets} & own
        and each.value is not None
        and not each.value.text.startswith("append(")
    ]
    return any(each.scope is not None for each in again)


def _put_back(name: str, facts: Facts) -> Span | None:
    """Return the place in a handler of errors where a batch is put back."""
    word = rf"(self\.|this\.|\w+\.)?#?{re.escape(name)}"
    form = re.compile(
        rf"\b{word}\s*=\s*[^=\n;]{{0,80}}\b(concat|append|\.\.\.|\+)[^\n;]{{0,80}}\b{re.escape(name)}\b"
        rf"|\b{word}\s*=\s*\[\s*\.\.\.[^\n;]{{0,80}}\b{re.escape(name)}\b|\b{word}\s*=\s*\w+\s*\+\s*{word}\b"
        rf"|\b{word}\.(unshift|push)\(\s*\.\.\.|\b{word}\.(extend|addAll|AddRange|InsertRange|insertAll|extendleft|append)\("
        rf"|\b{word}\[:0\]\s*=|\b{word}\.splice\(0,\s*0,"
    )
    for each in facts.tries:
        scope = facts.named_function_of(each)
        for handler in each.handlers if scope is not None else ():
            found = form.search(facts.text(handler.body))
            before = "" if scope is None else facts.text(Span(scope.body.start, handler.span.start))
            if found is not None and re.search(rf"\b{re.escape(name)}\b", before):
                return handler.body
    return None


def _of_loop(made: Assignment, name: str, facts: Facts) -> Hit | None:
    """Return the place where an endless loop adds to a set that it only asks."""
    scope = made.scope
    line = facts.syntax.line_text(made.line)
    if scope is None or len(line) > _LONGEST or _SET.search(line) is None:
        return None
    loops = [each for each in facts.within(facts.loops, scope.body) if _is_endless(each, facts)]
    for loop in loops:
        if loop.span.start < made.span.end:
            continue
        for call in facts.within(facts.calls, loop.body):
            if call.method in _ADDS and _is_on(call, name) and not _is_trimmed(name, made, facts):
                return Hit(
                    call.span, f"{name} grows as long as the loop runs and never loses an item", LIKELY
                )
    return None


def _is_endless(loop: Loop, facts: Facts) -> bool:
    if any(each.kind in ("break", "return") for each in facts.within(facts.steps, loop.body)):
        return False
    head = facts.text(loop.head)
    if loop.kind == "endless":
        return _RECEIVES.search(facts.text(loop.body)) is not None
    return (loop.kind == "while" or loop.is_async) and _RECEIVES.search(head) is not None


RULE = Rule(
    id="FK-R140",
    slug="growing-collection",
    title="Collection that only grows",
    why="Each event leaves an item behind, so that memory grows with the traffic until the process is "
    "killed; a buffer that is filled again after a failure grows as long as the other side is down.",
    fix="Give it a limit and drop or refuse what is beyond it: deque(maxlen=…), a ring buffer, a set that "
    "forgets.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
