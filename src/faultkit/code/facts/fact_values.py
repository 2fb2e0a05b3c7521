"""Facts as values: calls, scopes, loops, tries, assignments. They hold no tree nodes.

Names are resolved and dotted in every language:

    import requests as r; r.get(u)              requests.get
    s = requests.Session(); s.get(u)            requests.Session.get      origin: the call of Session
    r.get(u).json(), or x = r.get(u); x.json()  requests.get().json       origin: the call of get
    const {get} = require("axios"); get(u)      axios.get
    import fs from "node:fs/promises"           fs/promises.readFile
    http.Get(u) in Go                           net/http.Get
    (&http.Client{}).Get(u) in Go               net/http.Client.Get       origin: the literal, as a call
    HttpClient.newHttpClient() in Java          java.net.http.HttpClient.newHttpClient
    self.client.get(u), client not known        self.client.get           (`this.` is `self.` everywhere)
    fetch(u), where fetch is a parameter        ~fetch
    open(p), where this text defines open       ~open

An object from a constructor (a capital, `new`, a Go literal) contributes its type to the name; an object
that another function returned contributes `function()`. `~` marks a name of this text whose value is not
known: a parameter, a variable, a function. It is never the global of the same name.

Facts are never changed. Classes of which a text has many are not frozen: to make a frozen value takes several
times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from faultkit.code.languages.syntax import Span

_PART = re.compile(r"[./]")
LOCAL = "~"
"""Marks a resolved name that begins with a parameter, variable or function of the text."""

Shape: TypeAlias = Literal[
    "text", "number", "true", "false", "none", "name", "call", "function", "object", "list", "other"
]
"""Shape of an expression. `text` holds nothing but literal text; an f-string or template with holes is
`other`; `name` is an identifier or a dotted path; `object` a dict, object or map literal; `list` a list
or tuple."""


class Written(Protocol):
    """Something that has the bytes of its text, as nodes do."""

    @property
    def text(self) -> bytes | None: ...


class Value:
    """An expression. Equal only to itself."""

    __slots__ = ("_text", "shape", "span")

    def __init__(self, text: str | Written, shape: Shape, span: Span) -> None:
        self._text = text
        self.shape = shape
        self.span = span

    @property
    def text(self) -> str:
        """Return the expression as written. It is made when it is asked for: an argument may be a function
        that is as long as the file."""
        if not isinstance(self._text, str):
            written = self._text.text
            self._text = "" if written is None else written.decode("utf-8", "replace")
        return self._text

    @property
    def literal(self) -> str:
        """Return the content of a string literal without quotes and prefix; empty for anything else."""
        if self.shape != "text":
            return ""
        bare = self.text.lstrip("rRbBuUfF@$") if self.text[:1] not in "\"'`" else self.text
        quote = bare[:1]
        if not quote or quote not in "\"'`":
            return bare
        if quote != "`" and len(bare) >= 6 and bare.startswith(quote * 3) and bare.endswith(quote * 3):
            return bare[3:-3]
        return bare[1:-1] if bare.endswith(quote) and len(bare) >= 2 else bare


class Argument(NamedTuple):
    """One argument of a call, or one key of an options object among its arguments."""

    value: Value
    name: str = ""
    """A keyword (`timeout=5`), or the key of an options object or Go literal (`{timeout: 5}`); empty for
    a positional argument. Keys of nested objects are dotted: `{agent: {keepAlive: true}}` is
    `agent.keepAlive`. Spread arguments are named `*`, `**` or `...`."""
    place: int = -1
    """Index of the positional argument that it is, or is a key of; -1 for keywords."""


class CallReader(Protocol):
    """Reads the rest of a call from the text when it is asked for."""

    def callee_of(self, raw: Any) -> Span: ...

    def assigned_of(self, raw: Any) -> tuple[str, ...]: ...

    def lines_of(self, raw: Any) -> tuple[int, int]: ...

    def arguments_of(self, raw: Any) -> tuple[Argument, ...]: ...


CallFlags: TypeAlias = tuple[bool, bool, bool, bool, bool, bool, bool, bool]
"""What surrounds a call: the flags of `Call`, in their order."""
NO_FLAGS: CallFlags = (False,) * 8


class Call:
    """A call, a `new`, or a Go literal of a struct. Equal only to itself."""

    __slots__ = (
        "__weakref__", "_arguments", "_assigned", "_callee", "_positional", "_raw", "_reader", "constructs",
        "is_argument", "is_awaited", "is_decorator", "is_deferred", "is_discarded", "is_launched",
        "is_managed", "is_returned", "method", "name", "origin", "receiver", "receiver_written", "span",
        "written",
    )  # fmt: skip

    name: str
    """The resolved name; see the module docstring."""
    written: str
    """The callee as written, without arguments: `r.get`."""
    span: Span
    constructs: bool
    """Whether it constructs a value: `new X()`, `X()` with a capital in Python, `X{}` in Go."""
    origin: Call | None
    """The call that made the object of this one, if known: of `s.get(u)` the call `Session()`."""
    is_awaited: bool
    is_managed: bool
    """Whether it heads a `with`, `using` or try-with-resources statement."""
    is_deferred: bool
    """Go: `defer f()`."""
    is_launched: bool
    """Go: `go f()`."""
    is_returned: bool
    """Whether its result, or a value built around it, is returned or yielded."""
    is_discarded: bool
    """Whether it is a statement of its own, awaited or not, so that its result is unused."""
    is_argument: bool
    """Whether it stands among the arguments of another call."""
    is_decorator: bool
    method: str
    """The last part of the name: `get`."""
    receiver: str
    """The name without its last part: `requests.Session`; empty for a plain function."""
    receiver_written: str

    def __init__(
        self,
        name: str,
        written: str,
        span: Span,
        reader: CallReader,
        raw: object,
        *,
        constructs: bool = False,
        origin: Call | None = None,
        flags: CallFlags = NO_FLAGS,
    ) -> None:
        """Keep what a call is; `reader` reads the rest from `raw`."""
        self.name = name
        self.written = written
        self.span = span
        self.constructs = constructs
        self.origin = origin
        (
            self.is_awaited,
            self.is_managed,
            self.is_deferred,
            self.is_launched,
            self.is_returned,
            self.is_discarded,
            self.is_argument,
            self.is_decorator,
        ) = flags
        self.receiver, _, last = name.rpartition(".")
        self.method = last.removeprefix(LOCAL)
        self.receiver_written = written.rpartition(".")[0]
        self._reader = reader
        self._raw = raw
        self._assigned: tuple[str, ...] | None = None
        self._callee: Span | None = None
        self._arguments: tuple[Argument, ...] | None = None
        self._positional: tuple[Argument, ...] | None = None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Return the arguments. To read them takes longer than the rest."""
        if self._arguments is None:
            self._arguments = self._reader.arguments_of(self._raw)
        return self._arguments

    @property
    def assigned(self) -> tuple[str, ...]:
        """Return names that hold the result: `("resp", "err")`, `("self.client",)`, `("{ data }",)`.

        They are as written. Those of `with … as name`, `for name in` and `try (var name = …)` count, too."""
        if self._assigned is None:
            self._assigned = self._reader.assigned_of(self._raw)
        return self._assigned

    @property
    def callee(self) -> Span:
        if self._callee is None:
            self._callee = self._reader.callee_of(self._raw)
        return self._callee

    @property
    def line(self) -> int:
        return self._reader.lines_of(self._raw)[0]

    @property
    def end_line(self) -> int:
        return self._reader.lines_of(self._raw)[1]

    def argument(self, *names: str, place: int | None = None) -> Argument | None:
        """Return the argument with one of these keywords or option keys, or at this position."""
        for each in self.arguments:
            if each.name in names or (not each.name and place is not None and each.place == place):
                return each
        return None

    def has(self, *names: str) -> bool:
        """Return whether one of these keywords or option keys is given. Nested keys are dotted:
        `headers.Host`."""
        return any(each.name in names for each in self.arguments if each.name)

    @property
    def spreads(self) -> bool:
        """Return whether arguments are spread (`*args`, `**options`, `...options`), so that they cannot
        be known."""
        return any(each.name in ("*", "**", "...") for each in self.arguments)

    @property
    def positional(self) -> tuple[Argument, ...]:
        if self._positional is None:
            self._positional = tuple([each for each in self.arguments if not each.name])
        return self._positional


@dataclass(slots=True, unsafe_hash=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: str = ""
    """The resolved type without pointers and generics: `net/http.Request`; empty if none is written."""
    default: Value | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The route by which clients reach a function."""

    method: str
    """`GET`, `POST` …; `ANY` if it is not stated."""
    path: str
    """As written in the code, `/users/{id}`; empty if it is not a literal."""
    framework: str
    """`fastapi`, `flask`, `express`, `net/http`, `spring` …"""
    by: Call | None = field(default=None, compare=False, repr=False)
    """The call or decorator that registers it; None where a type or a base class makes the handler."""


@dataclass(slots=True, eq=False)
class Scope:
    """A function or lambda, named or not. Equal only to itself."""

    name: str
    """The qualified name; empty if it has none."""
    span: Span
    """The bytes with decorators."""
    body: Span
    line: int
    is_async: bool
    is_anonymous: bool
    parameters: tuple[Parameter, ...]
    decorators: tuple[Call, ...]
    """Resolved names; one that is not called has no arguments."""
    outer: Scope | None
    routes: tuple[Route, ...] = ()
    owner: str = ""
    """The qualified type it is a method of."""
    route: Route | None = field(init=False)
    """The first of its routes."""
    short_name: str = field(init=False)

    def __post_init__(self) -> None:
        self.route = self.routes[0] if self.routes else None
        self.short_name = self.name.rpartition(".")[2]

    @property
    def head(self) -> Span:
        """The part before the body: decorators, name and parameters."""
        return Span(self.span.start, max(self.span.start, self.body.start))

    @property
    def is_method(self) -> bool:
        """Return whether it is called on an object: no function inside a method, which has its own name."""
        if self.owner:
            return self.name == f"{self.owner}.{self.short_name}"
        return self.outer is None and "." in self.name

    def takes(self, count: int) -> bool:
        """Return whether it can be called with so many arguments (Java)."""
        if self.parameters and self.parameters[-1].type.endswith("..."):
            return count >= len(self.parameters) - 1
        return count == len(self.parameters)


LoopKind: TypeAlias = Literal["each", "count", "while", "endless", "comprehension"]
"""`each`: over the items of something. `count`: over a range or with a counter. `while`: while a
condition holds. `endless`: `while True`, `for {}`, `for (;;)`. `comprehension`: also `.map`, `.forEach`
and similar calls, whose body is the function they are given."""


@dataclass(slots=True, unsafe_hash=True)
class Loop:
    """A loop, a comprehension, or a call such as `.map`."""

    kind: LoopKind
    span: Span
    body: Span
    line: int
    over: str = ""
    """The iterated expression or the condition, as written."""
    targets: tuple[str, ...] = ()
    """Names that hold the item."""
    is_async: bool = False
    """Whether it is `async for` or `for await`: items arrive one by one."""

    @property
    def head(self) -> Span:
        """The part before the body, where a finding about the loop points."""
        return Span(self.span.start, max(self.span.start + 1, self.body.start))


@dataclass(slots=True, unsafe_hash=True)
class Handler:
    """`except`, `catch`, `rescue`, or Go's `if err != nil { … }`."""

    types: tuple[str, ...]
    """Resolved error types; empty if it catches all (`except:`, JavaScript's `catch`)."""
    name: str
    """The name of the error; empty if it has none."""
    span: Span
    body: Span
    line: int
    is_broad: bool
    """Whether it catches nearly everything: no type, `Exception`, `BaseException`, `Throwable` …"""
    is_empty: bool
    """Whether it holds nothing but comments, `pass`, `...`, `continue` or a plain `return`."""
    only_logs: bool
    """Whether it only logs or prints."""
    raises: bool
    """Whether it raises, throws, or passes the error on (`reject(e)`, `next(e)`, `return err`, `panic`)."""
    uses_error: bool
    """Whether it mentions the error by its name."""
    exits: bool = False
    """Whether it leaves a loop or the function by `return`, `break` or `raise`."""

    @property
    def head(self) -> Span:
        """The part before the body, where a finding about the handler points."""
        return Span(self.span.start, max(self.span.start + 1, self.body.start))


@dataclass(slots=True, unsafe_hash=True)
class Try:
    """A block whose errors are handled, with its handlers."""

    span: Span
    body: Span
    line: int
    handlers: tuple[Handler, ...]
    finally_: Span | None = None


class Access(NamedTuple):
    """A name or dotted path that is read and not called: `resp.status_code`, `os.environ`."""

    name: str
    """The resolved name, also through what made the object: `requests.get().status_code`."""
    written: str
    span: Span
    line: int
    origin: Call | None = None


StepKind: TypeAlias = Literal[
    "return", "break", "continue", "raise", "yield", "branch", "assert", "delete", "global", "await", "binary"
]


class StepDetails(NamedTuple):
    """What rules ask of few steps; see the properties of `Step`."""

    line: int
    text: str = ""
    word: str = ""
    sides: tuple[Value, ...] = ()


class Step:
    """Another statement or expression that rules ask for. `branch` is `if`, `switch`, `match`,
    `select`, `? :`; `binary` is an operation with two sides, whose sign is `word`. Equal only to itself."""

    __slots__ = ("_details", "_read_details", "kind", "span")

    def __init__(self, kind: StepKind, span: Span, read_details: Callable[[], StepDetails]) -> None:
        self.kind = kind
        self.span = span
        self._read_details = read_details
        self._details: StepDetails | None = None

    @property
    def details(self) -> StepDetails:
        """Return the rest, which is read from the text when it is asked for."""
        if self._details is None:
            self._details = self._read_details()
        return self._details

    @property
    def line(self) -> int:
        return self.details.line

    @property
    def text(self) -> str:
        """Return the text after the keyword; for a branch its condition."""
        return self.details.text

    @property
    def word(self) -> str:
        return self.details.word

    @property
    def sides(self) -> tuple[Value, ...]:
        return self.details.sides


Leaving: TypeAlias = Literal["", "function", "loop"]
"""What the end of a block leaves: nothing, the function (`return`, `raise`), or the round of a loop."""


@dataclass(slots=True, unsafe_hash=True)
class Arm:
    """One of several alternatives: a branch of `if`, `switch`, `match` or `? :`, the body of a try, a
    handler."""

    fork: Span
    """The statement or expression that chooses."""
    place: int
    """Index among the alternatives; of two arms of a fork with different indices only one runs."""
    span: Span
    leaves: Leaving = ""


class Text(NamedTuple):
    """A string literal that stands alone or among others, without its quotes."""

    text: str
    span: Span
    line: int


@dataclass(frozen=True)
class Imports:
    """What a text imports."""

    names: dict[str, str] = field(default_factory=dict)
    """Meaning of each imported name: `{"r": "requests", "get": "axios.get", "http": "net/http"}`."""
    modules: frozenset[str] = frozenset()
    """All imported modules: `httpx`, `net/http`; without `node:`."""

    @cached_property
    def all_modules(self) -> frozenset[str]:
        """The imported modules, and those that they are in: of `a.b/c` also `a.b` and `a`."""
        return self.modules.union(
            module[: part.start()] for module in self.modules for part in _PART.finditer(module)
        )
