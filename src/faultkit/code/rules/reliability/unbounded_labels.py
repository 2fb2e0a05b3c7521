"""Finds labels of metrics that take any number of values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_METRICS = TextPattern(
    r"prometheus|micrometer|MeterRegistry|prom-client|statsd|StatsD|opentelemetry|datadog|DogStatsd|metrics\b|Metrics\b"
)
_LABELS = frozenset(
    ("labels", "WithLabelValues", "With", "WithLabels", "with_label_values", "label_values", "tags", "tag")
)
_MAKERS = frozenset(("counter", "timer", "summary", "gauge", "increment", "histogram"))
_RECORDS = frozenset(("inc", "observe", "set", "Inc", "Add", "add", "record", "Observe", "increment"))
_ENDLESS = lazy_regex(
    r"(?:^|[.\[(\"'_ ])(user_?id|userID|customer_?id|order_?id|session_?id|request_?id|trace_?id|account_?id"
    r"|device_?id|message_?id|payment_?id|email|token|uuid|guid|ip_?addr(?:ess)?|remote_?addr|client_?ip)(?:[\"')\]]|$|\(|\.|,)"
    r"|\b(?:req|request|r|c\.Request|ctx\.Request|ctx)\.(?:url(?:\.path)?|path|originalUrl|URL\.(?:Path|String\(\))"
    r"|RequestURI|Path|getRequestURI\(\)|requestURI|RemoteAddr|ip|full_path|raw_path|build_absolute_uri\(\))$"
    r"|\b(?:req|request)\.(?:(?:userPrincipal|getUserPrincipal\(\))[?!]*\.\w+|remoteUser|getRemoteUser\(\)"
    r"|remoteAddr|getRemoteAddr\(\))"
    r"|\bHeader\.Get\(\"X-(?:User|Request|Trace|Session)",
    re.IGNORECASE,
)
_MESSAGE = lazy_regex(
    r"^(err|error|e|ex|exc|exception)(\.message|\.Error\(\)|\.getMessage\(\)|\.Message)$|^str\((e|exc|err)\)$"
)


_IS_TRUTH = lazy_regex(r"[=!]=|[<>]=?\s|\bnot\b|\bis None\b|!\w")
"""A comparison, which has two values."""


def _check(facts: Facts) -> Iterator[Hit]:
    if not _METRICS.search(facts.whole_text):
        return
    for call in facts.calls:
        if not _takes_labels(call, facts):
            continue
        for each in call.arguments:
            text = each.value.text
            if each.value.shape in ("text", "object", "function") or each.name in ("*", "**"):
                continue
            if (_ENDLESS.search(text) or _MESSAGE.match(text)) and not _IS_TRUTH.search(text):
                yield Hit(call.span, f"{text} as a label makes a new series for each of its values", LIKELY)
                break


def _takes_labels(call: Call, facts: Facts) -> bool:
    if call.method in _LABELS:
        # Logs have fields, too.
        return re.search(r"log|zap|slog", call.name, re.IGNORECASE) is None and _is_metric(call, facts)
    if call.method in _MAKERS:
        return re.search(
            r"(registry|metrics?|meter|statsd|MeterRegistry|Metrics)$", call.receiver_written or "", re.I
        ) is not None or ("MeterRegistry" in call.receiver)
    if call.name.endswith("startTimer()"):
        return any(each.value.shape == "object" for each in call.arguments)
    if call.method in _RECORDS:
        return any(each.value.shape == "object" for each in call.arguments) and (
            re.search(r"prom-client|prometheus|opentelemetry", call.name) is not None
            or _is_own_metric(call, facts)
        )
    return False


def _is_metric(call: Call, facts: Facts) -> bool:
    return re.search(
        r"prom|[cC]ounter|[gG]auge|[hH]istogram|[sS]ummary|[mM]etric|micrometer|Timer\.builder|Vec", call.name
    ) is not None or (_is_own_metric(call, facts))


def _is_own_metric(call: Call, facts: Facts) -> bool:
    """Return whether the object was made as a metric in this text."""
    name = call.receiver_written
    return any(
        re.search(r"[cC]ounter|[gG]auge|[hH]istogram|[sS]ummary", each.call.name) is not None
        for each in facts.assignments_to(name, call)
        if each.call is not None
    )


RULE = Rule(
    id="FK-R137",
    slug="unbounded-labels",
    title="Metric label with any number of values",
    why="Each value is a series of its own that is kept for weeks: the metrics server runs out of memory.",
    fix="Use the template of the route, a status class or a tenant tier; put ids into logs and traces.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"abel",
        b"counter",
        b"timer",
        b"gauge",
        b"summary",
        b"tags",
        b".tag(",
        b"With(",
        b".inc(",
        b".observe(",
        b".Add(",
        b".add(",
    ),
)
