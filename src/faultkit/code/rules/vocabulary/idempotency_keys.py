"""Names of what another service knows a repetition by: keys, references that a client chooses, conditions.

One table for the rules about retries, about payments without a key, and about keys that each try makes anew.
How sure a name must be differs: what silences a rule may be broad, what a finding is about may not.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_STEMS = r"idempot|dedup"
_REQUEST = r"request[-_]?id"
_CHOOSER = r"client|merchant|external|payment|charge|order|transfer|payout|command|operation|transaction"
KEY = (
    r"(?:idempot[\w\-]*|dedup[\w\-]*|paypal-request-id|nats-msg-id|client_?(?:request_?)?token|client_?order_?id"
    rf"|(?:{_CHOOSER})[-_]?(?:reference|ref|key)(?![a-z]))"
)
"""Names that mean nothing but a key, as a part of an expression."""
KEY_NAME = lazy_regex(KEY, re.IGNORECASE)
KEY_WORDS = tuple(
    word.replace(b"_", sign)
    for word in (
        b"idempot", b"dedup", b"paypal-request_id", b"nats-msg_id", b"client_token", b"request_token",
        b"client_order", b"client_ref", b"merchant_ref", b"external_ref", b"payment_ref",
        b"payment_key",
        b"charge_ref", b"charge_key", b"order_ref", b"order_key", b"transfer_ref", b"transfer_key",
        b"payout_ref", b"payout_key", b"command_key", b"operation_key", b"transaction_ref",
        b"transaction_key",
    )
    for sign in ((b"_", b"-", b"") if b"_" in word else (b"",))
)  # fmt: skip
"""One of them is in each text with such a name, in small letters."""
KNOWN_AGAIN = TextPattern(
    rf"{_STEMS}|{_REQUEST}|if-match|on conflict"
    r"|[\"'`](?:\w+-)*(?:delivery|event|message|transaction|operation)-id[\"'`]",
    re.IGNORECASE,
)
"""What a repeated request or statement is known by; the last are names of headers."""
CHOSEN = lazy_regex(
    rf"{_STEMS}|{_REQUEST}"
    r"|(client|merchant|external|partner|unique|our|booking|order|payment|transfer|payout)[-_]?(ref\b|reference|token)"
    r"|(client|merchant|external)[-_]?(order|transaction|payment)?[-_]?(id\b|key)|end_?to_?end_?id",
    re.IGNORECASE,
)
"""What a payment or order may be known by, among them references that the client chooses."""
SENT_ONCE = lazy_regex(r"idempot\w*-?key", re.IGNORECASE)
"""A key that is sent: two that ask with it do the work once."""
