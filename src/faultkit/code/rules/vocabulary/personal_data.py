"""Parts of types that are personal data or secrets by what they are part of: the number of a card, an IBAN.

Asked only of objects that are written out whole. `number` alone says nothing, and an e-mail address by itself
is often how a log names an account.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_SPLIT = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])|[_\-]")
_PERSONAL = lazy_regex(
    r"^(?:cvc2?|cvv2?|cid|pan|iban|ssn|sin|tin|account_?number|card_?number|card_?pan|security_?code|pin|pin_?code"
    r"|social_?security_?(?:number|no)?|national_?id(?:entifier)?|tax_?(?:id|number)|passport_?(?:number|no)?"
    r"|date_?of_?birth|birth_?date|birthday|dob|medical_?record\w*|diagnos[ie]s|otp|one_?time_?(?:code|password)"
    r"|mnemonic|recovery_?codes?|totp_?\w*|claim_?code)$",
    re.IGNORECASE,
)
_CARD = lazy_regex(r"card|payment_?method", re.IGNORECASE)
_RECIPIENT = lazy_regex(
    r"^(?:recipients?|to|to_?address(?:es)?|e?mail|to_?number|phone(?:_?number)?)$", re.IGNORECASE
)
_CONTENT = lazy_regex(r"^(?:html_?|text_?|plain_?)?(?:body|content|text|html)$", re.IGNORECASE)
_WORDS = (
    b"cvc", b"cvv", b"iban", b"socialsecurity", b"social_security", b"nationalid", b"national_id", b"taxid",
    b"tax_id", b"taxnumber", b"tax_number", b"passport", b"birth", b"diagnos", b"onetime", b"one_time",
    b"recoverycode", b"recovery_code", b"accountnumber", b"account_number", b"htmlbody", b"html_body",
    b"textbody", b"text_body", b"mnemonic",
)  # fmt: skip
_SHORT_WORDS = TextPattern(rb"\b(?:pan|dob|otp|pin)\b|\bssn", re.IGNORECASE)
_OF_CARD = TextPattern(rb"\bcard|_card|Card|CARD")
"""No `discard`, no `wildcard`."""
_TO_SOMEBODY = (b"recipient", b"mail", b"phone", b"sms")


_ALONE = lazy_regex(
    r"^(?:iban|ssn|social_?security_?(?:number|no)|national_?(?:id(?:entifier)?|insurance)_?(?:number|no)?"
    r"|passport_?(?:number|no)|tax_?(?:id|number|payer_?id)|date_?of_?birth|birth_?date|diagnos[ie]s|medical_?record(?:_?number)?)$",
    re.IGNORECASE,
)


def is_personal_name(name: str) -> bool:
    """Return whether a field of this name is personal data by itself: `patient.ssn`, `order.iban`."""
    return _ALONE.match("_".join(_SPLIT.split(name))) is not None


@lru_cache(maxsize=4)
def may_name_personal_data(facts: Facts) -> bool:
    """Return whether a text has a word without which no type of it holds personal data."""
    syntax = facts.syntax
    if syntax.has_any(*_WORDS) or (syntax.has_any(b"body") and syntax.has_any(*_TO_SOMEBODY)):
        return True
    if syntax.has_any(b"card") and _OF_CARD.search(syntax.source) is not None:
        return True
    return _SHORT_WORDS.search(syntax.source) is not None


def personal_part(type_name: str, parts: Sequence[str]) -> str:
    """Return the part of a type that may not be written out; empty if there is none."""
    for part in parts:
        if _PERSONAL.match("_".join(_SPLIT.split(part))):
            return part
        if part.lower() == "number" and _CARD.search(type_name) and len(parts) > 1:
            return part
    content = next((part for part in parts if _CONTENT.match(part)), "")
    return content if content and any(map(_RECIPIENT.match, parts)) else ""
