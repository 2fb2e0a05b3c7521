"""PromQL of a language model: expressions that Prometheus accepts pass, others are refused with a reason."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from faultkit.code.slos.indicators import LONGEST_PROMQL, promql_problem

GOOD = [
    *r"""
1
.5
5.
1e3
1E-3
0x1F
NaN
inf
-Inf
"text"
'it'
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

BAD = [
    "",
    " # only a comment",
    "up)",
    "(up",
    "up up",
    "up +",
    "* up",
    "up\n+ )",
    "up; up",
    "é",
    "$up",
    "1e",
    "1.5h",
    "1.2.3",
    '"abc',
    '"a\nb"',
    '"\\d"',
    '"\\\'"',
    '"\\777"',
    "{}",
    '{a=""}',
    '{a=~".*"}',
    '{a!="b"}',
    "up{a=b}",
    'up{a=="b"}',
    "up{a}",
    "up{,}",
    'up{a:b="c"}',
    'up{a="b" c="d"}',
    'up{a="b"',
    'up{a="b"}{c="d"}',
    'up{__name__="x"}',
    'up{a=~"["}',
    'up{a=~"(?=b)"}',
    'up{a=~"(a)\\\\1"}',
    "bool",
    "on(a)",
    "up[5m",
    "up[]",
    "up[0s]",
    "up[-5m]",
    "up[30s1m]",
    "up[5m:0s]",
    "up[5m][5m]",
    "(up)[5m]",
    "up[5m][1h:5m]",
    "up offset 5m [5m]",
    "up offset",
    "up offset 5m offset 5m",
    "1 offset 5m",
    "sum(up) @ 5",
    "up @ 5 @ 6",
    "up @ inf",
    "up @ start",
    "up + bool 1",
    "1 == 2",
    "1 and 2",
    "1 + on (a) up",
    "up + on a up",
    "up and on (a) group_left up",
    "up + on (a) group_left (a) up",
    "up[5m] + 1",
    'up == "a"',
    "-up[5m]",
    "sum(up[5m])",
    "sum(1)",
    "sum(up, up)",
    "sum()",
    "topk(up)",
    "count_values(v, up)",
    "sum by a (up)",
    "sum by (a:b) (up)",
    "sum by (a) (up) by (b)",
    "sum(up) by (a) by (b)",
    "sum by (a)",
    "topk(3, up,)",
    "rate(up)",
    "Rate(up[5m])",
    "frobnicate(up)",
    "time(1)",
    "round(up, 1, 2)",
    'label_join(up, "a")',
    "vector(up)",
    "histogram_quantile(sum(up) by (le), 0.95)",
]


def test_an_expression_that_prometheus_accepts_has_no_problem() -> None:
    assert {each: promql_problem(each) for each in GOOD} == dict.fromkeys(GOOD)


def test_an_expression_that_prometheus_refuses_has_a_problem() -> None:
    assert [each for each in BAD if not promql_problem(each)] == []


def test_the_problem_is_named() -> None:
    assert promql_problem("sum(rate(x[5m])") == "unclosed left parenthesis"
    problem = promql_problem("rate(up)")
    assert problem == "expected type matrix in call to function 'rate', got vector"


@given(st.text())
@example("\\")
@example("1" * 400)
@example("0x" + "f" * 400)
@example("up[" + "9" * 400 + "y]")
@example("-" * 5000 + "up")
@example("up^" * 5000 + "up")
@example("(" * 100_000)
def test_any_text_has_a_problem_or_none_and_never_raises(expression: str) -> None:
    assert promql_problem(expression) != ""


def test_the_deepest_expression_that_is_parsed_does_not_overflow_the_stack() -> None:
    depth = LONGEST_PROMQL // 2 - 1
    assert promql_problem("(" * depth + "up" + ")" * depth) is None


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
    promql_problem(expression)
