"""What rules may know of a text, as plain values: calls, scopes, loops, tries, assignments. No tree in them.

Names are resolved and dotted, whatever the language:

    import requests as r; r.get(u)              requests.get
    s = requests.Session(); s.get(u)            requests.Session.get      origin: the call of Session
    r.get(u).json(), or x = r.get(u); x.json()  requests.get().json       origin: the call of get
    const {get} = require("axios"); get(u)      axios.get
    import fs from "node:fs/promises"           fs/promises.readFile
    http.Get(u) in Go                           net/http.Get
    (&http.Client{}).Get(u) in Go               net/http.Client.Get       origin: the literal, as a call
    HttpClient.newHttpClient() in Java          java.net.http.HttpClient.newHttpClient
    self.client.get(u), client not known        self.client.get           (`this.` is `self.` everywhere)

So a thing that was made by a constructor (a capital, `new`, a Go literal) gives its type to the name, and a
thing that was returned by another function gives `function()`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from faultkit.code.syntax import Span

Shape: TypeAlias = Literal[
    "text", "number", "true", "false", "none", "name", "call", "function", "object", "list", "other"
]
"""Of an expression. `text` holds nothing but literal text; an f-string or template with holes is `other`;
`name` is an identifier or a dotted path; `object` a dict, object or map literal; `list` a list or tuple."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression."""

    text: str
    """As written."""
    shape: Shape
    span: Span

    @property
    def literal(self) -> str:
        """What a string literal says, without its quotes and prefix; empty for anything else."""
        if self.shape != "text":
            return ""
        bare = self.text.lstrip("rRbBuUfF@$") if self.text[:1] not in "\"'`" else self.text
        for quote in ('"""', "'''", '"', "'", "`"):
            if bare.startswith(quote) and bare.endswith(quote) and len(bare) >= 2 * len(quote):
                return bare[len(quote) : -len(quote)]
        return bare


@dataclass(frozen=True, slots=True)
class Argument:
    value: Value
    name: str = ""
    """A keyword (`timeout=5`), the key of an options object or Go literal (`{timeout: 5}`); empty if it is
    given by its place. Keys of objects in objects are dotted: `{agent: {keepAlive: true}}` is
    `agent.keepAlive`. Spread arguments are named `*`, `**` or `...`."""
    place: int = -1
    """Which positional argument it is, or is a key of; -1 for keywords."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call, a `new`, or a Go literal of a struct. Equal only to itself."""

    name: str
    """Resolved; see above."""
    written: str
    """The callee as written, without arguments: `r.get`."""
    arguments: tuple[Argument, ...]
    span: Span
    callee: Span
    """Where the callee is written."""
    line: int
    end_line: int
    makes: bool = False
    """It constructs a value: `new X()`, `X()` with a capital in Python, `X{}` in Go."""
    origin: Call | None = None
    """The call that made what this one is called on, if it is told: of `s.get(u)` the call `Session()`."""
    assigned: tuple[str, ...] = ()
    """Names that hold the result, as written: `("resp", "err")`, `("self.client",)`, `("{ data }",)`. A name
    in `with … as name`, `for name in` or `try (var name = …)` is one."""
    is_awaited: bool = False
    is_managed: bool = False
    """The head of a `with`, `using` or try-with-resources statement."""
    is_deferred: bool = False
    """Go: `defer f()`."""
    is_launched: bool = False
    """Go: `go f()`."""
    is_returned: bool = False
    """Its result, or one that is built around it, is given back or yielded as it is."""
    is_discarded: bool = False
    """A statement of its own (awaited or not): nobody looks at the result."""
    is_argument: bool = False
    """It stands among the arguments of another call."""
    is_decorator: bool = False

    @property
    def method(self) -> str:
        """The last part of the name: `get`."""
        return self.name.rpartition(".")[2]

    @property
    def receiver(self) -> str:
        """All before it: `requests.Session`; empty for a plain function."""
        return self.name.rpartition(".")[0]

    @property
    def receiver_written(self) -> str:
        return self.written.rpartition(".")[0]

    def argument(self, *names: str, place: int | None = None) -> Argument | None:
        """By one of these keywords or option keys, or by its place."""
        for each in self.arguments:
            if each.name in names or (not each.name and place is not None and each.place == place):
                return each
        return None

    def has(self, *names: str) -> bool:
        """Whether one of these keywords or option keys is given. Keys in keys are dotted: `headers.Host`."""
        return any(each.name in names for each in self.arguments if each.name)

    @property
    def spreads(self) -> bool:
        """`*args`, `**options`, `...options`: what is given cannot be known."""
        return any(each.name in ("*", "**", "...") for each in self.arguments)

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(each for each in self.arguments if not each.name)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str = ""
    """Resolved, without pointers and generics: `net/http.Request`; empty if none is written."""
    default: Value | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """A function that answers requests of clients."""

    method: str
    """`GET`, `POST` …; `ANY` if it is not told."""
    path: str
    """As written in the code, `/users/{id}`; empty if it is not a literal."""
    framework: str
    """`fastapi`, `flask`, `express`, `net/http`, `spring` …"""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A function or lambda, named or not. Equal only to itself."""

    name: str
    """Qualified; empty if it has none."""
    span: Span
    """With decorators."""
    body: Span
    line: int
    is_async: bool
    is_anonymous: bool
    parameters: tuple[Parameter, ...]
    decorators: tuple[Call, ...]
    """Resolved names; one that is not called has no arguments."""
    outer: Scope | None
    route: Route | None = None
    owner: str = ""
    """The type it is a method of, qualified."""

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


LoopKind: TypeAlias = Literal["each", "count", "while", "endless", "comprehension"]
"""`each`: over the items of something. `count`: over a range or with a counter. `while`: as long as a
condition holds. `endless`: `while True`, `for {}`, `for (;;)`. `comprehension`: also `.map`, `.forEach` and
the like, whose body is then the function that is given."""


@dataclass(frozen=True, slots=True)
class Loop:
    kind: LoopKind
    span: Span
    body: Span
    line: int
    over: str = ""
    """What it goes over or its condition, as written."""
    targets: tuple[str, ...] = ()
    """The names that hold the item."""
    is_async: bool = False
    """`async for`, `for await`: items come one by one from elsewhere."""


@dataclass(frozen=True, slots=True)
class Handler:
    """`except`, `catch`, `rescue`, or Go's `if err != nil { … }`."""

    types: tuple[str, ...]
    """Resolved; empty if it takes all (`except:`, JavaScript's `catch`)."""
    name: str
    """Of the error; empty if it has none."""
    span: Span
    body: Span
    line: int
    is_broad: bool
    """It takes (nearly) everything: no type, `Exception`, `BaseException`, `Throwable`, `StandardError` …"""
    is_empty: bool
    """Nothing in it but comments, `pass`, `...`, `continue` or a plain `return`."""
    only_logs: bool
    """All it does is to log or print."""
    raises: bool
    """It raises, throws, or gives the error on (`reject(e)`, `next(e)`, `return err`, `panic`)."""
    uses_error: bool
    """It mentions the error by its name."""
    exits: bool = False
    """It leaves a loop or the function, `continue` aside: `return`, `break`, `raise`."""


@dataclass(frozen=True, slots=True)
class Try:
    span: Span
    body: Span
    line: int
    handlers: tuple[Handler, ...]
    finally_: Span | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    targets: tuple[str, ...]
    """As written, `this.` as `self.`."""
    value: Value | None
    span: Span
    line: int
    scope: Scope | None
    """None at the top of a file; in a body of a class, `owner` tells which."""
    owner: str = ""
    type: str = ""
    """As declared, resolved."""
    call: Call | None = None
    """The call whose result it is (`await` and the like aside)."""
    operator: str = "="
    """`=`, `:=`, `+=`, `++` …"""
    is_constant: bool = False
    """`const`, `final`."""


@dataclass(frozen=True, slots=True)
class Access:
    """A name or dotted path that is read and not called: `resp.status_code`, `os.environ`."""

    name: str
    """Resolved as calls are, also through what made it: `requests.get().status_code`."""
    written: str
    span: Span
    line: int
    origin: Call | None = None


StepKind: TypeAlias = Literal[
    "return", "break", "continue", "raise", "yield", "branch", "assert", "delete", "global", "await", "binary"
]


@dataclass(frozen=True, slots=True)
class Step:
    """Other statements and expressions that some rules ask for. `branch` is `if`, `switch`, `match`,
    `select`, `? :`; `binary` is an operation with two sides, whose sign is `word`."""

    kind: StepKind
    span: Span
    line: int
    text: str = ""
    """What follows the keyword; for a branch its condition."""
    word: str = ""
    sides: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal that stands alone or among others, without its quotes."""

    text: str
    span: Span
    line: int


@dataclass(frozen=True, slots=True)
class Imports:
    names: dict[str, str] = field(default_factory=dict)
    """What a name in this text stands for: `{"r": "requests", "get": "axios.get", "http": "net/http"}`."""
    modules: frozenset[str] = frozenset()
    """Everything that is imported, whole: `httpx`, `net/http`, `node:` left off."""
