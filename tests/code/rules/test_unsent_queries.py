"""Queries in loops that are not sent for each item, and counts of what may be one row."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

BY_SLUG = {rule.slug: rule for rule in RULES}
_PER_ITEM, _COUNTED = "call-per-item", "count-by-loading"

CLEAN = [
    # An Optional calls a function at most once.
    ("java", "class A { Optional<Quote> quote(Long id) { return deals.current(id).flatMap(deal -> quoteRepository.findById(deal.getQuoteId())); } }"),
    ("java", "class A { Optional<Quote> quote(Long id) { return dealRepository.findByTeam(id).flatMap(deal -> quoteRepository.findById(deal.getQuoteId())); } }"),
    # Django sends a query that is a part of another one with that.
    ("python", "def f(request, attrs):\n    found = []\n    for name in attrs.values():\n        rows = Value.objects.filter(owner=OuterRef('pk'), name=name)\n        found.append(Exists(rows))\n    return found"),
    ("python", "def f(request, attrs):\n    found = []\n    for name in attrs.values():\n        rows = Value.objects.filter(name=name)\n        found.append(Exists(rows.filter(owner=OuterRef('pk'))))\n    return found"),
    # Items come in order: the query is sent once for each group.
    ("python", "def f(request):\n    last, found = None, []\n    for entry in Entry.objects.filter(open=True):\n        if last != entry.event_id:\n            last = entry.event_id\n            rules = Rule.objects.filter(event=entry.event_id).first()\n        found.append((entry, rules))\n    return found"),
    # A text in memory is no table.
    ("csharp", "class A { async Task<List<Post>> Tagged(string tag) { var all = await _db.Posts.ToListAsync(); var found = new List<Post>(); foreach (var post in all) { var tags = await Parse(post); if (tags.Contains(tag)) found.Add(post); } return found; }\n async Task<List<string>> Parse(Post post) { return await post.Tags.Split(',').Select(t => t.Trim()).ToListAsync(); } }"),
]  # fmt: skip
POSSIBLE = [
    # The helper reads only if it is given a key.
    (_PER_ITEM, "typescript", "class A {\n  async pack(src: Log | string) {\n    const log = typeof src === 'object' ? src : await this.logsRepository.findOneByOrFail({ id: src });\n    return { id: log.id };\n  }\n  async all(req: Request) {\n    const logs = await this.logsRepository.find();\n    const found = [];\n    for (const log of logs) { found.push(await this.pack(log)); }\n    return found;\n  }\n}"),
    (_COUNTED, "java", "class A { boolean f(long id) { return memberRepository.findByTeamIdAndUserId(id, 3).isEmpty(); } }"),
]  # fmt: skip
SHOWN = [
    (_PER_ITEM, "java", "class A { List<Quote> quotes(Long id) { return dealRepository.findByTeam(id).stream().map(deal -> quoteRepository.findById(deal.getQuoteId())).toList(); } }"),
    (_PER_ITEM, "python", "def f(request):\n    found = []\n    for entry in Entry.objects.filter(open=True):\n        found.append((entry, Rule.objects.filter(event=entry.event_id).first()))\n    return found"),
    (_PER_ITEM, "typescript", "class A {\n  async pack(id: string) {\n    const log = await this.logsRepository.findOneByOrFail({ id });\n    return { id: log.id };\n  }\n  async all(req: Request) {\n    const logs = await this.logsRepository.find();\n    const found = [];\n    for (const log of logs) { found.push(await this.pack(log.id)); }\n    return found;\n  }\n}"),
    (_COUNTED, "java", "class A { boolean f(long id) { return memberRepository.findAllByTeamId(id).isEmpty(); } }"),
    (_COUNTED, "java", "class A { int f(long id) { return memberRepository.findByTeamId(id).size(); } }"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "code"), CLEAN)
def test_a_query_that_is_not_sent_for_each_item_is_not_reported(language: str, code: str) -> None:
    assert not findings_of(code + "\n", language, rules=[BY_SLUG[_PER_ITEM]])


_PREFETCH = """
def f():
    found = []
    for item in Item.objects.prefetch_related(
        Prefetch('sizes', queryset=Size.objects.filter(Q(kind__in=Kind.objects.filter(Q(a=1) | Q(b=g(h(1)))))))
    ):
        found.append([size.name for size in item.%s.all()])
    return found
"""


@pytest.mark.parametrize(("relation", "is_found"), [("sizes", False), ("colours", True)])
def test_a_relation_of_a_long_prefetch_is_loaded(relation: str, is_found: bool) -> None:
    found = findings_of(_PREFETCH % relation, "python", rules=[BY_SLUG["lazy-relation-in-loop"]])
    assert bool(found) == is_found


@pytest.mark.parametrize(("rule", "language", "code"), POSSIBLE)
def test_what_may_not_be_sent_is_only_possible(rule: str, language: str, code: str) -> None:
    found = findings_of(code + "\n", language, rules=[BY_SLUG[rule]])
    assert found
    assert all(each.confidence < LIKELY for each in found)


@pytest.mark.parametrize(("rule", "language", "code"), SHOWN)
def test_a_query_for_each_item_is_shown(rule: str, language: str, code: str) -> None:
    found = findings_of(code + "\n", language, rules=[BY_SLUG[rule]])
    assert any(each.confidence >= LIKELY for each in found)
