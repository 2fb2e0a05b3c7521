"""What a task does that is started for an item: whether it leaves the process.

A connection pool limits how many queries run at once, and a client of Redis sends all commands over one
connection; requests, downloads, messages and programs have no such limit of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.nesting import Place
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT, PYTHON
from faultkit.code.rules.vocabulary.remote_calls import RemoteCall, remote_calls
from faultkit.code.rules.vocabulary.service_clients import type_of_base, type_of_receiver

_PROGRAMS = frozenset(
    ("create_subprocess_exec", "create_subprocess_shell", "Popen", "CommandContext", "ProcessBuilder",
     "execFile", "spawn", "execa")
)  # fmt: skip
"""Calls that start a program; a machine has room for few at a time."""
STARTED_PROGRAMS = frozenset(
    ("child_process.fork", "child_process.spawn", "child_process.exec", "child_process.execFile",
     "worker_threads.Worker", "subprocess.Popen", "multiprocessing.Process")
)  # fmt: skip
_REMOTE = lazy_regex(
    r"^_?(re)?(fetch|download|upload|request|post|send|crawl|scrape|ping|probe|notify|publish|deliver|query"
    r"|charge|email)(_|[A-Z]|$)"
    r"|^_?(Fetch|Download|Upload|Request|Post|Send|Crawl|Scrape|Ping|Probe|Notify|Publish|Deliver|Query"
    r"|Charge|Email)(_|[A-Z]|$)"
)
_OFTEN_REMOTE = lazy_regex(
    r"^_?(mail|sync|export|invoke|mirror|enrich|refresh|persist|save|transfer|archive|backup|restore|replicate"
    r"|forward|submit)(_|[A-Z]|$)"
    r"|^_?(Mail|Sync|Export|Invoke|Mirror|Enrich|Refresh|Persist|Save|Transfer|Archive|Backup|Restore|Replicate"
    r"|Forward|Submit)(_|[A-Z]|$)"
)
"""Names of what is started for each item; deeper inside they may mean anything."""
_CLIENTS = lazy_regex(
    r"(^|[._])\w*(client|api|http|repo(sitory)?|gateway|mailer|sender|notifier|publisher|producer|storage|bucket"
    r"|prisma|db|s3|sqs|sns|dynamo(db)?|provider|remote|upstream|carrier|crm|supplier|warehouse)s?$",
    re.IGNORECASE,
)
"""Receivers that are clients of something outside, by their names."""
_CLIENT_TYPES = lazy_regex(r"(Client|Api|API|Gateway|Repository|Mailer|Publisher|Producer|Sender|Notifier)$")
_CONTEXT = lazy_regex(r"^(\w*[cC]tx|context\.\w+\(.*)$")
_PLAIN = frozenset(("get", "put", "call", "fetch", "load"))
"""Functions, not methods, with names of requests."""
_ENDS = lazy_regex(
    r"^_?(a?close|stop|shutdown|end|cancel|abort|destroy|dispose|disconnect|cleanup|clean_up|flush|remove"
    r"|unsubscribe|rollback|release|drain|kill|terminate|getattr|get_name)",
    re.IGNORECASE,
)
_LOCAL_WORK = frozenset(
    (
        "map", "filter", "forEach", "push", "append", "add", "then", "catch", "json", "text", "join", "keys",
        "values", "items", "entries", "Add", "Done", "Lock", "Unlock", "Err", "WithTimeout", "WithCancel",
        "WithDeadline", "WithValue", "Value", "StartSpan", "Start", "SpanFromContext", "WithContext",
    )
)  # fmt: skip


def _only_queries(asks: RemoteCall, facts: Facts) -> bool:
    """Return whether a call asks a database, and a function that it calls asks nothing else."""
    if asks.kind != "database" or asks.through is None:
        return asks.kind == "database"
    scope = facts.named_function_of(asks.through)
    return scope is None or not any(True for _ in facts.within(_beside_queries(facts), scope.body))


@lru_cache(maxsize=4)
def _beside_queries(facts: Facts) -> tuple[Place, ...]:
    """Return the places of remote calls that are no queries, in the order of the text."""
    spans = {each.call.span for each in remote_calls(facts) if each.kind != "database"}
    return tuple(map(Place, sorted(spans)))


@lru_cache(maxsize=4)
def _asked(facts: Facts) -> frozenset[Call]:
    return frozenset(each.call for each in remote_calls(facts))


@lru_cache(maxsize=4)
def _queries(facts: Facts) -> frozenset[Call]:
    return frozenset(each.call for each in remote_calls(facts) if _only_queries(each, facts))


_WAITS = lazy_regex(r"\w+Async\b")
_OF_ROWS = lazy_regex(r"\w*[rR]epository\.\w+Async\b|\bTo(?:List|Array)Async\b")
"""Queries, of which the pool of connections limits how many run at once (C#)."""


def reaches_out(spans: tuple[Span, ...], facts: Facts) -> bool:
    """Return whether what is started leaves the process, as far as this text shows.

    Tasks that run already, clean-up and work in memory need no limit.
    """
    if facts.language == "csharp":
        # By convention, methods whose names end with Async wait for something outside.
        return any(_WAITS.search(_OF_ROWS.sub("", facts.text(span))) for span in spans)
    # The pool of connections limits how many queries of Node and Python run at once.
    pooled = facts.language in (*JAVASCRIPT, *PYTHON)
    queries = _queries(facts) if pooled else frozenset()
    remote = _asked(facts) - queries
    inside = [call for span in spans for call in facts.within(facts.calls, span) if call not in queries]
    if any(call.name in STARTED_PROGRAMS for call in inside):
        return True
    if any(call in remote or is_remote(call, facts) or _OFTEN_REMOTE.match(call.method) for call in inside):
        return True
    # Threads are given a function by its name.
    texts = [argument.value.text for call in inside for argument in call.arguments]
    called = {call.method for call in inside if call.receiver in ("", "self", "Self")}
    named = facts.functions_named(*{*texts, *called})
    if any(
        call in remote or is_remote(call, facts) or call.method in _PROGRAMS
        for scope in named
        for call in facts.within(facts.calls, scope.body)
        if call not in queries
    ):
        return True
    return any(call.name in ("threading.Thread", "multiprocessing.Process") for call in inside)


_SERVICES = lazy_regex(
    r"(?:^|[._])\w*(?:client|api|https?|gateway|mailer|sender|notifier|publisher|producer|pusher|storage|bucket|s3|sqs|sns|session"
    r"|provider|remote|upstream|carrier|crm|supplier|warehouse)s?$",
    re.IGNORECASE,
)
_SERVICE_TYPES = lazy_regex(r"(?:Client|Api|API|Gateway|Mailer|Publisher|Producer|Pusher|Sender|Notifier)$")
_MEDIA = lazy_regex(r"render|thumbnail|resiz|transcod|preview|image|photo|video|blob", re.IGNORECASE)
"""Work that holds much memory for each item."""
_ONE_CONNECTION = lazy_regex(
    r"redis|cache|\bkv\b|sockets?\b|\bws\b|\bconn\w*|channel|\bdb\b|database|stream|queue|actor|mailbox|pipe|(?:\b|_)tx\b",
    re.IGNORECASE,
)
"""Receivers that have one connection for all calls, a pool of their own, or none."""
_LOCAL_SENDS = frozenset(("send_timeout", "try_send", "blocking_send", "trySend"))
"""Methods of channels in memory, and of nothing else."""
_OF_LISTS = frozenset(
    ("find", "findLast", "findIndex", "some", "every", "reduce", "sort", "flatMap", "any", "all", "none",
     "first", "firstOrNull", "find_map", "position", "Any", "All", "First", "FirstOrDefault", "Where", "Find",
     "Exists")
)  # fmt: skip
"""Methods that search a list in memory if they are given a function."""
_OWN_SCOPE = lazy_regex(r"\bCreate(?:Async)?Scope\(|\bCreateDbContext(?:Async)?\(")
"""What gives each task a connection of its own (C#)."""
_LEVELS = 2


def surely_leaves(spans: tuple[Span, ...], facts: Facts) -> bool:
    """Return whether a task sends a request through a known library, or starts a program or heavy work."""
    if facts.language == "csharp" and any(_OWN_SCOPE.search(facts.text(span)) for span in spans):
        return True
    sent = {each.call for each in remote_calls(facts) if each.kind == "http" and each.through is None}
    return _does(
        lambda call: call in sent or _is_heavy(call, facts) or _is_of_cloud(call, facts),
        spans,
        facts,
        _LEVELS,
    )


def asks_service(spans: tuple[Span, ...], facts: Facts) -> bool:
    """Return whether a task calls an object that is a client of a service by its name or type."""
    return _does(lambda call: _is_of_service(call, facts), spans, facts, _LEVELS)


def _does(test: Callable[[Call], bool], spans: tuple[Span, ...], facts: Facts, levels: int) -> bool:
    """Return whether a call in a piece of code, or in functions of this text that it calls, passes a test."""
    inside = [call for span in spans for call in facts.within(facts.calls, span)]
    if any(map(test, inside)):
        return True
    if levels == 0:
        return False
    texts = [argument.value.text for call in inside for argument in call.arguments]
    called = {call.method for call in inside if call.receiver in ("", "self", "Self", "this")}
    called |= {
        call.method for call in inside if call.receiver_written in ("this", "self", "s", "r", "j", "w")
    }
    named = facts.functions_named(*{*texts, *called})
    return any(_does(test, (scope.body,), facts, levels - 1) for scope in named)


_CLOUDS = lazy_regex(
    r"aws[-_]?sdk|amazonaws|cloud\.google|google\.cloud|Azure\.|minio-go|boto|^@octokit/|^Octokit\.|^@gitbeaker/"
    r"|^@slack/web-api|^googleapis\.|google/go-github/|xanzy/go-gitlab|slack-go/slack",
    re.IGNORECASE,
)


def _is_of_cloud(call: Call, facts: Facts) -> bool:
    """Return whether the type of an object is one of a library for a cloud or a hosted service: `s3.Client`
    of the AWS SDK. `self.octokit.rest.repos` is a part of such an object."""
    if not call.arguments or "." not in call.written:
        return False
    types = (call.name, _type_of(call, facts), type_of_base(call, facts))
    return any(_CLOUDS.search(each) for each in types)


def _is_heavy(call: Call, facts: Facts) -> bool:
    if call.name in STARTED_PROGRAMS:
        return True
    if call.method in _PROGRAMS:
        # `tokio::spawn` starts a task.
        return call.method != "spawn" or "Command" in call.name
    # `Key::Blob(id)` makes a value (Rust).
    is_value = call.constructs or (facts.language == "rust" and call.method[:1].isupper())
    return bool(call.arguments) and not is_value and _MEDIA.search(call.method) is not None


def _is_of_service(call: Call, facts: Facts) -> bool:
    if _ENDS.match(call.method) or is_logging(call) or call.method in _LOCAL_WORK or call.constructs:
        return False
    if _ONE_CONNECTION.search(call.receiver_written) or not call.arguments:
        return False
    if call.method in _LOCAL_SENDS or (
        call.method in _OF_LISTS and call.arguments[0].value.shape == "function"
    ):
        return False
    if _SERVICES.search(call.receiver_written) and call.receiver_written not in facts.imports.names:
        return True
    return _SERVICE_TYPES.search(_type_of(call, facts)) is not None


def is_remote(call: Call, facts: Facts) -> bool:
    """Return whether a call leaves the process by its name, its receiver, or the context that it is given."""
    if _ENDS.match(call.method) or is_logging(call) or call.method in _LOCAL_WORK:
        return False
    if _REMOTE.match(call.method) or (not call.receiver and call.method in _PLAIN):
        return not call.constructs
    if facts.language == "go":
        first = call.argument(place=0)
        return first is not None and _CONTEXT.match(first.value.text) is not None and "." in call.written
    if not call.arguments:
        return False
    return _CLIENTS.search(call.receiver_written) is not None or _is_client(call, facts)


def _is_client(call: Call, facts: Facts) -> bool:
    """Return whether the object of a call has the type of a client."""
    return _CLIENT_TYPES.search(_type_of(call, facts)) is not None


def _type_of(call: Call, facts: Facts) -> str:
    """Return the type of the object of a call, also of a parameter; empty if it is not known."""
    kind = type_of_receiver(call, facts)
    head = call.receiver_written
    if kind or not head.isidentifier():
        return kind
    around = facts.functions_around(call)
    return next((each.type for scope in around for each in scope.parameters if each.name == head), "")
