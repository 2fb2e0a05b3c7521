"""The quoted texts of an expression in source code of any language. Pure.

A scanner of quotes, brackets and ends of lines: it knows enough of most languages to tell where an expression
ends, and parses none of them. It does not know what a secret is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FALLBACK = (
    r"(?:(?:\w{1,20}_)?or(?:_\w{1,20})?|\w{0,20}(?:Or|Else|Default)\w{0,20}"
    r"|(?:if|or)Else\w{0,20}|default\w{0,20})"
)
"""Names of methods that give a value in place of a missing one: `unwrap_or`, `orElse`."""
_LONGEST = 4000
_SHORTEST = 3
_STRINGS = ("triple", "triple_single", "raw", "double", "single", "back", "escaped", "escaped_single")
_TOKEN = re.compile(
    # A prefix: `f"…"`, `rb'…'`, `$@"…"`.
    r"(?P<prefix>[A-Za-z@$]{0,3}+)(?:"
    rf'"""(?P<triple>(?:[^"\\]|\\.|"(?!"")){{0,{_LONGEST}}}+)"""'
    rf"|'''(?P<triple_single>(?:[^'\\]|\\.|'(?!'')){{0,{_LONGEST}}}+)'''"
    r'|#"(?P<raw>(?:[^"]|"(?!#)){0,500}+)"#'
    r'|"(?P<double>(?:[^"\\\n]|\\.)*+)"'
    # `'static` is a lifetime.
    r"|(?!'static\b(?!'))(?<![&<])'(?P<single>(?:[^'\\\n]|\\.)*+)'"
    rf"|`(?P<back>(?:[^`\\]|\\.){{0,{_LONGEST}}}+)`)"
    # A text inside a text: `"{\"password\": \"…\"}"`.
    r'|\\{1,3}"(?P<escaped>[^"\\\n]{1,500}+)\\{1,3}"'
    r"|\\{1,3}'(?P<escaped_single>[^'\\\n]{1,500}+)\\{1,3}'"
    r"|(?P<escape>\\\r?\n[ \t]*+|\\.)"
    r"|(?P<line>\r?\n\s*+)|(?P<blank>[ \t\r\f\v]++)"
    r"|(?P<opens>[(\[{])|(?P<closes>[)\]}])|(?P<comma>,)|(?P<end>;)"
    r"|(?P<word>\w++)|(?P<sign>[=+|&?:!<>~^%*/\-]++)|(?P<other>.)",
    re.DOTALL,
)
_FILLED_IN = re.compile(r"\{[^{}\n]{0,200}+\}")
_FILLED_IN_TEMPLATE = re.compile(r"\$\{[^{}\n]{0,200}+\}")
"""A part of a text that is filled in: `f"{user}-…"`, `${user}` between backticks."""
_QUOTE_OR_LINE = re.compile(r"\\.|\"{3}|'{3}|[\"'`\n]", re.DOTALL)
_OPERATORS = (
    *("=", ":=", "+=", "||=", "??=", "+", "|", "||", "&&", "??", "?", "?:"),
    *("or", "and", "else", "(", ","),
)
"""Tokens behind which an expression goes on in the next line."""
_GOES_ON = re.compile(
    r"\|\|?|&&|\?[?:]?(?!\.)|\+(?!\+)|(?:or|and|else)\b"
    rf"|\.{FALLBACK}\("
)
"""Begins a line that continues the one before."""
_FUNCTIONS = ("func", "function", "fn", "fun")
_KEYWORDS = ("in", "or", "and", "not", "if", "else", "return", "await", "when", "match", "is")
_LOOKUP = re.compile(
    r"(?i:\w*(?:env|get|var|conf|setting|param|lookup|prop|input|arg|option|require|fetch|load|read|find|query)\w*)"
)
"""Callers whose first argument is the name of something."""
_KEY = re.compile(r"[A-Za-z][\w.:/\- ]{0,80}+")
_PLAIN_ARGUMENT = re.compile(
    r"https?://[^\s@]*+|/[a-z_\-/.{}:]*+|(?s:\s*+(?i:select|insert|update|delete|with|create|alter|drop)\s.*+)"
)
"""An address without a login, a path, an SQL statement."""
_FOLLOWS_KEY = re.compile(r"\s{0,40}+(?::(?![:=])|=>)")
_FOLLOWS_FIRST = re.compile(r"\s{0,40}+,")


class OpenQuotes:
    """The quotes that are open at places of a text, which are asked for in order.

    Outside of triple quotes each line is read by itself, and an apostrophe counts as a quote."""

    __slots__ = ("_next", "_open", "_tokens")

    def __init__(self, text: str) -> None:
        self._tokens = _QUOTE_OR_LINE.finditer(text)
        self._next = next(self._tokens, None)
        self._open = ""

    def around(self, start: int, end: int) -> str:
        """Return the quote of the text that a word is a part of; "" if there is none, or if the word is all
        of it."""
        while self._next is not None and self._next.start() < start:
            self._open = self._after(self._next[0])
            self._next = next(self._tokens, None)
        is_closed = self._next is not None and self._next.start() == end and self._next[0] == self._open
        return "" if is_closed else self._open

    def _after(self, sign: str) -> str:
        """Return the quote that is open behind a quote, an escape or the end of a line."""
        if sign.startswith("\\"):
            return self._open
        if len(self._open) == 3:
            return "" if sign == self._open else self._open
        if sign == "\n":
            return ""
        if self._open:
            return "" if sign.startswith(self._open) else self._open
        return sign


def quoted_values(
    text: str,
    at: int,
    *,
    inside: str = "",
    is_call: bool = False,
    is_list: bool = False,
    is_login: bool = False,
) -> tuple[list[tuple[int, int]], int]:
    """Return the places of the quoted texts of the expression that begins at a place, and where it ends.

    Names of settings, keys of mappings, and addresses and SQL among the arguments of calls are left out.

    inside: the quote of the text that the expression is a part of.
    is_call: the arguments of a call, from behind its bracket.
    is_list: values with commas between them, without brackets.
    is_login: of two values in brackets, the first is a user, and is left out."""
    scan = _Scan(text, at, inside, is_call, is_list, is_login)
    spans = list(scan.run())
    return spans, scan.at


class _Scan:
    """The state of a search through one expression."""

    __slots__ = ("at", "before", "chooses", "frames", "inside", "is_call", "is_list", "is_login", "text")

    def __init__(self, text: str, at: int, inside: str, is_call: bool, is_list: bool, is_login: bool) -> None:
        self.text = text
        self.at = at
        self.inside = inside
        self.is_call = is_call
        self.is_list = is_list
        self.is_login = is_login
        self.frames = ["setter"] if is_call else []
        """The open brackets, by what they enclose."""
        self.before = "(" if is_call else "=" if text[at - 1 : at] != ":" else ":"
        """The token before, blanks aside."""
        self.chooses = False
        """Whether there was a `?`: a colon behind it separates two values."""

    def run(self) -> Iterator[tuple[int, int]]:
        while (token := _TOKEN.match(self.text, self.at)) and not self._ends(token):
            self.at = token.end()
            kind = token.lastgroup or ""
            if kind in _STRINGS and not self._is_plain(token, kind):
                yield from _pieces(token, kind)
            if kind == "opens":
                self.frames.append(self._frame(token[0]))
            elif kind == "closes":
                self.frames.pop()
                if self.is_call and not self.frames:
                    return
            elif kind == "sign" and "?" in token[0]:
                self.chooses = True
            if kind not in ("line", "blank", "escape"):
                self.before = token[0]

    def _ends(self, token: re.Match[str]) -> bool:
        """Return whether the expression ends before a token."""
        kind = token.lastgroup
        # A text inside a text reaches neither beyond it nor over lines.
        if self.inside and not token[0].startswith("\\") and (self.inside in token[0] or "\n" in token[0]):
            return True
        if kind == "line":
            return not self._goes_on(token.end())
        if kind == "closes":
            return not self.frames
        if kind == "comma":
            return not self.frames and not self.is_list
        if kind == "opens":
            return token[0] == "{" and self.before in ("=>", "->")
        return kind == "end" or (kind == "word" and token[0] in _FUNCTIONS)

    def _goes_on(self, next_line: int) -> bool:
        """Return whether the expression goes on in the next line."""
        if self.frames and self.frames[-1] != "braces":
            return True
        if self.before in _OPERATORS or (self.before == ":" and (self.chooses or self.frames)):
            return True
        if self.frames and (self.before == "{" or self.text.startswith("}", next_line)):
            return True
        begins_choice = self.chooses and self.text.startswith(":", next_line)
        return begins_choice or _GOES_ON.match(self.text, next_line) is not None

    def _frame(self, bracket: str) -> str:
        follows_name = self.before[-1:].isalnum() or self.before[-1:] in ("_", ")", "]", ">", "!")
        if bracket == "{":
            return "braces"
        if not follows_name or self.before in _KEYWORDS:
            return "group"
        if bracket == "[":
            return "index"
        return "lookup" if _LOOKUP.fullmatch(self.before) else "call"

    def _is_plain(self, token: re.Match[str], kind: str) -> bool:
        """Return whether a quoted text is no value: a key, the name of a setting, an address."""
        value, end = token[kind], token.end()
        frame = self.frames[-1] if self.frames else ""
        is_first = self.before in ("(", "[")
        if frame == "index" and is_first and self.text.startswith("]", end):
            return True
        if frame == "braces" and not self.chooses and _FOLLOWS_KEY.match(self.text, end):
            return True
        if frame == "lookup" and is_first and _KEY.fullmatch(value):
            return True
        if frame in ("call", "lookup") and _PLAIN_ARGUMENT.fullmatch(value):
            return True
        return self.is_login and is_first and _FOLLOWS_FIRST.match(self.text, end) is not None


def _pieces(token: re.Match[str], kind: str) -> Iterator[tuple[int, int]]:
    """Yield the places of a quoted text, without the parts that are filled in."""
    start, end = token.span(kind)
    prefix = token["prefix"] or ""
    if kind == "back" or "f" in prefix.lower() or "$" in prefix:
        at = start
        pattern = _FILLED_IN_TEMPLATE if kind == "back" else _FILLED_IN
        for part in pattern.finditer(token.string, start, end):
            yield from _long_enough(at, part.start())
            at = part.end()
        start = at
    yield from _long_enough(start, end)


def _long_enough(start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start >= _SHORTEST:
        yield start, end
