"""Rules and findings as values. No rule is written here, and nothing is read or shown.

A rule is written once, against `Facts`, and lives in a small file of its own:

    from faultkit.code.facts import Facts
    from faultkit.code.rules.rule import LIKELY, Hit, Rule

    def _check(facts: Facts) -> Iterator[Hit]:
        for call in facts.calls_named("time.sleep"):
            if (scope := facts.function_of(call)) is not None and scope.is_async:
                yield Hit(call.span, f"{call.written}() stops the event loop", LIKELY)

    RULE = Rule(id="FK-P001", slug="blocking-call-in-async-code", ..., check=_check)

and has one row in the table of its kind: `RELIABILITY` in `rules/reliability`, `PERFORMANCE` in
`rules/performance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from faultkit.base.text import escaped_line
from faultkit.code.facts.facts import Facts
from faultkit.code.languages.syntax import Span

Kind: TypeAlias = Literal["reliability", "performance"]
RuleKind: TypeAlias = Kind | Literal["suppression"]
"""`suppression`: rules about comments that suppress findings. They do not count in scores."""
Severity: TypeAlias = Literal["low", "medium", "high", "critical"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The least severe first."""

CERTAIN, LIKELY, POSSIBLE = 0.95, 0.8, 0.5
"""How sure a rule may be. `CERTAIN`: the text alone proves it. `LIKELY`: it holds unless code elsewhere does
something unusual. `POSSIBLE`: code elsewhere may well make it right."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a rule found what it looks for."""

    span: Span
    """The smallest span: the call, not the function around it."""
    message: str
    """One sentence that names the thing: `httpx.get() has no timeout of its own`. No full stop."""
    confidence: float = LIKELY
    severity: Severity | None = None
    """The severity, where it differs from that of the rule."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule: what it finds, why it matters, and how to fix it. Equal only to itself."""

    id: str
    """`FK-R001` for reliability, `FK-P001` for performance, `FK-S001` for suppressions. Never used
    twice, never changed."""
    slug: str
    """`http-call-without-timeout`: for people who write it in a comment or a command line."""
    title: str
    """The fault in a few words: `HTTP call without a timeout`."""
    why: str
    """The consequence in production."""
    fix: str
    """The remedy, in one sentence that begins with a verb."""
    kind: RuleKind
    severity: Severity
    languages: tuple[str, ...]
    """Names as in `faultkit.code.languages`. The rule does not run on other texts."""
    check: Callable[[Facts], Iterable[Hit]]
    """Pure. Yields hits in any order."""
    by_default: bool = True
    """Whether the rule runs unless it is selected by name. A rule that is wrong too often on code that its
    authors have not seen does not; `bench/review` measures it."""
    words: tuple[bytes, ...] = ()
    """Parts of a text of which one stands in each that has a hit; empty: there are none. The rule does not
    run on other texts. Many words take no longer than one: see `review/rule_words.py`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit of a rule in a text, with its place."""

    rule: Rule
    file: str
    """The path as the user gave it; empty for a snippet."""
    function: str
    """The qualified name of the innermost named function around it; empty at the top of a file."""
    span: Span
    """Bytes of the given text, without what was put around a snippet to parse it."""
    line: int
    end_line: int
    column: int
    end_column: int
    message: str
    severity: Severity
    confidence: float
    """From 0 to 1; see CERTAIN, LIKELY and POSSIBLE."""

    @property
    def place(self) -> str:
        return f"{escaped_line(self.file)}:{self.line}" if self.file else f"line {self.line}"


PYTHON: tuple[str, ...] = ("python",)
JAVASCRIPT: tuple[str, ...] = ("javascript", "typescript", "tsx")
GO: tuple[str, ...] = ("go",)
JAVA: tuple[str, ...] = ("java",)
RUST: tuple[str, ...] = ("rust",)
CSHARP: tuple[str, ...] = ("csharp",)
KOTLIN: tuple[str, ...] = ("kotlin",)
"""For `Rule.languages`: `(*PYTHON, *JAVASCRIPT)`."""
EVERY_LANGUAGE = (*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN)
"""For rules that hold wherever there are facts."""
