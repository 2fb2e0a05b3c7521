"""Code that runs many times: for each request, message or item."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from faultkit.code.facts import Call, Facts, Loop, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.retries import retries

Frequency: TypeAlias = Literal["request", "message", "item"]

_JOBS = frozenset(
    (
        "task", "shared_task", "job", "actor", "KafkaListener", "RabbitListener", "SqsListener",
        "JmsListener", "EventListener", "MessagePattern", "EventPattern", "subscriber", "agent", "consumer",
    )
)  # fmt: skip
_JOB_NAMES = re.compile(
    r"^(lambda_handler|on_?message|handle_?(message|event|request|job|task)|process_?(message|event|job))$",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(main|__main__|__init__|__new__|__aenter__|__enter__|__post_init__|constructor|init|setup|set_up|setUp"
    r"|lifespan|startup|on_?startup|start|run|cli|configure|bootstrap|connect|create_app|build_app|shutdown"
    r"|New[A-Z]\w*|[Ii]nit[A-Z]\w*|init_\w+|setup_\w+|test_?\w*|create_?\w*client|make_?\w*client|build_?\w*client"
    r"|get_?\w*(client|session|http|engine|pool|db))$"
)
_CACHED = frozenset(
    ("lru_cache", "cache", "cached_property", "fixture", "asynccontextmanager", "contextmanager")
)
_MADE_ONCE = frozenset(("Bean", "PostConstruct", "BeforeAll", "BeforeEach", "Singleton", "on_event"))
_LENGTH = re.compile(r"\blen\(|\.(length|size\(\))")
_FIXED = re.compile(r"[\[({][^*]*[\])}]|([\w.]+\.)?_*[A-Z][A-Z0-9_]+", re.DOTALL)
"""Items that are written out: a literal, or a constant by its name."""
_DEEPEST = 3


def how_often(place: Placed, facts: Facts) -> Frequency | None:
    """Return how often code runs: for each request, message or item; None if nothing shows that it
    repeats."""
    return _how_often(place, facts, 0)


def _how_often(place: Placed, facts: Facts, depth: int) -> Frequency | None:
    if facts.route_of(place) is not None or any(map(_is_handler, facts.functions_around(place))):
        return "request"
    if any(_is_job(scope) for scope in facts.functions_around(place)):
        return "message"
    if any(map(is_over_items, facts.loops_around(place))) and not is_tried_again(place, facts):
        return "item"
    scope = facts.named_function_of(place)
    if scope is None or depth == _DEEPEST or is_done_once(scope):
        return None
    for caller in facts.callers_of(scope):
        if facts.named_function_of(caller) is not scope and (found := _how_often(caller, facts, depth + 1)):
            return found
    return None


def is_done_once(scope: Scope) -> bool:
    """Return whether a name or decorator shows that a function makes or starts something once."""
    names = {each.method for each in scope.decorators}
    if names & _CACHED or names & _MADE_ONCE:
        return True
    return (
        _ONCE.match(scope.short_name) is not None or scope.short_name == scope.owner.rpartition(".")[2] != ""
    )


def is_over_items(loop: Loop) -> bool:
    """Return whether a loop has an unknown number of items: no literal list, range or endless loop."""
    if loop.kind == "count" or loop.over.startswith("range("):
        # With a step it goes from batch to batch.
        return _LENGTH.search(loop.over) is not None and loop.over.count(",") < 2
    if loop.kind not in ("each", "comprehension"):
        return False
    return _FIXED.fullmatch(loop.over) is None


def is_tried_again(place: Placed, facts: Facts) -> bool:
    """Return whether a loop repeats one thing until it works."""
    around = facts.loops_around(place)
    return bool(around) and any(each.loop == around[-1] for each in retries(facts) if each.loop is not None)


def uses_item(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the arguments or the object of a call change with the item."""
    names = {word for target in loop.targets for word in re.findall(r"[A-Za-z_]\w*", target)} - {"_"}
    for each in facts.within(facts.assignments, loop.body):
        # Not `rows[0]` or `this.x`: what is stored there is not the item.
        bare = [target for target in each.targets if not re.search(r"\w[.\[]", target)]
        names.update(word for target in bare for word in re.findall(r"[A-Za-z_]\w*", target))
    text = facts.text(call.span)
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in names - {"_"})


def _is_handler(scope: Scope) -> bool:
    """Return whether the parameters are `(req, res)` or `(req, res, next)`, registered in another file."""
    names = tuple(each.name for each in scope.parameters[:2])
    return names in (("req", "res"), ("request", "response"), ("_req", "res"))


def _is_job(scope: Scope) -> bool:
    if _JOB_NAMES.match(scope.short_name):
        return True
    return any(each.method in _JOBS for each in scope.decorators)
