"""Members that stand for another service, in code that does not show how they ask it.

Their types are declared in other files. What shows that a call leaves the process is the type's name
(`AssetScanner`, `TimestampAuthority`), a comment above the function that says so, or, in a transaction whose
object every query is given, a call that waits and is not given it. Knows no transactions and no locks.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_TYPES = NamePattern(
    r"(^|[./:])I?[A-Z][a-z]\w*(Scanner|Screener|Screening|Authority|Geocoder|Notifier|Sender|Connector|Uploader"
    r"|Downloader|Translator|Transcriber|Bureau|Directory|Acquirer|Issuer|Carrier|Courier|Supplier|Terminal|Proxy"
    r"|Portal|Exchange|Rpc|Remote|Endpoint|Webhooks?|Scorer|Feed|Bank|Insurer|Registrar)$"
    r"|(^|[./:])I?(Remote|Http|Rest|Soap|Grpc|External|Partner|Upstream|Payment|Payout)[A-Z]\w+$"
)
"""Types that are named after what stands outside, beside clients and gateways."""
_ROWS = NamePattern(
    r"(Bureau|Directory|Acquirer|Issuer|Carrier|Courier|Supplier|Terminal|Exchange|Feed|Bank|Insurer|Registrar)$"
    r"|(^|[./:])I?(External|Partner|Payment|Payout)[A-Z]\w+$"
)
"""Those of them that are also names of stored objects, such as `PaymentOrder`."""
_OFTEN_HERE = NamePattern(r"(^|[./:])I?[A-Z][a-z]\w*(Verifier|Provider|Lookup|Signer)$")
"""Types that as often compute in this process: only what is awaited, or given a context, waits."""
_LOCAL = NamePattern(
    r"(Repository|Repo|Dao|DAO|Store|Mapper|Queries|Querier|Cache|Model|Table|Outbox\w*|Publisher|Factory|Builder|Validator"
    r"|Clock|TimeProvider|Policy|Policies|Calculator|Encoder|Parser|Logger|Log|Metrics|Registry|Context|DbContext|Manager"
    r"|EntityManager|(?:Message|Event|Command)Sender|Session|Template|Events?|EventBus|Bus|Queue|Options|Settings|Config|Service|ServiceProvider"
    r"|ObjectProvider|TokenProvider|\w*(?:Data|Db|Sql|Database|Connection|Storage)Provider|Properties|Entity|Record|Dto|Status|State|Id|Method|Request|Response|Row|Rows|Command"
    r"|Event|Exception|Error|Details|Info|Data|Repositories)$"
)
_SAID = lazy_regex(
    r"over (?:the )?(?:HTTPS?|network|internet|wire)|\bHTTPS? (?:call|request)|\bremote (?:call|service)"
    r"|\b(?:REST|SOAP|gRPC) (?:call|request|API|service)|answers? within"
    r"|calls? (?:the )?(?:external|remote|third)",
    re.IGNORECASE,
)
_COMMENT = lazy_regex(r"^\s*(?:\*|/\*|//|#|\"\"\")")
_AT_ONCE = NamePattern(
    r"^(get(Id|Name|Class|Config\w*)|is[A-Z]\w*|has[A-Z]\w*|with[A-Z]?\w*|on[A-Z]\w*|to[A-Z]\w*|of|build|new\w*|map|add|set"
    r"|enqueue\w*|delay|schedule\w*|from|close|equals|hashCode|toString|now|instant)$"
)


_OF_ROWS = frozenset(("save", "delete", "refresh_from_db", "full_clean", "update", "destroy", "reload"))
"""Methods by which a row of a table writes or reads itself, whatever it is named after."""


def asks_outside(call: Call, facts: Facts) -> bool:
    """Return whether a call waits for another service, by the type of its object or by a comment."""
    owner = call.receiver_written.removeprefix("this.").removeprefix("self.")
    if not owner.isidentifier() or call.constructs or call.is_launched or call.is_decorator:
        return False
    type_ = type_of_receiver(call, facts)
    if _AT_ONCE.match(call.method) or not (call.arguments or call.is_awaited) or call.method in _OF_ROWS:
        return False
    if type_ and not _STORED.search(type_) and _has_limit(call, facts):
        return True
    if _LOCAL.search(type_):
        return False
    if type_:
        if _TYPES.search(type_):
            return _waits(call, type_, facts)
        if _OFTEN_HERE.search(type_) and _shows_wait(call, facts):
            return True
    elif f"self.{owner}" not in facts.assigned_names:
        return False
    return _is_said(call, owner, facts)


def _has_limit(call: Call, facts: Facts) -> bool:
    """Return whether the code ends the wait for a member after a time: `withTimeout(5_000) { bus.send() }`.

    What computes in this process is given none."""
    scope = facts.named_function_of(call)
    return scope is not None and any(
        facts.named_function_of(each) is scope
        for each in facts.calls_around(call)
        if each.method in _LIMITS and each.positional
    )


_LIMITS = frozenset(("withTimeout", "withTimeoutOrNull", "wait_for", "timeout", "pTimeout"))
_STORED = NamePattern(
    r"(Repository|Repositories|Repo|Dao|DAO|Store|Mapper|Queries|Querier|Cache|Model|Table|Outbox\w*|Context|Manager|Session"
    r"|Template|Pool|Connection|Queue|Channel|Database|Client|Event|Lock|Mutex|Condition|Semaphore|Future|Task)$"
)
"""Types of what belongs to the database or to this process, also if the wait for it has an end."""


def waits_apart(call: Call, given: str, facts: Facts) -> bool:
    """Return whether a member is awaited without the object of the transaction, `given`."""
    owner = call.receiver_written.removeprefix("this.").removeprefix("self.")
    is_member = call.receiver_written.startswith(("this.", "self.")) or f"self.{owner}" in facts.file_names
    if not is_member or not owner.isidentifier() or not call.is_awaited or _AT_ONCE.match(call.method):
        return False
    if _LOCAL.search(type_of_receiver(call, facts)) or _LOCAL.search(owner[:1].upper() + owner[1:]):
        return False
    return re.search(rf"(?<![\w$.]){re.escape(given)}\b", facts.text(call.span)) is None


def _waits(call: Call, type_: str, facts: Facts) -> bool:
    if facts.language in ("java", "kotlin", "python"):
        return call.is_awaited or _ROWS.search(type_) is None or not _is_of_function(call, facts)
    return _shows_wait(call, facts)


def _shows_wait(call: Call, facts: Facts) -> bool:
    if facts.language == "go":
        first = call.argument(place=0)
        return first is not None and re.search(r"ctx|[cC]ontext", first.value.text) is not None
    return call.is_awaited


def _is_of_function(call: Call, facts: Facts) -> bool:
    """Return whether an object is a parameter or a variable, as rows are, and no member that was injected."""
    owner = call.receiver_written
    return any(
        owner == each.name for scope in facts.functions_around(call) for each in scope.parameters
    ) or any(each.scope is not None for each in facts.assignments_to(owner, call))


def _is_said(call: Call, owner: str, facts: Facts) -> bool:
    """Return whether the comment above a function says that this member is asked over the network."""
    scope = facts.named_function_of(call)
    lines = list[str]()
    line = 0 if scope is None else scope.line - 1
    while line > 0 and len(lines) < 12 and _COMMENT.match(text := facts.syntax.line_text(line)):
        lines.append(text)
        line -= 1
    said = "\n".join(reversed(lines))
    named = re.search(rf"\b(?:{re.escape(owner)}|{re.escape(call.method)}s?)\b", said, re.IGNORECASE)
    return named is not None and _SAID.search(said) is not None
