"""Finds requests to other services inside a database transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.locked_waits import through_functions
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.outside_services import asks_outside, waits_apart
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.service_clients import (
    DONE_BY_PROVIDER,
    service_calls,
    type_of_receiver,
)
from faultkit.code.rules.vocabulary.transactions import Transaction, transactions

_MAILS = frozenset(
    (
        "django.core.mail.send_mail", "django.core.mail.send_mass_mail", "smtplib.SMTP.send_message",
        "smtplib.SMTP.sendmail", "net/smtp.SendMail", "aiosmtplib.send",
        "nodemailer.createTransport().sendMail",
        "django.core.mail.EmailMessage().send", "django.core.mail.EmailMultiAlternatives().send",
        "django.core.mail.EmailMessage.send", "django.core.mail.EmailMultiAlternatives.send",
    )
)  # fmt: skip
_MAILERS = lazy_regex(r"(mail_?sender|mailer|transporter)$", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    open_ = tuple(transactions(facts))
    if not open_:
        return
    sent = [each.call for each in remote_calls(facts) if each.kind == "http"]
    sent += [call for call in facts.calls if (_sends(call) or _does(call, facts)) and call not in sent]
    sent += [call for call in service_calls(facts) if call not in sent]
    inside = [call for one in open_ for call in facts.within(facts.calls, one.span)]
    sent += [
        call
        for call in inside
        if call not in sent and (_asks_provider(call, facts) or asks_outside(call, facts))
    ]
    known = {*sent}
    sent += sorted(
        through_functions(known | {*_asked_elsewhere(facts)}, facts) - known,
        key=lambda each: each.span,
    )
    sent += [
        call
        for one in open_
        if one.given and facts.mentions(one.given, one.span)
        for call in facts.within(facts.calls, one.span)
        if call not in sent and waits_apart(call, one.given, facts)
    ]
    seen: set[Span] = set()
    for call in sent:
        around = [one for one in open_ if is_within(call.span, one.span)]
        if call.is_launched or not around or _is_later(call.span.start, around[-1].span.start, facts):
            continue
        if around[-1].span in seen:
            continue
        seen.add(around[-1].span)
        opened = around[-1].opened_by
        what = f"{call.written}() waits for another service inside the transaction of {opened}"
        yield Hit(call.span, what, LIKELY if _asks_database(call, around[-1], facts) else POSSIBLE)


_STORES = NamePattern(
    r"(?:^|[._a-z])(?:repo(?:sitor(?:y|ies))?s?|dao|mapper|em|entity_?manager|session|jdbc\w*|db|database|dsl|context|template|model"
    r"|objects|manager|service|queries|store|unit_?of_?work|uow)s?$",
    re.IGNORECASE,
)


def _asks_database(request: Call, opened: Transaction, facts: Facts) -> bool:
    """Return whether the code of an annotated method also asks a database. Until it does, the transaction
    takes no connection."""
    if not opened.opened_by.startswith("@"):
        return True
    known = {each.call for each in remote_calls(facts) if each.kind == "database"}
    return any(
        each in known
        or _STORES.search(each.receiver_written.replace("()", "")) is not None
        or bool(facts.functions_named(each.method))
        for each in facts.within(facts.calls, opened.span)
        if each is not request
    )


def _asked_elsewhere(facts: Facts) -> Iterator[Call]:
    """Yield calls of other services in the whole text, also in functions that a transaction calls."""
    for call in facts.calls:
        if asks_outside(call, facts) or (DONE_BY_PROVIDER.match(call.method) and _asks_provider(call, facts)):
            yield call


_PROVIDERS = NamePattern(
    r"^_?(payments?|billing|stripe|paypal|adyen|psp|carriers?|shipping|courier|mailer|mails?|sms|crm|erp|notifier"
    r"|notifications|geocoder|tax\w*|fraud\w*|push|webhooks?|slack|invoicing|kyc|scoring|partner|supplier|provider|upstream"
    r"|remote|bank|gateway|warehouse)(_?([sS]ervice|[pP]rovider|[pP]ort|[aA]dapter|[gG]ateway|[cC]lient))?$"
)
_LOCAL = NamePattern(r"(Repository|Repo|Dao|DAO|Store|Mapper|Queries|Cache|Model|Table|Outbox\w*|Publisher)$")
_ANSWERS_AT_ONCE = NamePattern(
    r"^(get|is|has|with|on|to|of|build|new|map|add|set|enqueue|delay|schedule|outbox|from)([A-Z_]\w*)?$"
)
_BESIDE = NamePattern(
    r"db|pool|repo|store|quer|cache|log|metric|trac|clock|tx|lock|outbox|event|audit|sql|dao|conn|bus|queue|mu$|stat|id|gen"
    r"|rand|time|valid|users?$|orders?$|accounts?$|config|table",
    re.IGNORECASE,
)


def _asks_provider(call: Call, facts: Facts) -> bool:
    """Return whether a call asks a member that stands for another service, by its name."""
    owner = call.receiver_written.removeprefix("self.").removeprefix("this.")
    if not owner.isidentifier() or call.is_launched or call.constructs or _ANSWERS_AT_ONCE.match(call.method):
        return False
    is_named = _PROVIDERS.match(owner) is not None
    if facts.language == "go":
        if call.method.startswith(("Publish", "Emit", "Enqueue")):
            return False  # A relay sends what it has locked, and deletes it then.
        return _waits_in_go(call) and (is_named or not _BESIDE.search(owner))
    if not is_named or _LOCAL.search(type_of_receiver(call, facts)):
        return False
    # A service of one's own project may be named after what it deals with: `billingService.forTeam(id)`.
    if owner.endswith("ervice") and not DONE_BY_PROVIDER.match(call.method):
        return False
    if facts.language in ("java", "kotlin"):
        return bool(call.arguments)
    return call.is_awaited


def _waits_in_go(call: Call) -> bool:
    """Return whether a member is given a context, but not the transaction, and returns an error."""
    if re.fullmatch(r"self\.\w+\.\w+", call.written) is None or not call.assigned:
        return False
    given = [each.value.text for each in call.positional]
    has_context = bool(given) and re.fullmatch(r"\w*[cC]tx", given[0]) is not None
    return (
        has_context
        and call.assigned[-1].lower().endswith("err")
        and not {*given} & {"tx", "q", "conn", "dbtx"}
    )


def _sends(call: Call) -> bool:
    """Return whether a call sends mail, or waits for Spring's WebClient."""
    if call.name in _MAILS or (call.method == "block" and ".retrieve()" in call.name):
        return True
    if (
        call.is_awaited
        and call.positional
        and call.positional[0].value.literal.startswith(("http:", "https:"))
    ):
        return True
    return call.method in ("send", "sendMail") and _MAILERS.search(call.receiver_written) is not None


def _does(call: Call, facts: Facts) -> bool:
    """Return whether a call is given a request that this text makes, whatever its object is (Go)."""
    if call.method != "Do" or facts.language != "go" or len(call.positional) != 1:
        return False
    made = facts.assignments_to(call.positional[0].value.text, call)
    return any(each.call is not None and each.call.name.startswith("net/http.NewRequest") for each in made)


def _is_later(start: int, begin: int, facts: Facts) -> bool:
    """Return whether the request is made after the transaction, in a function given to `on_commit`."""
    return any(
        begin <= call.span.start < start < call.span.end
        for call in facts.calls_of_method("on_commit", "afterCommit", "registerSynchronization")
    )


RULE = Rule(
    id="FK-R054",
    slug="request-in-transaction",
    title="Request to another service inside a transaction",
    why="While the other service is slow, rows stay locked and connections stay taken: its "
    "outage becomes yours. A rollback does not undo what the request did.",
    fix="Make the request before or after the transaction, or write an outbox row and send it later.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"ransaction",
        b"TRANSACTION",
        b"atomic",
        b"begin",
        b"Begin",
        b"BEGIN",
        b"commit_on_success",
        b"RunInTx",
    ),
)
