"""The measure of the reviewer: the split, the identity of findings, samples, weights, pairs."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from bench.options import DOCUMENT
from bench.report import REVIEW
from bench.review import fetch
from bench.review.__main__ import _speed, arguments
from bench.review.checked import checked_tables
from bench.review.findings import Found, chosen_rules, is_production, line_hashes
from bench.review.judgements import (
    Judgement,
    Verdict,
    add_judgements,
    judgements_path,
    match,
    read_judgements,
)
from bench.review.precision import Stratum, precision_of, precision_tables
from bench.review.projects import HELD, WORK, Project, halves_of, read_projects
from bench.review.recall import Outcome, Pair, outcome_of, pairs_folder, read_pairs, recall_table
from bench.review.sample import draw, excerpt, shares_of

from bench import registries
from faultkit.base.errors import InputError, RunError, TargetError

FOUND = Found(
    project="shop",
    version="1.0",
    file="shop/api.py",
    language="python",
    rule="FK-R001",
    severity="high",
    confidence=0.95,
    function="order",
    message="httpx.get() has no timeout of its own",
    line=12,
    end_line=12,
    hash="aa",
)


def judged(found: Found, verdict: Verdict, reason: str = "read") -> Judgement:
    kept = {name: value for name, value in asdict(found).items() if name not in ("confidence", "end_line")}
    return Judgement(**kept, verdict=verdict, reason=reason, judge="a reader")


def stratum(findings: int, true: int = 0, arguable: int = 0, false: int = 0) -> Stratum:
    return Stratum(findings, +Counter[Verdict]({"true": true, "arguable": arguable, "false": false}))


def project(name: str, language: str = "go", round_: int = 1) -> Project:
    return Project(name, language, "npm", "1.0", f"{name}.tgz", "0" * 64, round=round_)


# --- the list and its halves -----------------------------------------------------------------


def test_the_list_has_five_projects_of_each_of_five_languages_and_three_of_three_more() -> None:
    counted = Counter(each.language for each in read_projects())
    assert all(counted[name] >= 10 for name in ("python", "javascript", "typescript", "go", "java"))
    assert all(counted[name] >= 5 for name in ("rust", "csharp", "kotlin"))


def test_no_project_is_listed_twice_and_each_is_pinned() -> None:
    listed = read_projects()
    assert len({each.name for each in listed}) == len(listed)
    assert len({each.folder for each in listed}) == len(listed)
    assert all(re.fullmatch("[0-9a-f]{64}", each.sha256) for each in listed)


def test_the_halves_of_a_language_differ_by_one_project_at_most() -> None:
    listed = read_projects()
    halves = halves_of(listed)
    counted = Counter((each.language, halves[each.name]) for each in listed)
    for language in {each.language for each in listed}:
        assert counted[language, WORK] - counted[language, HELD] in (0, 1)


def test_the_half_of_a_project_depends_on_its_name_and_not_on_the_order_of_the_list() -> None:
    listed = [project(name) for name in ("a", "b", "c", "d", "e")]
    # Sorted by SHA-256: d (18ac), c (2e7d), b (3e23), e (3f79), a (ca97).
    assert halves_of(listed) == {"d": WORK, "c": HELD, "b": WORK, "e": HELD, "a": WORK}
    assert halves_of(reversed(listed)) == halves_of(listed)


def test_a_project_of_a_later_round_moves_no_other() -> None:
    listed = [project(name) for name in ("a", "b", "c", "d", "e")]
    later = [*listed, project("f", round_=2), project("g", round_=2)]
    assert halves_of(later).items() >= halves_of(listed).items()


def test_the_page_of_benchmarks_has_the_section_as_it_is_written() -> None:
    assert REVIEW.read_text() in DOCUMENT.read_text()


# --- fetching --------------------------------------------------------------------------------


def test_an_archive_with_another_checksum_is_refused(tmp_path: Path) -> None:
    kept = project("a")
    (tmp_path / kept.sha256).write_bytes(b"something else")
    with pytest.raises(RunError, match=r"^a 1\.0: expected SHA-256 0000.*, got [0-9a-f]{64}$"):
        fetch._archive(kept, tmp_path)


def test_a_registry_that_cannot_be_reached_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "registry_of", lambda source: (tmp_path / "registry").as_uri() + "/")
    with pytest.raises(TargetError, match=r"registry/a/-/a\.tgz cannot be fetched: .*No such file"):
        fetch._archive(project("a"), tmp_path)


def test_unpacking_keeps_text_files_of_the_asked_part_only(tmp_path: Path) -> None:
    files = {
        "p/src/a.go": b"package a",
        "p/src/logo.png": b"\x89PNG\0",
        "p/doc/b.go": b"",
        "p/src/../../x.go": b"x",
    }
    wanted = replace(project("a"), only="src")
    fetch._unpack(_tar(files), tmp_path / "a", wanted)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()] == [
        "a/src/a.go"
    ]


def test_a_debian_package_is_unpacked(tmp_path: Path) -> None:
    data = _tar({"./usr/share/a.rs": b"fn a() {}", "./etc/b": b""})
    members = [(b"debian-binary", b"2.0\n"), (b"control.tar.xz", b"odd"), (b"data.tar.gz", data)]
    package = b"!<arch>\n"
    for name, content in members:
        package += (
            name.ljust(48)
            + str(len(content)).encode().ljust(10)
            + b"`\n"
            + content
            + b"\n" * (len(content) % 2)
        )
    fetch._unpack(package, tmp_path / "a", project("a"))
    assert (tmp_path / "a/usr/share/a.rs").read_bytes() == b"fn a() {}"


def _tar(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


# --- findings and their identity -------------------------------------------------------------


@pytest.mark.parametrize(
    "file",
    [
        "src/app.py",
        "lib/attest/run.go",
        "contest.py",
        "scripts/release.py",
        "shop/migrations/0001_initial.py",
        "src/main/java/Latest.java",
        "core/server/services/spec-runner.js",
    ],
)
def test_services_scripts_and_migrations_are_production_code(file: str) -> None:
    assert is_production(file)


@pytest.mark.parametrize(
    "file",
    [
        "tests/test_app.py",
        "shop/test_app.py",
        "a_test.go",
        "src/a.spec.ts",
        "src/__tests__/a.ts",
        "src/test/java/ATest.java",
        "src/main/java/OrderTests.java",
        "vendor/x/y.go",
        "third_party/x.py",
        "docs/conf.py",
        "examples/a.js",
        "t/integration-tests/a.py",
        "conftest.py",
        "web/app.min.js",
        "Benchmarks/a.py",
    ],
)
def test_tests_docs_and_vendored_code_are_not(file: str) -> None:
    assert not is_production(file)


def test_a_line_keeps_its_hash_when_lines_are_added_and_indentation_changes() -> None:
    before = line_hashes(["a()", "b( 1)"], [("FK-R001", 2)])
    assert line_hashes(["", "a()", "    b(  1)"], [("FK-R001", 3)]) == before
    assert line_hashes(["a()", "b(2)"], [("FK-R001", 2)]) != before


def test_equal_lines_are_told_apart_by_their_order() -> None:
    first, second, other_rule = line_hashes(["a()", "a()"], [("FK-R001", 1), ("FK-R001", 2), ("FK-R002", 2)])
    assert first != second
    assert other_rule == first


@pytest.mark.parametrize("changed", [{"message": "no timeout"}, {"line": 40}, {"severity": "low"}])
def test_a_judgement_is_found_after_something_but_the_line_of_code_has_changed(
    changed: dict[str, Any],
) -> None:
    found = replace(FOUND, **changed)
    assert match([found], [judged(FOUND, "true")]) == [(found, judged(FOUND, "true"))]


def test_a_judgement_is_found_by_its_words_if_another_line_is_flagged_now() -> None:
    judgements = [judged(FOUND, "true")]
    moved = replace(FOUND, hash="bb")
    assert match([moved], judgements) == [(moved, judgements[0])]
    for other in (replace(moved, message="other"), replace(FOUND, rule="FK-R002")):
        assert match([other], judgements) == [(other, None)]


def test_a_judgement_is_not_lent_to_a_second_finding_with_the_same_words() -> None:
    second, third = replace(FOUND, hash="bb"), replace(FOUND, hash="cc")
    assert match([FOUND, second], [judged(FOUND, "true")]) == [(FOUND, judged(FOUND, "true")), (second, None)]
    assert match([second, third], [judged(FOUND, "true")]) == [(second, None), (third, None)]


def test_rules_are_chosen_by_id() -> None:
    assert [rule.id for rule in chosen_rules(["FK-R002", "FK-P001"])] == ["FK-R002", "FK-P001"]
    with pytest.raises(
        InputError, match=r"^--rule: expected the id of a rule, such as FK-R001, got 'timeout'$"
    ):
        chosen_rules(["timeout"])


# --- judgements ------------------------------------------------------------------------------


def test_judged_lines_are_added_without_the_code_and_unjudged_ones_are_not(tmp_path: Path) -> None:
    sample, kept = tmp_path / "sample.jsonl", tmp_path / "judgements" / "work.jsonl"
    lines = [
        {**asdict(FOUND), "excerpt": "their code", "verdict": "false", "reason": "a script"},
        {**asdict(replace(FOUND, hash="bb")), "excerpt": "their code", "verdict": "", "reason": ""},
    ]
    sample.write_text("\n".join(map(json.dumps, lines)))
    assert add_judgements(kept, sample, "a reader") == 1
    assert read_judgements(kept) == [replace(judged(FOUND, "false", "a script"), confidence=0.95)]
    assert "their code" not in kept.read_text()


def test_a_later_judgement_replaces_an_earlier_one(tmp_path: Path) -> None:
    sample, kept = tmp_path / "sample.jsonl", tmp_path / "work.jsonl"
    for verdict in ("false", "true"):
        sample.write_text(json.dumps({**asdict(FOUND), "verdict": verdict, "reason": "read"}))
        add_judgements(kept, sample, "a reader")
    assert [each.verdict for each in read_judgements(kept)] == ["true"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"verdict": "maybe", "reason": "x"},
            r"sample.jsonl:1.verdict: expected one of true, arguable, false",
        ),
        ({"verdict": "true", "reason": " "}, r"sample.jsonl:1.reason: expected a sentence, got nothing"),
    ],
)
def test_a_judgement_needs_a_verdict_and_a_reason(
    tmp_path: Path, given: dict[str, str], problem: str
) -> None:
    sample = tmp_path / "sample.jsonl"
    sample.write_text(json.dumps({**asdict(FOUND), **given}))
    with pytest.raises(InputError, match=problem):
        add_judgements(tmp_path / "work.jsonl", sample, "a reader")


@pytest.mark.parametrize("half", [WORK, HELD])
def test_the_judgements_of_a_half_are_about_its_projects(half: str) -> None:
    halves = halves_of(read_projects())
    assert {halves[each.project] for each in read_judgements(judgements_path(half))} <= {half}


# --- samples ---------------------------------------------------------------------------------


def test_the_share_of_a_stratum_grows_with_the_square_root_of_its_size() -> None:
    sizes = {("a", "", ""): 900, ("b", "", ""): 100, ("c", "", ""): 1}
    assert list(shares_of(sizes, 41).values()) == [30, 10, 1]
    assert list(shares_of(sizes, 10_000).values()) == [900, 100, 1]


def test_a_sample_is_the_same_for_the_same_seed_in_any_order() -> None:
    findings = [replace(FOUND, hash=str(number)) for number in range(100)]
    assert draw(findings, 10, 1) == draw(findings[::-1], 10, 1)
    assert draw(findings, 10, 1) != draw(findings, 10, 2)


def test_an_excerpt_marks_the_flagged_lines() -> None:
    assert excerpt(["a", "b", "c"], 2, 2) == "     1 a\n>    2 b\n     3 c"


# --- weights ---------------------------------------------------------------------------------


def test_a_stratum_counts_by_its_findings_and_not_by_its_judgements() -> None:
    known = precision_of([stratum(90, true=1), stratum(10, false=9)])
    assert known.judged == Counter(true=1, false=9)
    assert known.shares["true"].value == pytest.approx(0.9)
    assert known.shares["false"].value == pytest.approx(0.1)


def test_a_stratum_without_judgements_is_unjudged_and_in_no_share() -> None:
    known = precision_of([stratum(90), stratum(10, true=2, arguable=2)])
    assert (known.findings, known.unjudged) == (100, 90)
    assert [share.value for share in known.shares.values()] == [0.5, 0.5, 0]
    assert precision_of([stratum(5)]).shares == {}


def test_few_judgements_leave_a_wide_interval_and_uneven_weights_a_wider_one() -> None:
    one = precision_of([stratum(100, true=1)]).shares["true"].interval
    assert one.low < 0.25
    even = precision_of([stratum(50, true=5, false=5), stratum(50, true=5, false=5)])
    uneven = precision_of([stratum(99, true=5, false=5), stratum(1, true=5, false=5)])
    assert even.shares["true"].interval.high < uneven.shares["true"].interval.high


def test_a_rule_is_too_low_under_sixty_percent_true_or_arguable() -> None:
    assert not precision_of([stratum(5, true=1, arguable=2, false=2)]).is_too_low
    assert precision_of([stratum(5, true=1, arguable=1, false=2)]).is_too_low
    assert not precision_of([stratum(5)]).is_too_low


def test_the_tables_group_by_severity_language_and_rule_and_name_the_rules_that_are_too_low() -> None:
    other = replace(FOUND, rule="FK-R021", language="java", hash="bb")
    text = precision_tables([FOUND, other], [judged(FOUND, "true"), judged(other, "false")])
    assert "| all | 2 | 0 | 1 / 0 / 1 | 50% (9-91) | 0% (0-66) | 50% (9-91) |" in text
    assert "| java | 1 | 0 | 0 / 0 / 1 | 0% (0-79) | 0% (0-79) | 100% (21-100) |" in text
    assert "Under 60% true or arguable: FK-R021 unbounded-recursion.\n" in text
    assert text.endswith("No longer found: 0 true, 0 arguable, 0 false.")


def test_what_a_model_confirmed_is_counted_by_language_and_severity() -> None:
    asked = [
        replace(judged(FOUND, "true"), checked="defect", confidence=0.5),
        replace(judged(FOUND, "false"), checked="wrong", confidence=0.8),
        replace(judged(FOUND, "arguable"), checked="defect", confidence=0.8, language="go", severity="low"),
        judged(FOUND, "false"),
    ]
    text = checked_tables(asked)
    assert "| rules, all | 3 | 33% (6-79) | 33% (6-79) | 33% (6-79) |" in text
    assert "| rules, as shown by default | 2 | 0% (0-66) | 50% (9-91) | 50% (9-91) |" in text
    assert "| the model: defect | 2 | 50% (9-91) | 50% (9-91) | 0% (0-66) |" in text
    assert "| the model: minor | 0 | none judged | none judged | none judged |" in text
    assert "| go | 1 | 0% (0-79) | 100% (21-100) | 0% (0-79) |" in text
    assert "| high | 1 | 100% (21-100) | 0% (0-79) | 0% (0-79) |" in text


def test_a_true_finding_that_is_no_longer_found_is_named() -> None:
    others = [judged(replace(FOUND, rule="FK-R021", hash=verdict), verdict) for verdict in ("true", "false")]
    text = precision_tables([FOUND], [judged(FOUND, "true"), *others])
    assert text.endswith("No longer found: 1 true, 0 arguable, 1 false.\n- FK-R021 shop shop/api.py:12: read")


@pytest.mark.parametrize(
    ("words", "files"), [((), 300), (("--files", "7"), 7), (("speed", "--files", "7"), 7)]
)
def test_options_without_a_command_are_those_of_the_speed(words: tuple[str, ...], files: int) -> None:
    asked = arguments(words)
    assert (asked.run, asked.files, asked.rules) == (_speed, files, False)


# --- pairs -----------------------------------------------------------------------------------

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()\n"
GOOD = BAD.replace("get(url)", "get(url, timeout=3)")


def _write_pair(folder: Path, bad: str, good: str, meta: object) -> Path:
    place = folder / "python" / "timeout"
    place.mkdir(parents=True)
    for name, text in (("bad.py", bad), ("good.py", good), ("meta.json", json.dumps(meta))):
        (place / name).write_text(text)
    return folder


def test_a_defect_is_found_by_a_finding_at_its_lines_that_the_good_file_lacks(tmp_path: Path) -> None:
    [pair] = read_pairs(_write_pair(tmp_path, BAD, GOOD, {"defect": "no timeout", "lines": [5, 5]}))
    assert "FK-R001" in outcome_of(pair).found_by
    assert "FK-R001" not in outcome_of(pair).on_good


def test_a_finding_elsewhere_or_in_both_files_finds_nothing(tmp_path: Path) -> None:
    [pair] = read_pairs(_write_pair(tmp_path, BAD, GOOD, {"defect": "no timeout", "lines": [1, 3]}))
    assert outcome_of(pair).found_by == ()
    assert outcome_of(replace(pair, good=pair.bad, lines=frozenset([5]))).found_by == ()


def test_a_line_that_names_the_defect_as_well_counts(tmp_path: Path) -> None:
    meta = {"defect": "no timeout", "lines": [1, 1], "also": [5]}
    [pair] = read_pairs(_write_pair(tmp_path, BAD, GOOD, meta))
    assert "FK-R001" in outcome_of(pair).found_by


def test_pairs_may_be_in_an_archive(tmp_path: Path) -> None:
    folder = _write_pair(tmp_path / "pairs", BAD, GOOD, {"defect": "no timeout", "lines": [5, 5]})
    with tarfile.open(tmp_path / "pairs.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname=".")
    with pairs_folder(tmp_path / "pairs.tar.gz") as unpacked:
        [pair] = read_pairs(unpacked)
        assert "FK-R001" in outcome_of(pair).found_by
    with pytest.raises(InputError, match="expected a folder or an archive"), pairs_folder(pair.bad):
        pass


def test_a_pair_needs_the_lines_of_its_defect(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"meta\.json\.lines: expected the first and the last line"):
        read_pairs(_write_pair(tmp_path, BAD, GOOD, {"defect": "no timeout", "lines": 5}))
    with pytest.raises(InputError, match=r"expected <language>/<name>/meta\.json below it, got none"):
        read_pairs(tmp_path / "python")


def test_recall_is_counted_by_language() -> None:
    pair = Pair("go", "leak", "goroutine leak", frozenset([1]), Path("bad.go"), Path("good.go"))
    text = recall_table(
        [Outcome(pair, ("FK-R001",), ()), Outcome(replace(pair, name="other"), (), ("FK-R002",))]
    )
    assert "| go | 2 | 1 | 50% (9-91) | 1: 50% (9-91) |" in text
    assert "Missed:\n- go/other: goroutine leak\n" in text
    assert text.endswith("Findings on good files:\n- go/other: FK-R002")
