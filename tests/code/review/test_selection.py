"""Names of rules: ids, slugs, prefixes, kinds, and which of two names counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.errors import InputError
from faultkit.code.review.engine import RULES
from faultkit.code.review.selection import check_rule_name, selected_rules

BY_ID = {rule.id: rule for rule in RULES}
FOUR = (
    *(replace(BY_ID[each], by_default=True) for each in ("FK-R001", "FK-R002", "FK-P001")),
    replace(BY_ID["FK-P002"], by_default=False),
)


@pytest.mark.parametrize(
    ("select", "extend", "ignore", "expected"),
    [
        (None, (), (), "R001 R002 P001"),
        (None, ("FK-P002",), (), "R001 R002 P001 P002"),
        (None, ("http-client-per-call",), ("FK-R",), "P001 P002"),
        (("FK-R001",), (), (), "R001"),
        (("fk-r001",), (), (), "R001"),
        (("http-call-without-timeout",), (), (), "R001"),
        (("FK-R",), (), (), "R001 R002"),
        (("FK-R00",), (), ("FK-R001",), "R002"),
        (("FK-R001",), (), ("FK-R",), "R001"),
        (("FK-R001",), (), ("FK-R001",), ""),
        (("performance",), (), (), "P001"),
        (("performance", "FK-P002"), (), (), "P001 P002"),
        (("all",), (), (), "R001 R002 P001 P002"),
        (("all",), (), ("reliability",), "P001 P002"),
        (None, (), ("all",), ""),
        ((), (), (), ""),
    ],
)
def test_rules_are_selected_by_the_most_exact_name(
    select: tuple[str, ...] | None, extend: tuple[str, ...], ignore: tuple[str, ...], expected: str
) -> None:
    chosen = selected_rules(FOUR, select, extend, ignore)
    assert [rule.id.removeprefix("FK-") for rule in chosen] == expected.split()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("http-call-without-timeot", 'unknown rule .*; did you mean "http-call-without-timeout"?'),
        ("FK-R5", 'unknown rule "FK-R5"; did you mean "FK-R005"?'),
        ("r0011", 'unknown rule "r0011"; did you mean "FK-R011"?'),
        ("FK-R999", 'unknown rule "FK-R999"$'),
        ("relibility", 'unknown rule "relibility"; did you mean "reliability"?'),
        ("", "expected the name of a rule"),
        (3, "expected the name of a rule"),
    ],
)
def test_an_unknown_name_is_refused_with_a_near_one(name: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check_rule_name(name, RULES)
