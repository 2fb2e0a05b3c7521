"""Finds Rust code that panics when something outside of it fails: `unwrap()` on what the network gave."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import LIKELY, RUST, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import runs_once

_BODIES = ("json", "text", "bytes")
_PANICS = ("unwrap", "expect")
_PARSES = lazy_regex(r"^(serde_json|serde_yaml|toml)\.from_(str|slice|reader|value)$")
_TEST = lazy_regex(r"(^|\.)(test|bench|rstest)$")

_BROKERS = (
    "rdkafka", "kafka", "lapin", "amqprs", "async_nats", "nats", "pulsar", "rumqttc", "paho_mqtt",
    "aws_sdk_sqs", "google_cloud_pubsub", "tungstenite", "tokio_tungstenite", "fred",
)  # fmt: skip
_RECEIVERS = lazy_regex(rf"^({'|'.join(_BROKERS)})\.")
_RECEIVED = frozenset(("payload", "delivery", "message", "msg", "publish", "record", "frame", "event"))


def _check(facts: Facts) -> Iterator[Hit]:
    remote = {each.call for each in remote_calls(facts) if each.through is None}
    for call in facts.calls_of_method(*_PANICS):
        scope = facts.named_function_of(call)
        if scope is None or _is_start_or_test(scope, facts) or _is_stated(call, facts):
            continue
        source = _source(call, remote) or _awaited(call, scope, facts)
        if source is not None:
            in_route = facts.route_of(call) is not None
            severity: Severity = "high" if in_route else "medium"
            what = f"{call.method}() panics when {source.written}() fails"
            yield Hit(call.span, what, LIKELY, severity)
        elif (parsed := _parsed(call)) is not None and (
            facts.route_of(call) is not None or _is_received(parsed, facts) or _answers(scope, facts)
        ):
            yield Hit(
                call.span, f"{call.method}() panics when {parsed.written}() cannot read its input", LIKELY
            )
        elif (given := _of_client(call, scope, facts)) is not None:
            yield Hit(
                call.span, f"{call.method}() panics when {given.written}() does not find or get it", LIKELY
            )


_ON_THREADS = frozenset(("run", "interact", "spawn_blocking", "block_in_place"))


def _is_stated(call: Call, facts: Facts) -> bool:
    """Return whether a closure that a thread runs says what failed: `conn.run(|c| ….expect("loading"))`.

    The panic ends that closure, and what awaits it gets an error."""
    scope = facts.function_of(call)
    if call.method != "expect" or scope is None or not scope.is_anonymous or scope.is_async:
        return False
    around = facts.calls_around(scope)
    return bool(around) and around[-1].method in _ON_THREADS


_READS = frozenset(
    (
        "parse",
        "to_str",
        "as_str",
        "as_i64",
        "as_u64",
        "as_f64",
        "as_bool",
        "as_array",
        "as_object",
        "from_utf8",
    )
)
_LOOKS_UP = lazy_regex(
    r"^(get|remove|find|find_\w+|fetch_\w+|get_\w+|load\w*|save\w*|insert\w*|update\w*|delete\w*|query\w*|send)$"
)


def _of_client(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the call in a request handler that reads what a client sent, or waits for a store."""
    made = call.origin
    if made is None or (
        made.method == "parse" and made.positional and made.positional[0].value.shape == "text"
    ):
        return None  # What is written out is right or wrong each time.
    if made.method == "parse" and _is_written_out(made, facts):
        return None
    in_route = facts.route_of(call) is not None or any(
        each.type.endswith("HeaderMap") for each in scope.parameters
    )
    if in_route and (
        made.method in _READS
        or (_LOOKS_UP.match(made.method) and (made.is_awaited or "HeaderMap" in made.name))
    ):
        return made
    # A field of JSON that was parsed here may be missing.
    if made.method.startswith("as_") and made.method in _READS:
        root = re.match(r"\w+", made.written)
        parsed = [] if root is None else [each.call for each in facts.assignments_to(root[0], call)]
        if any(each is not None and _PARSES.match(each.name) for each in parsed):
            return made
    return None


_CONSTANT = lazy_regex(r"(?:\w+::)*[A-Z][A-Z0-9_]+$")


def _is_written_out(parsed: Call, facts: Facts) -> bool:
    """Return whether a constant or a text of this function is parsed: `NAME.parse()`."""
    owner = facts.text(parsed.span).partition(".")[0].strip()
    if _CONSTANT.match(owner) or owner.startswith('"'):
        return True
    made = facts.assignments_to(owner, parsed) if owner.isidentifier() else ()
    return bool(made) and all(each.value is not None and each.value.shape == "text" for each in made)


def _source(call: Call, remote: set[Call]) -> Call | None:
    """Return the call over the network whose error would panic: an error handled before does not."""
    for each in chain(call)[1:]:
        if each in remote or (each.method in _BODIES and any(made in remote for made in chain(each))):
            return each
        if each.method.startswith(
            ("unwrap", "expect", "ok", "map_or", "or_else", "and_then", "headers", "get")
        ):
            return None
    return None


_SERVERS = ("axum", "actix_web", "warp", "tonic", "rocket", "poem", "salvo")
_SURE = frozenset(
    ("lock", "read", "write", "acquire", "acquire_owned", "join_next", "recv", "changed", "tick", "send")
)
"""What fails only when the program is wrong or ending; a request is sent by a chain that is longer."""


def _awaited(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return what a handler awaits and unwraps: `client.get(url).send().await.unwrap()`."""
    made = call.origin
    if made is None or not made.is_awaited or not facts.imports_any(*_SERVERS) or not scope.is_async:
        return None
    text = facts.text(made.span)
    requests = (
        made.method == "send" and re.search(r"\.(get|post|put|patch|delete|request)\(", text) is not None
    )
    if made.method in _SURE and not requests:
        return None
    is_handler = facts.route_of(call) is not None or any(
        re.search(r"\b(State|Json|Path|Query|Form|Extension|web\.\w+|Data|Request)$", each.type)
        for each in scope.parameters
    )
    return made if is_handler and "." in made.written else None


def _answers(scope: Scope, facts: Facts) -> bool:
    """Return whether an async function takes or gives what a handler of a web framework does."""
    if not scope.is_async or not facts.imports_any(*_SERVERS):
        return False
    gives = re.search(
        r"->.*\b(StatusCode|IntoResponse|Response|HttpResponse|Json|Reply)\b", facts.text(scope.head)
    )
    return gives is not None or any(
        re.search(r"\b(State|Json|Path|Query|Form|Extension|web\.\w+|Bytes|HeaderMap|Multipart)$", each.type)
        for each in scope.parameters
    )


def _parsed(call: Call) -> Call | None:
    made = call.origin
    if made is None or not _PARSES.match(made.name):
        return None
    first = made.argument(place=0)
    return None if first is None or first.value.shape == "text" else made


def _is_received(parsed: Call, facts: Facts) -> bool:
    """Return whether what is parsed came from a broker or a socket."""
    words = {*re.findall(r"[A-Za-z_]\w*", parsed.arguments[0].value.text)}
    scope = facts.named_function_of(parsed)
    if scope is not None and any(
        each.name in words and _RECEIVERS.match(each.type) for each in scope.parameters
    ):
        return True
    made = [each.call for word in words for each in facts.assignments_to(word, parsed) if each.call]
    inside = [
        each for argument in parsed.arguments for each in facts.within(facts.calls, argument.value.span)
    ]
    if any(_RECEIVERS.match(each.name) for each in (*made, *inside)):
        return True
    # The variable of `while let Some(delivery) = consumer.next().await` has no type.
    return facts.imports_any(*_BROKERS) and bool(words & _RECEIVED)


def _is_start_or_test(scope: Scope, facts: Facts) -> bool:
    if any(_TEST.search(each.name) for each in scope.decorators) or scope.short_name.startswith("test_"):
        return True
    # Migrations run before the first request.
    return (runs_once(scope) or "migrat" in scope.short_name) and scope.route is None


RULE = Rule(
    id="FK-R070",
    slug="panic-on-failure",
    title="Panic when a dependency fails",
    why="A refused connection or an unexpected answer ends the task or the thread instead of becoming an "
    "error that the caller can handle; a lock that it held is poisoned.",
    fix="Return the error with `?`, or answer with a fallback.",
    kind="reliability",
    severity="medium",
    languages=RUST,
    check=_check,
)
