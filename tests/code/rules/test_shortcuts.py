"""What makes a review fast hides no finding: words that a text must have, answers that are kept, facts that
are made when they are asked for."""

from __future__ import annotations

import gc
import re
import weakref
from dataclasses import replace

import pytest

from faultkit.code.facts import Facts, facts_of
from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse_fragment
from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.review.rule_words import rule_words
from faultkit.code.rules.rule import Rule
from faultkit.code.rules.vocabulary import stored_writes, stores, telling_types
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from tests.code.rules.test_rules import BY_SLUG, CASES

GATED = [rule for rule in RULES if rule.words]


def _facts(code: str, language: str = "python") -> Facts:
    return facts_of(parse_fragment(code, language_named(language)).syntax)


def _may_hit(rule: Rule, code: str, language: str) -> bool:
    return rule_words((rule,), language).candidates(code.encode()) == [rule]


@pytest.mark.parametrize("rule", GATED, ids=lambda rule: rule.slug)
def test_words_of_a_rule_stand_in_every_text_that_it_finds_something_in(rule: Rule) -> None:
    cases = [case for case in CASES if BY_SLUG[case.rule] is rule]
    for case in cases:
        if any(rule.check(_facts(case.code, case.language))):
            assert _may_hit(rule, case.code, case.language), case
    assert any(_may_hit(rule, case.code, case.language) for case in cases)


def test_a_rule_with_words_does_not_run_on_a_text_without_them() -> None:
    rule = BY_SLUG["tls-not-verified"]
    assert not _may_hit(rule, "import requests\nrequests.get(url)\n", "python")
    assert findings_of("import requests\nrequests.get(url)\n", "python", rules=[rule]) == ()


@pytest.mark.parametrize(
    ("words", "text", "is_found"),
    [
        ((), "", True),
        ((b"etry",), "retryable()", True),
        ((b"etry",), "try()", False),
        ((b"a", b"xyz"), "b a", True),
        ((b"ws",), "new WebSocket(ws)", True),
        ((b"ws",), "w s", False),
        ((b".send(",), "socket.send(a)", True),
        ((b".send(",), "resend(a)", False),
        ((b"* 24",), "60 * 24", True),
        ((b"* 24",), "24 * 60", False),
        ((b"??=",), "a ??= b", True),
        ((b"??=",), "a ?? b", False),
        (("größe".encode(),), "diegröße = 1", True),
        ((b"e = 1",), "größe = 1", True),
    ],
)
def test_rules_are_chosen_by_parts_of_a_text(words: tuple[bytes, ...], text: str, is_found: bool) -> None:
    rule = replace(BY_SLUG["tls-not-verified"], words=words)
    rules = rule_words((rule, *GATED), "python")
    assert all((rule in rules.candidates(text.encode())) is is_found for _ in range(2))
    assert is_found is (not words or any(word in text.encode() for word in words))


def test_rules_are_those_of_the_language_in_their_order() -> None:
    for language in ("python", "go"):
        known = tuple(rule for rule in RULES if language in rule.languages and not rule.words)
        assert tuple(rule_words(RULES, language).candidates(b"")) == known


def test_a_pattern_gives_the_same_answer_every_time() -> None:
    expression = r"(^|\.)pool\w*(\(\))?$"
    plain, kept = re.compile(expression, re.IGNORECASE), NamePattern(expression, re.IGNORECASE)
    for name in ("db.Pool", "pooling", "x", "", "Pool()", "a.pool.b") * 2:
        for find in ("search", "match", "fullmatch"):
            one, other = getattr(plain, find)(name), getattr(kept, find)(name)
            assert (one and one.span()) == (other and other.span())


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (r"Pool|cache\W|\bDb", ("POOL", "a.db", "adb", "CACHE.", "Cache", "cachew", "pOOl")),
        (r"(?<![a-z])Id$|[A-Z]x", ("userId", "user.ID", "aX", "1x", "x")),
        (r"straße|kelvin", ("STRASSE", "Straße", "STRAßE", "\N{KELVIN SIGN}elvin")),
    ],
)
def test_small_letters_and_capitals_are_the_same_to_a_pattern(
    expression: str, names: tuple[str, ...]
) -> None:
    plain, kept = re.compile(expression, re.IGNORECASE), NamePattern(expression, re.IGNORECASE)
    for name in names:
        one, other = plain.search(name), kept.search(name)
        assert (one and one[0]) == (other and other[0]), name


@pytest.mark.parametrize(
    "text",
    [
        "a = new HashMap<>()", "a = new ConcurrentHashMap<>()", "val a = mutableMapOf<String, Int>()",
        "val a = linkedMapOf<K, V>()", "a = new Dictionary<string, int>()", "a: DashMap<u64, X>",
        "a = new Map()", "a sync.Map", "a = make(map[string]int)", "a = defaultdict(list)", "a = dict()",
        "a = collections.OrderedDict()", "a = {}", "a = { };", "a = {\n} ;\n", "a = Object.create(null)",
    ],
)  # fmt: skip
def test_every_map_has_one_of_the_words_of_maps(text: str) -> None:
    assert stores._MAP.search(text) is not None
    assert any(word in text for word in stores._MAP_WORDS) or stores._ends_with_empty_map(text)


def test_a_map_with_content_is_not_empty() -> None:
    assert not stores._ends_with_empty_map("a = {b: 1}")


CODE = """\
def f(rows, limit):
    total = limit
    for row in rows:
        if row.kind == "a":
            total = total + row.size
    return total
"""


def test_reads_outside_of_a_span_are_not_made() -> None:
    facts = _facts(CODE)
    loop = facts.loops[0]
    assert [each.written for each in facts.within(facts.accesses, loop.body)] == [
        "row.kind",
        "total",
        "row.size",
    ]
    assert len(facts.accesses._made) == 3
    assert len(facts.accesses) > 3


def test_reads_that_cannot_matter_are_not_made() -> None:
    facts = _facts(CODE)
    source = facts.syntax.source
    ends_in_size = facts.accesses.where(lambda start, end: source.endswith(b"size", start, end))
    assert [each.written for each in ends_in_size] == ["row.size"]
    assert len(facts.accesses._made) == 1


def test_a_step_is_read_when_it_is_asked_for() -> None:
    facts = _facts(CODE)
    branch, added = facts.steps_of("branch")[0], facts.steps_of("binary")[-1]
    assert (branch.line, branch.text) == (4, 'row.kind == "a"')
    assert (added.word, [each.text for each in added.sides]) == ("+", ["total", "row.size"])
    assert facts.steps_of("return")[0].text == "total"


def test_names_in_a_text_with_holes_are_read_and_in_one_without_they_are_none() -> None:
    facts = _facts('x = f"{a.b} {call(c)}"\ny = "plain {not_a_name}"\n')
    assert {each.written for each in facts.accesses} >= {"a.b", "c"}
    assert [each.written for each in facts.calls] == ["call"]
    assert "not_a_name" not in {each.written for each in facts.accesses}


def test_a_module_that_another_is_in_counts_as_imported() -> None:
    facts = _facts('import "github.com/redis/go-redis/v9"\n', "go")
    assert facts.imports_any("github.com/redis")
    assert facts.imports_any("x", "github.com/redis/go-redis")
    assert not facts.imports_any("github.com/red")


def test_methods_that_pass_their_object_on_are_no_calls_and_others_are_read_alike() -> None:
    text = "class C {{ async Task F() {{ var a = await b.Get(){}; d.Run(); }} }}"
    with_method, without = (_facts(text.format(each), "csharp") for each in (".ConfigureAwait(false)", ""))
    for facts in (with_method, without):
        assert [each.name for each in facts.calls] == ["b.Get", "d.Run"]
        assert [each.is_awaited for each in facts.calls] == [True, False]
        assert facts.assignments[0].call is facts.calls[0]
        assert facts.calls[0].assigned == ("a",)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("async def f(): pass\ndef g():\n    async with x: pass\n", "python", [True, False]),
        ("const f = async () => 1; const g = () => async;", "javascript", [True, False]),
        ("suspend fun f() { }\nfun g() { suspend() }\n", "kotlin", [True, False]),
        ("async fn f() {}\nfn g() { async_() }\n", "rust", [True, False]),
    ],
)
def test_only_functions_with_the_word_in_their_head_are_async(
    text: str, language: str, expected: list[bool]
) -> None:
    assert [each.is_async for each in _facts(text, language).scopes] == expected


def test_lines_targets_and_callees_of_calls_are_read_when_they_are_asked_for() -> None:
    call = _facts("x, y = a.b(\n    1,\n)\n").calls[0]
    assert (call.line, call.end_line, call.assigned) == (1, 3, ("x", "y"))
    assert tuple(call.callee) == (7, 10)
    bare = _facts("def f():\n    with lock:\n        pass\n").managed[0][0]
    assert (bare.line, bare.end_line, bare.assigned, bare.arguments, bare.is_managed) == (2, 2, (), (), True)


def test_forgotten_facts_are_freed_without_the_garbage_collector() -> None:
    facts = _facts(
        "import app\n@app.get('/')\ndef f(a):\n    b = a.c()\n    return list(map(lambda d: b(d), a))\n"
    )
    call = weakref.ref(facts.calls_named("list")[0])
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        facts.forget()
        del facts
        assert call() is None
    finally:
        if was_enabled:
            gc.enable()


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("API_KEY", True), ("private-key", True), ("authHeader", True), ("card.number", True),
        ("connection string", True), ("refreshToken", True), ("key of an api", False),
        ("header, auth", False), ("a number of cards", False), ("string connection", False),
        ("apis, and keys", False), ("", False),
    ],
)  # fmt: skip
def test_pairs_of_words_of_secrets_are_found_in_their_order(text: str, is_found: bool) -> None:
    assert telling_types.may_name_secret(text) is is_found
    assert is_found is (
        any(word in text.lower() for word in telling_types._SOME_WORDS)
        or telling_types._SOME_PAIR.search(text.lower()) is not None
    )


def test_all_methods_of_stores_of_javascript_are_looked_at() -> None:
    patterns = (stored_writes._PRISMA, stored_writes._SEQUELIZE, stored_writes._TYPEORM)
    methods = {
        "save",
        "insert",
        "create",
        "createMany",
        "bulkCreate",
        "softRemove",
        "find",
        "saved",
        "upsert",
    }
    for method in methods:
        is_write = any(pattern.match(method) for pattern in patterns)
        assert (stored_writes._JAVASCRIPT.match(method) is not None) is is_write, method


def test_forgotten_words_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultkit.code.review.rule_words._KEPT", 1)
    rule = replace(BY_SLUG["tls-not-verified"], words=(b"verify",))
    rules = rule_words((rule,), "python")
    for text, found in ((b"a b verify c", [rule]), (b"a b c d", []), (b"c unverifyed", [rule])) * 2:
        assert rules.candidates(text) == found
        assert len(rules._known) <= 1


def test_an_error_is_used_if_its_own_name_is_read() -> None:
    code = "try:\n    f()\nexcept E as err:\n    {}\n"
    for line, is_used in (
        ("log(err)", True),
        ("err.show()", True),
        ("log(error)", False),
        ("a.err()", False),
    ):
        assert _facts(code.format(line)).tries[0].handlers[0].uses_error is is_used, line
