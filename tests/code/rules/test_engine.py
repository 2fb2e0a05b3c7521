"""Findings of a text: whole files, functions and parts of them, places, order, `fault: ignore` comments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.errors import InputError
from faultkit.code import LANGUAGES
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.review.engine import RULES, RuleError, findings_of
from faultkit.code.rules import SEVERITIES

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()\n"


def ids(text: str, language: str = "python") -> list[str]:
    return [each.rule.id for each in findings_of(text, language) if each.rule.kind == "reliability"]


def test_a_finding_names_its_place() -> None:
    finding = next(each for each in findings_of(BAD, "python", file="a.py") if each.rule.id == "FK-R001")
    assert (finding.file, finding.function, finding.line, finding.end_line) == ("a.py", "load", 5, 5)
    assert (finding.column, finding.end_column) == (12, 29)
    assert BAD.encode()[finding.span.start : finding.span.end] == b"requests.get(url)"
    assert finding.place == "a.py:5"


def test_columns_are_characters_and_spans_are_bytes() -> None:
    text = "x = 'é'; requests.get(u)\n"
    finding = findings_of(text, "python")[0]
    assert finding.column == 10
    assert text.encode()[finding.span.start : finding.span.end] == b"requests.get(u)"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "    r = requests.get(url)\n    return r.json()\n"),
        ("python", "\n\n        return requests.get(url).json()"),
        ("python", "def f():\n    return requests.get(url).json()"),
        ("python", "class A:\n    def f(self):\n        return requests.get(url).json()"),
        ("javascript", "const r = await fetch(url);\nreturn r.json();"),
        ("javascript", "async load(url) {\n  const r = await fetch(url);\n  return r.json();\n}"),
        ("typescript", "  async load(url: string) {\n  const r = await fetch(url);\n  return r.json();\n}"),
        ("go", "resp, err := http.Get(url)\nif err != nil { return err }\nio.ReadAll(resp.Body)"),
    ],
)
def test_parts_of_code_are_judged_without_their_file(language: str, text: str) -> None:
    found = [each for each in findings_of(text, language) if each.rule.id in ("FK-R001", "FK-R026")]
    assert {each.rule.id for each in found} == {"FK-R001", "FK-R026"}
    for each in found:
        shown = text.encode()[each.span.start : each.span.end].decode()
        assert shown.startswith(("requests.get(", "fetch(", "http.Get("))
        assert text.splitlines()[each.line - 1][each.column - 1 :].startswith(shown)


def test_findings_come_in_the_order_of_the_text() -> None:
    found = findings_of(BAD + BAD.replace("load", "more"), "python")
    assert [each.span.start for each in found] == sorted(each.span.start for each in found)


def test_the_same_text_has_the_same_findings() -> None:
    assert findings_of(BAD, "python") == findings_of(BAD, "python")


@pytest.mark.parametrize(
    ("comment", "suppressed"),
    [
        ("# fault: ignore", {"FK-R001", "FK-R026"}),
        ("# fault: ignore[FK-R001]", {"FK-R001"}),
        ("# fault: ignore[http-call-without-timeout, FK-R026]  because", {"FK-R001", "FK-R026"}),
        ("# fault: ignore[FK-R999]", set()),
        ("# default: ignored", set()),
    ],
)
def test_a_comment_on_the_line_suppresses_findings(comment: str, suppressed: set[str]) -> None:
    lines = BAD.splitlines()
    lines[4] += f"  {comment}"
    before, after = {*ids(BAD)}, {*ids("\n".join(lines))}
    assert before - after == suppressed


def test_an_empty_text_is_an_error() -> None:
    with pytest.raises(InputError, match="snippet: expected source code, got nothing"):
        findings_of(" \n", "python")


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(InputError, match="lang: expected one of"):
        findings_of("x", "cobol")


def test_languages_without_facts_have_no_findings() -> None:
    assert findings_of("puts 1", "ruby") == ()


def test_a_broken_text_still_has_findings() -> None:
    assert "FK-R001" in ids("def f(:\n" + BAD)


def test_rules_are_well_formed() -> None:
    assert len({rule.id for rule in RULES}) == len({rule.slug for rule in RULES}) == len(RULES)
    for rule in RULES:
        letter = {"reliability": "R", "performance": "P"}[rule.kind]
        assert rule.id.startswith(f"FK-{letter}")
        assert rule.severity in SEVERITIES
        assert {*rule.languages} <= {*GRAMMARS} <= {*LANGUAGES}
        assert rule.slug == rule.slug.lower()
        assert not rule.title.endswith(".")
        assert rule.why.endswith(".")
        assert rule.fix.endswith(".")


def test_ids_go_up_in_the_table() -> None:
    for kind in ("reliability", "performance"):
        listed = [rule.id for rule in RULES if rule.kind == kind]
        assert listed == sorted(listed)


def test_messages_are_one_line_without_a_full_stop() -> None:
    for each in findings_of(BAD, "python"):
        assert "\n" not in each.message
        assert not each.message.endswith(".")


def messages(slug: str, language: str, code: str) -> list[str]:
    rules = [each for each in RULES if each.slug == slug]
    return [each.message for each in findings_of(code, language, rules=rules)]


def test_a_message_names_the_object_itself_as_the_code_does() -> None:
    python = "import requests\nclass A:\n s = requests.Session()\n def f(self): return self.s.get(u)\n"
    typescript = "import got from 'got';\nclass A { c = got.extend({}); f() { return this.c.get(u); } }\n"
    go = (
        'package a\nimport ("context"; "database/sql")\ntype T struct{ db *sql.DB }\n'
        'func (t *T) f(ctx context.Context) { rows, err := t.db.Query("SELECT 1") }\n'
    )
    slug = "http-call-without-timeout"
    assert [each.partition(" ")[0] for each in messages(slug, "python", python)] == ["self.s.get()"]
    assert [each.partition(" ")[0] for each in messages(slug, "typescript", typescript)] == ["this.c.get()"]
    assert [each.partition(" ")[0] for each in messages("missing-cancellation", "go", go)] == ["t.db.Query()"]


def test_a_default_for_the_whole_call_is_not_reported_as_one_for_each_step() -> None:
    code = (
        "import aiohttp\nasync def f(u):\n    async with aiohttp.ClientSession() as s:\n"
        "        return await s.get(u)\n"
    )
    assert messages("http-call-without-timeout", "python", code) == [
        "s.get() has no timeout of its own: aiohttp allows 300 s"
    ]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("import requests\nrequests.get(u)\n", "high"),
        ("import aiohttp\nasync def f():\n    s = aiohttp.ClientSession()\n    await s.get(u)\n", "medium"),
        ("import httpx\nhttpx.get(u)\n", "low"),
    ],
)
def test_a_call_without_a_timeout_is_as_grave_as_the_default_of_its_library_is_long(
    text: str, severity: str
) -> None:
    (finding,) = [each for each in findings_of(text, "python") if each.rule.id == "FK-R001"]
    assert finding.severity == severity


def test_a_rule_does_not_run_on_a_text_without_its_words() -> None:
    def refuse(facts: object) -> tuple[()]:
        raise AssertionError("ran")

    rule = replace(RULES[0], words=(b"verify", b"ssl"), check=refuse)
    assert findings_of("get(url)\n", "python", rules=(rule,)) == ()
    with pytest.raises(RuleError, match="AssertionError: ran"):
        findings_of("get(url, ssl=False)\n", "python", rules=(rule,))
