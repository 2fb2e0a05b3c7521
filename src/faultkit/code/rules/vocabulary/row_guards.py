"""What keeps others away from a row between its read and its write, by the words of a function.

Locks hold for every rule about rows. What is checked again at the write (a version, a condition) or counted
by the database itself answers for a row that is read and written, and not for one that is not there yet.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_LOCKED = r"serializable|\block|_lock\b|mutex|isolation|synchronized|updlock|@Lock"
_CHECKED = (
    r"pessimistic|optimistic|(?<![a-z])version|concurrency|ConditionExpression|compare_?(?:and|exchange)|Lock\w*\("
    r"|lock_exclusive"
)
INSERT_GUARDS = lazy_regex(
    rf"{_LOCKED}|(?-i:(?<![Cc])(?<![Bb])[a-z]Lock\b)|for.?update|merge\s+into|not\s+exists|redis\.lock",
    re.IGNORECASE,
)
"""Between a question for a row and its insert."""
CLAIM_GUARDS = lazy_regex(
    rf"for_?\s*(?:no_?\s*key_?\s*)?update|{_LOCKED}|{_CHECKED}|row_?version|nonce|updateMany|update_many|ExecuteUpdate"
    r"|UpdateMany",
    re.IGNORECASE,
)
"""Between a look at a field and the write of another value."""
UPDATE_GUARDS = TextPattern(
    rf"for_?update|forNoKeyUpdate|{_LOCKED}|{_CHECKED}|\bF\(|\$inc|\.increment\(|\.decrement\(|\bwatch\(",
    re.IGNORECASE,
)
"""Between a read of a number and the write of one that was computed from it."""
