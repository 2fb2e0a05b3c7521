"""Calls of clients of other services that are known by the type, or else by the name, of their object.

`carrier.createLabel(…)` leaves the process if `carrier` was declared as a `CarrierClient`: the declaration is
a field, a parameter of the constructor, or a parameter of the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_TYPE = NamePattern(
    r"(^|[./:])I?[A-Z]?\w*(Client|Gateway|Api|API|Stub|RestTemplate|WebClient|HttpService|MailSender|Mailer)$"
    r"|(^|[./:])I?(Stripe|PayPal|Paypal|Adyen|Braintree|Twilio|SendGrid|Sendgrid|Slack|Sms|Mail|Email)\w*Service$"
)
_NAME = NamePattern(r"^_?([a-z]\w*(Client|Gateway|Api)|\w+_(client|gateway|api))$")
_PROVIDER = NamePattern(
    r"^_?(payments?|payment_?[pP]rovider|billing|stripe|paypal|adyen|psp|carrier|shipping|courier|mailer|sms|crm|erp"
    r"|notifier|geocoder|tax|fraud)(_?[sS]ervice|_?[pP]rovider)?$"
)
DONE_BY_PROVIDER = NamePattern(
    r"^(charge|refund|capture|authori[sz]e|payout|transfer|send|notify|create_?[lL]abel|ship|geocode|push|call|screen"
    r"|verify)([A-Z_]\w*)?$"
)
"""Names of what other services do; a store of such things has other methods."""
_STORES = NamePattern(
    r"prisma|mongo|redis|\bpg|postgres|mysql|sql|jdbc|r2dbc|\bdb|database|cache|memcache|dynamo|cosmos|cassandra"
    r"|elastic|opensearch|influx|firestore|clickhouse|\bent\b|query_?client|test|fake|mock|discord|apollo|feature"
    r"|metrics|stats|trac(e|ing)|sentry|kube|docker|k8s|Pool",
    re.IGNORECASE,
)
"""Clients of databases, which belong to a transaction, and clients that only send what is observed."""
_SDKS = NamePattern(
    r"^(stripe|twilio|sendgrid|braintree|paypalrestsdk|slack_sdk|openai|mailchimp\w*|boto3\.client\(\))\.(.+\.)?"
    r"(create|charge|capture|refund|send|messages|retrieve|modify|confirm|put_\w+|send_\w+|invoke|publish)$"
    r"|^stripe\.[\w.]*\.(create|capture|confirm|retrieve|update|cancel)$|^(Stripe|stripe)\(?\)?\.\w+\.(create|capture)$"
)
_NO_REQUESTS = NamePattern(
    r"^(close|shutdown|builder|build|new\w*|create|default|clone|dispose|Dispose\w*|equals|hashCode|toString|String"
    r"|(set|with|is|has|on|to|as|use|add|Use|Add|With|Is|Set)([A-Z_]\w*)?|get(Config|Options|Name|Url|Base\w*|Id)"
    r"|mount|register|subscribe|destroy|interceptors|\w+_?[uU]rl|headers?"
    r"|\w+(_render|Render|_form|Form|_html|Html|_template|Template|_(is_)?(supported|available|allowed|enabled)"
    r"|Supported|Available|Allowed|Enabled))$"
)


@lru_cache(maxsize=4)
def _field_types(facts: Facts) -> dict[tuple[str, str], str]:
    """Return types of fields by the class and the name, also those that a constructor is given."""
    found: dict[tuple[str, str], str] = {}
    for each in facts.assignments:
        for target in each.targets if each.type else ():
            if target.startswith("self."):
                found.setdefault((each.owner, target[5:]), each.type)
    for scope in facts.functions_named("__init__", "constructor"):
        if not scope.owner:
            continue
        types = {each.name: each.type for each in scope.parameters if each.type}
        if scope.short_name == "constructor":
            for name, type_ in types.items():
                found.setdefault((scope.owner, name), type_)
        for each in facts.own(facts.assignments, scope):
            given = "" if each.value is None else types.get(each.value.text, "")
            if given and each.targets[0].startswith("self."):
                found.setdefault((scope.owner, each.targets[0][5:]), given)
    return found


def type_of_receiver(call: Call, facts: Facts) -> str:
    """Return the declared type of the object of a call; empty if none is known."""
    receiver = call.receiver
    if receiver.startswith("self.") and receiver.count(".") == 1:
        scope = facts.function_of(call)
        return "" if scope is None else _field_types(facts).get((scope.owner, receiver[5:]), "")
    return _type_by_names(receiver, call.receiver_written) if receiver else ""


def type_of_base(call: Call, facts: Facts) -> str:
    """Return the declared type of the member that a call begins with: of `self.a` in `self.a.b.load()`."""
    scope = facts.function_of(call)
    while scope is not None and not scope.owner:
        scope = scope.outer
    parts = call.receiver.split(".")
    if scope is None or parts[0] != "self" or len(parts) < 2:
        return ""
    return _field_types(facts).get((scope.owner, parts[1]), "")


@lru_cache(maxsize=8192)
def _type_by_names(receiver: str, written: str) -> str:
    """Return the type that is the resolved name of an object; empty if that is none."""
    if receiver[:1] == "~" or receiver.endswith((")", "]")):
        return ""
    last = receiver.replace("/", ".").rpartition(".")[2]
    is_static = written.rpartition(".")[2] == last
    return receiver if last[:1].isupper() and not is_static else ""


def is_service_call(call: Call, facts: Facts) -> bool:
    """Return whether a call asks another service through a client that has its type or its name."""
    if call.is_decorator or call.constructs or call.is_launched:
        return False
    if _SDKS.match(call.name):
        return True
    owner = call.receiver_written
    if not owner:
        return False
    type_ = type_of_receiver(call, facts)
    if type_:
        is_client = _TYPE.search(type_) is not None
    else:
        is_known = not call.receiver.startswith(("~", "self.")) and "." in call.receiver
        last = owner.rpartition(".")[2]
        named = _NAME.match(last) or (_PROVIDER.match(last) and DONE_BY_PROVIDER.match(call.method))
        is_client = not is_known and named is not None
    # Few are clients; what is asked of these comes last.
    if not is_client or _NO_REQUESTS.match(call.method) or _STORES.search(type_) or _STORES.search(owner):
        return False
    return _is_sent(call, facts)


def _is_sent(call: Call, facts: Facts) -> bool:
    """Return whether a call waits for an answer, as far as the language shows that."""
    if facts.language == "go":
        first = call.argument(place=0)
        return first is not None and re.search(r"ctx|[cC]ontext", first.value.text) is not None
    if facts.language in ("rust", "javascript", "typescript", "tsx"):
        return call.is_awaited or call.is_returned or _is_observed(call, facts)
    if facts.language == "csharp":
        return call.is_awaited or call.is_returned or not call.method.startswith("Get")
    return True


def _is_observed(call: Call, facts: Facts) -> bool:
    """Return whether the answer of an observable is awaited: `await firstValueFrom(http.get(url))`."""
    if not call.is_argument:
        return False
    return any(
        each.is_awaited and each.method in ("firstValueFrom", "lastValueFrom")
        for each in facts.calls_around(call)
    )


@lru_cache(maxsize=4)
def service_calls(facts: Facts) -> tuple[Call, ...]:
    """Return calls of clients of services, and calls of functions of this text that make one."""
    direct = tuple(call for call in facts.calls if is_service_call(call, facts))
    return (*direct, *_indirect(direct, facts))


def _indirect(direct: tuple[Call, ...], facts: Facts) -> Iterator[Call]:
    holders = dict.fromkeys(facts.named_function_of(call) for call in direct)
    holders.pop(None, None)
    for scope in holders:
        assert scope is not None
        yield from (call for call in facts.callers_of(scope) if _is_outside(call, scope, facts))


def _is_outside(call: Call, scope: Scope, facts: Facts) -> bool:
    return facts.named_function_of(call) is not scope and not call.is_launched


def callers_by_type(scope: Scope, facts: Facts) -> Iterator[Call]:
    """Yield calls of a method on a member or variable that is declared with the class of the method.

    `this.registry.lookup(id)` calls the method of `NpiRegistry` if the constructor takes one."""
    owner = scope.owner.rpartition(".")[2]
    if not scope.is_method or not owner:
        return
    for call in facts.calls_of_method(scope.short_name):
        if call.receiver_written and type_of_receiver(call, facts).rpartition(".")[2] == owner:
            yield call
