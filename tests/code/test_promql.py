"""PromQL: what Prometheus takes, what it refuses and where, side by side with another parser."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faultkit.code.promql import problem_of, type_of
from faultkit.code.promql.functions import AGGREGATIONS, FUNCTIONS

GOOD = [
    *r"""
1
.5
5.
1e3
1E-3
0x1F
1_000
NaN
inf
-Inf
"text"
'it'
`raw \ text`
"a\n\t\"b\x41\u00e9\101"
up
job:rate:5m
:a
up{}
up{job="a"}
up{job="a",}
up{job!="a", instance=~"b.*",x!~"c|d"}
{__name__="up"}
{job=~".+"}
{job="a", x=""}
up{job='a'}
up{job=`a`}
up{by="a", sum="b"}
{"http.server.duration"}
{"http.server.duration", "service.name"="a"}
up{a=~"[[:alpha:]]+"}
up{a=~"\\pL+"}
up{a=~"(?i)x"}
up{a=~"a??"}
sum
offset
count{a="b"}
on_call
start
up[5m]
up[1h30m]
up[300]
up[1d:]
up[1h:5m]
up offset 5m
up offset -5m
up[5m] offset 1w
up @ 1609746000
up @ start()
up[5m] @ end()
up @ -1.5 offset 5m
up offset 5m @ 3
rate(up[5m])[1h:5m] offset 1d
up offset 5m [1h:1m]
max_over_time(rate(up[5m])[1h:])
1 + 2 * 3 ^ 4 % 5 - 6 / 7
-up ^ 2
2 ^ -up
--up
up * -1
up == bool 1
1 > bool 2
up > 1
up and up
up OR up
up unless on (a) up
up atan2 up
up + on (a, b) group_left (c) up
up / ignoring (a) group_right up
up * on () group_left () up
up > bool on (a) up
1 + up and up
sum(up)
sum by (a) (up)
sum(up) by (a, b)
SUM WITHOUT (a,) (up)
sum without () (up)
topk(3, up)
quantile by (a) (0.9, up)
count_values("v", up)
count(up) by (a) > 1
group(up)
sum by ("service.name") (up)
sum by (on, group_left) (up)
time()
pi() * 2
hour()
hour(up)
round(up)
round(up, 0.1)
scalar(up) + 1
vector(1)
clamp(up, 0, 1)
absent(up)
label_replace(up, "a", "$1", "b", "(.*)")
label_join(up, "a", "-")
label_join(up, "a", "-", "b", "c")
predict_linear(up[1h], 3600)
quantile_over_time(0.9, up[5m])
rate((up[5m]))
((up))
histogram_quantile(0.95, sum(rate(http_request_duration_seconds_bucket{handler="index"}[5m])) by (le))
sum(rate(http_requests_total{handler="index",status=~"2.."}[5m]))/sum(rate(http_requests_total{handler="index"}[5m]))*100
""".strip().splitlines(),
    "up\n  + # why\n  up",
]

BAD = {
    # The expression, and what is said about it.
    "": "column 1: expected an expression, got nothing",
    " # only a comment": "column 18: expected an expression, got nothing",
    "up)": "column 3: expected an operator or the end, got ')'",
    "(up": "column 4: expected ')' to close that of column 1, got the end",
    "up up": "column 4: expected an operator or the end, got 'up'",
    "up +": "column 5: expected an expression, got the end",
    "* up": "column 1: expected an expression, got '*'",
    "up\n+ )": "line 2, column 3: expected an expression, got ')'",
    "up; up": "column 3: unexpected character ';'",
    "é": "column 1: unexpected character 'é'",
    "$up": "column 1: unexpected character '$'",
    "1e": "column 1: expected a number or a duration such as 5m, got '1e'",
    "1.5h": "column 1: expected a number or a duration such as 5m, got '1.5h'",
    "1.2.3": "column 1: expected a number or a duration such as 5m, got '1.2.3'",
    "1e999": "column 1: expected a number that 64 bits hold, got '1e999'",
    '"abc': 'column 1: a text that begins with " has no end',
    '"a\nb"': 'line 1, column 1: a text that begins with " has no end',
    '"\\d"': "column 2: unknown escape '\\\\d' in a text; a backslash is written \\\\",
    "\"\\'\"": "column 2: unknown escape \"\\\\'\" in a text; a backslash is written \\\\",
    '"\\777"': "column 2: \\777 is no character",
    # Selectors.
    "{}": "column 1: expected a matcher that does not match the empty text",
    '{a=""}': "column 1: expected a matcher that does not match the empty text",
    '{a=~".*"}': "column 1: expected a matcher that does not match the empty text",
    '{a!="b"}': "column 1: expected a matcher that does not match the empty text",
    "up{a=b}": "column 6: expected a text in quotes after =, got 'b'",
    'up{a=="b"}': "column 5: expected =, !=, =~ or !~ after the label 'a', got '=='",
    "up{a}": "column 5: expected =, !=, =~ or !~ after the label 'a', got '}'",
    "up{,}": "column 4: expected a label, got ','",
    'up{a:b="c"}': "column 4: expected a label, got 'a:b'",
    'up{a="b" c="d"}': "column 10: expected '}' or ',' among matchers, got 'c'",
    'up{a="b"': "column 9: expected '}' or ',' among matchers, got the end",
    'up{a="b"}{c="d"}': "column 10: expected an operator or the end, got '{'",
    'up{__name__="x"}': "column 3: expected one name of a metric, got 'up' and 'x'",
    'up{a=~"["}': None,
    'up{a=~"(?=b)"}': "column 7: expected a regular expression, got '(?=b)': "
    "looking ahead or behind is not known to RE2",
    'up{a=~"a++"}': "column 7: expected a regular expression, got 'a++': "
    "a repetition of a repetition is not known to RE2",
    'up{a=~"(a)\\\\1"}': "column 7: expected a regular expression, got '(a)\\\\1': "
    "a reference back to a group is not known to RE2",
    "bool": "column 1: expected an expression, got the keyword 'bool'",
    "on(a)": "column 1: expected an expression, got the keyword 'on'",
    # Ranges, subqueries, offset and @.
    "up[5m": "column 6: expected ']' after the range, got the end",
    "up[]": "column 4: expected a range such as 5m, got ']'",
    "up[0s]": "column 4: expected a range above 0, got '0s'",
    "up[-5m]": "column 4: expected a range such as 5m, got '-'",
    "up[30s1m]": "column 4: expected a number or a duration such as 5m, got '30s1m'",
    "up[300y]": "column 4: expected a duration of at most 292 years",
    "up[5m:0s]": "column 7: expected a step above 0, got '0s'",
    "up[5m][5m]": "column 7: expected the name of a metric or a selector before a range",
    "(up)[5m]": "column 5: expected the name of a metric or a selector before a range",
    "up[5m][1h:5m]": "column 1: expected an instant vector before a subquery, "
    "got a range vector such as x[5m]",
    "up offset 5m [5m]": "column 14: expected the range before `offset` and `@`",
    "up offset": "column 10: expected an offset such as 5m, got the end",
    "up offset 5m offset 5m": "column 14: expected 'offset' once",
    "1 offset 5m": "column 3: expected a selector, a range or a subquery before 'offset'",
    "sum(up) @ 5": "column 9: expected a selector, a range or a subquery before '@'",
    "up @ 5 @ 6": "column 8: expected '@' once",
    "up @ inf": "column 6: expected a time in seconds, start() or end() after @, got 'inf'",
    "up @ start": "column 11: expected '(' after 'start', got the end",
    # Operators.
    "up + bool 1": "column 6: expected `bool` after a comparison only, got it after '+'",
    "1 == 2": "column 3: expected '==' with `bool` between two numbers",
    "1 and 2": "column 3: expected instant vectors on both sides of 'and', got a number",
    "1 + on (a) up": "column 5: expected instant vectors where labels are matched, got a number",
    "up + on a up": "column 9: expected '(' after 'on', got 'a'",
    "up and on (a) group_left up": "column 15: expected no group_left with 'and'",
    "up + on (a) group_left (a) up": "column 13: expected other labels in group_left than in on, got 'a'",
    "up[5m] + 1": "column 1: expected a number or an instant vector beside '+', "
    "got a range vector such as x[5m]",
    'up == "a"': "column 7: expected a number or an instant vector beside '==', got a text",
    "-up[5m]": "column 2: expected a number or an instant vector after '-', got a range vector such as x[5m]",
    # Aggregations.
    "sum(up[5m])": "column 5: expected an instant vector as argument 1 of sum(), "
    "got a range vector such as x[5m]",
    "sum(1)": "column 5: expected an instant vector as argument 1 of sum(), got a number",
    "sum(up, up)": "column 1: expected 1 argument for sum(), got 2",
    "sum()": "column 1: expected 1 argument for sum(), got 0",
    "topk(up)": "column 1: expected 2 arguments for topk(), got 1",
    "count_values(v, up)": "column 14: expected a text as argument 1 of count_values(), "
    "got an instant vector",
    "sum by a (up)": "column 8: expected '(' after 'by', got 'a'",
    "sum by (a:b) (up)": "column 9: expected a label, got 'a:b'",
    "sum by (a) (up) by (b)": "column 17: expected an operator or the end, got 'by'",
    "sum(up) by (a) by (b)": "column 16: expected an operator or the end, got 'by'",
    "sum by (a)": "column 11: expected '(' after 'sum', got the end",
    "topk(3, up,)": "column 11: expected another argument after ',', got ')'",
    # Functions.
    "rate(up)": "column 6: expected a range vector such as x[5m] as argument 1 of rate(), "
    "got an instant vector",
    "Rate(up[5m])": "column 1: there is no function 'Rate'; did you mean 'rate'?",
    "frobnicate(up)": "column 1: there is no function 'frobnicate'",
    "limitk(3, up)": "column 1: 'limitk' is experimental: most servers refuse it",
    "time(1)": "column 1: expected 0 arguments for time(), got 1",
    "round(up, 1, 2)": "column 1: expected 1 to 2 arguments for round(), got 3",
    'label_join(up, "a")': "column 1: expected at least 3 arguments for label_join(), got 2",
    "vector(up)": "column 8: expected a number as argument 1 of vector(), got an instant vector",
    "histogram_quantile(sum(up) by (le), 0.95)": "column 20: expected a number as argument 1 of "
    "histogram_quantile(), got an instant vector",
    "(" * 60 + "up" + ")" * 60: "column 51: expected at most 50 expressions in one another",
}  # fmt: skip


@pytest.mark.parametrize("expression", GOOD)
def test_what_prometheus_takes_has_no_problem(expression: str) -> None:
    assert problem_of(expression) is None


@pytest.mark.parametrize(("expression", "problem"), BAD.items(), ids=[each[:40] for each in BAD])
def test_what_prometheus_refuses_is_named_with_its_place(expression: str, problem: str | None) -> None:
    found = problem_of(expression)
    assert found is not None
    if problem is not None:  # What Python says about a regular expression differs by its version.
        assert found == problem


@pytest.mark.parametrize(
    ("expression", "type_"),
    [("1", "scalar"), ("'a'", "text"), ("up", "instant"), ("up[5m]", "range"), ("up[5m:]", "range"),
     ("1 + up", "instant"), ("scalar(up) + 1", "scalar"), ("-1", "scalar"), ("(up[5m])", "range")],
)  # fmt: skip
def test_the_type_of_an_expression_is_told(expression: str, type_: str) -> None:
    assert type_of(expression) == type_


def test_the_type_of_no_expression_is_an_error() -> None:
    with pytest.raises(ValueError, match="column 5: expected an expression, got the end"):
        type_of("up +")


@given(st.text())
@example("\\")
@example("1" * 400)
@example("0x" + "f" * 400)
@example("up[" + "9" * 400 + "y]")
@example("-" * 5000 + "up")
@example("up^" * 5000 + "up")
def test_any_text_has_a_problem_or_none_and_never_raises(expression: str) -> None:
    problem = problem_of(expression)
    assert problem is None or problem.startswith(("column ", "line "))


PIECES = st.sampled_from(
    """
up
1
5m
'a'
(
)
{
}
[
]
5m]
[5m]
[1h:5m]
[5m:]
,
:
=
!=
=~
a
a='b'
{a='b'}
__name__='a'
sum
sum(
by
by (a)
without ()
on (a)
ignoring
group_left
group_right (b)
bool
and
or
unless
atan2
offset 5m
offset
@ 5
@ start()
-
*
^
>
==
rate(
rate(up[5m])
topk(1,
time()
vector(
label_join(
""".strip().splitlines()
)
"""Most texts are refused at their first character; these get further."""


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_pieces_in_any_order_never_raise(expression: str) -> None:
    problem_of(expression)


# --- another parser ---------------------------------------------------------------------------------

HAS_ORACLE = importlib.util.find_spec("promql_parser") is not None
needs_oracle = pytest.mark.skipif(not HAS_ORACLE, reason="promql-parser is not installed")

DIFFERENT = {
    "`raw \\ text`": "reads escapes where there are none",
    "1e999": "takes it for infinity",
    "1_000": "takes no underscores, which Prometheus 3 does",
    'up{a=~"a++"}': "reads regular expressions of another kind than RE2",
    "limitk(3, up)": "knows experimental functions",
    "up[300y]": "has longer durations than Prometheus",
    "(" * 60 + "up" + ")" * 60: "goes deeper",
}
"""Where the other parser is not Prometheus, or we are stricter on purpose."""


def taken_by_oracle(expression: str) -> bool:
    import promql_parser

    try:
        promql_parser.parse(expression)
    except (ValueError, OverflowError):
        return False
    return True


@needs_oracle
@pytest.mark.parametrize("expression", [*GOOD, *BAD], ids=lambda each: each[:40])
def test_another_parser_takes_and_refuses_the_same(expression: str) -> None:
    same = (problem_of(expression) is None) == taken_by_oracle(expression)
    assert same != (expression in DIFFERENT)


@needs_oracle
@given(st.lists(PIECES, max_size=8).map(" ".join))
def test_another_parser_agrees_on_pieces_in_any_order(expression: str) -> None:
    assert (problem_of(expression) is None) == taken_by_oracle(expression), expression


@needs_oracle
@pytest.mark.parametrize("name", [*FUNCTIONS, *AGGREGATIONS])
def test_another_parser_knows_the_same_signatures(name: str) -> None:
    written = {"scalar": "1", "text": "'a'", "instant": "up", "range": "up[5m]"}
    signature = {**FUNCTIONS, **AGGREGATIONS}[name]
    for count in range(len(signature.takes) + 2):
        given_ = [written[signature.type_at(place)] if signature.takes else "1" for place in range(count)]
        expression = f"{name}({', '.join(given_)})"
        assert (problem_of(expression) is None) == taken_by_oracle(expression), expression
