"""Threats: what an attacker can do with a function, as far as simple checks of its text can show. Pure.

Five checks: input of a caller must not become part of a query, a shell command, a path, the host of a URL
or code. Secrets in the source and missing TLS verification are found by rules (`RULE_SLUGS`).
Authorisation, logging and resource use per caller are not checked, and the analysis states this.

Input is followed from parameters through plain copies, methods called on it and text that it is put into,
and no further: a value that passes through any other function counts as checked there. This misses some
threats and rarely reports a false one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

from faultkit.code.facts import Argument, Assignment, Call, Facts, Parameter, Scope, Value
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import LIKELY, POSSIBLE, Hit, Severity
from faultkit.code.rules.vocabulary.http_requests import http_requests

_LITERAL = re.compile(
    r"""(?P<prefix>\b[a-zA-Z]{1,2})?(?P<quote>\"{3}|'{3}|"|'|`)(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)""",
    re.DOTALL,
)
_HOLE = re.compile(r"\{([^{}]*)\}")
_TEMPLATE_HOLE = re.compile(r"\$\{([^{}]*)\}")
_HARMLESS = re.compile(
    # A number, a count or a text that was made harmless; `for _ in names` reads how many there are.
    r"\b(?:len|int|float|bool|Number|parseInt|encodeURIComponent|(?:\w+\.)*(?:quote\w*|escape\w*|Atoi))"
    r"\s*\([^()]*\)|\bin\s+[\w.]+|\.(?:length|size)\b"
)
_ROOT = re.compile(r"(?<![\w.$])[A-Za-z_]\w*")
_KEYWORD = re.compile(r"\b\w+\s*=(?!=)")
_THROUGH = frozenset(
    {"str", "String", "decodeURIComponent", "unquote", "urllib.parse.unquote", "pathlib.Path"}
)
"""Functions that return their argument."""
_NO_INPUT = frozenset({"self", "cls", "this", "ctx", "context", "w", "res", "response", "reply", "next"})
_TYPES = (
    "int", "float", "bool", "Int", "Integer", "Long", "long", "Boolean", "boolean", "double", "number",
    "uuid.UUID", "UUID", "java.util.UUID", "datetime.date", "datetime.datetime", "int64", "int32", "uint",
    "context.Context", "net/http.ResponseWriter",
)  # fmt: skip
"""Types whose values cannot carry an attack."""
_GIVEN_BY_FRAMEWORK = re.compile(r"^(?:\w+\.)*(?:Depends|Security|BackgroundTasks)\b")
_FRAMEWORK_GLOBALS = {"flask": "request", "quart": "request", "bottle": "request"}
_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Inputs:
    """Names that hold input of the caller."""

    names: frozenset[str]
    """Names that hold input."""

    def among(self, text: str) -> list[str]:
        """Return the inputs that an expression uses unchanged, in its order."""
        return [name for name in roots_in(text) if name in self.names]


def inputs_at(place: Placed, facts: Facts) -> Inputs:
    """Return the inputs of the functions around a place."""
    around = tuple(facts.functions_around(place))
    names = {each.name for scope in around for each in scope.parameters if _is_input(each)}
    if any(scope.route is not None for scope in around):
        names |= {name for module, name in _FRAMEWORK_GLOBALS.items() if facts.imports_any(module)}
    assigned = [each for each in facts.assignments if each.scope in around]
    for _ in range(_MOST_ROUNDS):
        more = {
            name
            for each in assigned
            if _passes_on(each, names)
            for name in _targets(each)
            if name not in names
        }
        if not more:
            break
        names |= more
    return Inputs(frozenset(names))


def roots_in(text: str) -> list[str]:
    """Return the names that an expression reads, of `a.b` only `a`; none from the literal part of a text."""
    code = _LITERAL.sub(_holes, text)
    code = _KEYWORD.sub(" ", _HARMLESS.sub(" ", code))
    return list(dict.fromkeys(_ROOT.findall(code)))


def is_checked(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the function tests that the name is in a known set."""
    word = rf"\b{re.escape(name)}\b"
    asks = re.compile(rf"{word}\s+(?:not\s+)?in\b|(?:includes|has|contains|fullmatch|match|test)\(.*{word}")
    steps = facts.within(facts.steps_of("branch", "assert"), scope.span)
    return any(asks.search(each.text) for each in steps)


def _is_input(parameter: Parameter) -> bool:
    default = "" if parameter.default is None else parameter.default.text
    is_ours = parameter.name in _NO_INPUT or _GIVEN_BY_FRAMEWORK.match(default)
    return not is_ours and parameter.type not in _TYPES


def _holes(found: re.Match[str]) -> str:
    if found["quote"] == "`":
        holes = _TEMPLATE_HOLE.findall(found["text"])
    elif "f" in (found["prefix"] or "").lower():
        holes = _HOLE.findall(found["text"].replace("{{", "").replace("}}", ""))
    else:
        holes = []
    return f" {' , '.join(holes)} "


def _passes_on(assignment: Assignment, names: set[str]) -> bool:
    value, call = assignment.value, assignment.call
    if value is None or not any(name in names for name in roots_in(value.text)):
        return False
    if call is None:
        return value.shape in ("name", "other")
    return call.name in _THROUGH or _receiver(call) in names


def _receiver(call: Call) -> str:
    """Return the first name of `r.URL.Query().Get`; empty for a plain function or a text."""
    found = re.match(r"[A-Za-z_]\w*(?=[.\[(])", call.written)
    return found[0] if found is not None and "." in call.written else ""


def _targets(assignment: Assignment) -> list[str]:
    """Return plain names and those in `{ id, name }`; values kept in objects are not followed."""
    return [
        name for each in assignment.targets if "." not in each for name in re.findall(r"[A-Za-z_]\w*", each)
    ]


# The checks.


@dataclass(frozen=True, slots=True)
class Threat:
    """One kind of threat and the check that finds it."""

    title: str
    why: str
    fix: str
    check: Callable[[Facts, Call], Iterable[Hit]]
    """Called for each call of the text."""


@dataclass(frozen=True, slots=True)
class ThreatFinding:
    """A threat at a line."""

    threat: Threat
    line: int
    message: str
    severity: Severity
    confidence: float


RULE_SLUGS = ("secret-in-code", "tls-not-verified")
"""Reliability rules whose findings are threats as well."""

_QUERIES = frozenset(
    (
        "execute", "executemany", "executescript", "query", "Query", "QueryRow", "QueryContext",
        "QueryRowContext", "Exec", "ExecContext", "executeQuery", "executeUpdate", "queryForObject",
        "queryForList", "createNativeQuery", "prepareStatement", "fetch", "fetchrow", "fetchval", "scalar",
        "raw", "$queryRawUnsafe", "$executeRawUnsafe", "all", "get", "run", "exec",
    )
)  # fmt: skip
_SQL = re.compile(
    r"^\(*(?:(?:fmt\.Sprintf|String\.format|(?:\w+\.)?text)\(\s*)?[a-zA-Z]{0,2}[\"'`]+\s*"
    r"(?:select|insert|update|delete|replace|merge|with|create|alter|drop|truncate)\b",
    re.IGNORECASE,
)
_SHELLS = frozenset(
    (
        "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
        "asyncio.create_subprocess_shell", "child_process.exec", "child_process.execSync",
    )
)  # fmt: skip
_PROGRAMS = re.compile(r"^subprocess\.(?:run|call|check_call|check_output|Popen)$")
_SHELL_WORDS = re.compile(r"""^["'](?:/bin/|/usr/bin/)?(?:sh|bash|zsh|cmd|cmd\.exe)["']$""")
_PATHS: dict[str, int] = {
    **dict.fromkeys(("open", "os.remove", "os.unlink", "os.rmdir", "os.listdir", "shutil.rmtree"), 0),
    **dict.fromkeys(
        ("flask.send_file", "fastapi.responses.FileResponse", "starlette.responses.FileResponse"), 0
    ),
    **dict.fromkeys(("os.Open", "os.ReadFile", "os.Create", "os.OpenFile", "os.Remove", "os.RemoveAll"), 0),
    **dict.fromkeys(("io/ioutil.ReadFile",), 0),
    "net/http.ServeFile": 2,
    **{
        f"{module}.{name}": 0
        for module in ("fs", "fs/promises", "fs.promises")
        for name in ("readFile", "readFileSync", "createReadStream", "writeFile", "unlink", "rm", "readdir")
    },
    **{
        f"java.nio.file.Files.{name}": 0
        for name in ("readString", "readAllBytes", "newInputStream", "delete")
    },
}
"""Calls that open or remove a file, and the index of the path among their arguments."""
_CLEANED = re.compile(
    r"\b(?:basename|secure_filename|safe_join|is_relative_to|realpath|resolve|normalize|normpath|abspath|"
    r"filepath\.(?:Base|Clean|IsLocal)|startswith|startsWith|HasPrefix)\b"
)
_CODE = frozenset(
    (
        "eval", "exec", "pickle.loads", "pickle.load", "marshal.loads", "yaml.unsafe_load", "Function",
        "vm.runInNewContext", "vm.runInThisContext",
    )
)  # fmt: skip
_STARTS = re.compile(
    r"^(?:await\s+)?(?:[fF]?[\"'`](?:https?://)?\$?\{\s*|[\"'`]https?://[\"'`]\s*\+\s*)?([A-Za-z_]\w*)"
)
_ONE_PART = re.compile(r"\{(\w+)\}|<(?:\w+:)?(\w+)>|:(\w+)")


def threats_in(facts: Facts, within: Span) -> tuple[ThreatFinding, ...]:
    """Return threats in a function, in the order of the text."""
    return tuple(
        ThreatFinding(
            threat, facts.syntax.line(hit.span.start), hit.message, hit.severity or "medium", hit.confidence
        )
        for call in facts.within(facts.calls, within)
        for threat in THREATS
        for hit in threat.check(facts, call)
    )


def _hit(
    facts: Facts, call: Call, value: Value, what: str, *, at: Span | None = None, but: Container[str] = ()
) -> Iterator[Hit]:
    """Yield a hit if input is in the value and the function does not check it."""
    scope = facts.named_function_of(call) or facts.function_of(call)
    unchecked = [
        name
        for name in inputs_at(call, facts).among(value.text)
        if name not in but and (scope is None or not is_checked(name, scope, facts))
    ]
    if unchecked:
        answers = facts.route_of(call) is not None
        by = "a client" if answers else "the caller"
        yield Hit(
            at or value.span,
            f"{unchecked[0]}, which {by} gives, {what.format(f'{call.written}()')}",
            LIKELY if answers else POSSIBLE,
            "high" if answers else "medium",
        )


def _query(facts: Facts, call: Call) -> Iterator[Hit]:
    if call.method not in _QUERIES:
        return
    for argument in call.positional[:2]:
        value = _value_of(argument, call, facts)
        if value is not None and value.shape != "text" and _SQL.match(value.text):
            yield from _hit(facts, call, value, "is put into the text of {}", at=argument.value.span)
            return


def _value_of(argument: Argument, call: Call, facts: Facts) -> Value | None:
    """Return the argument, or the last value assigned to the name that is given."""
    if argument.value.shape != "name":
        return argument.value
    scope = facts.function_of(call)
    given = [
        each.value
        for each in facts.assignments
        if each.scope is scope
        and each.targets == (argument.value.text,)
        and each.span.start < call.span.start
    ]
    return given[-1] if given else None


def _command(facts: Facts, call: Call) -> Iterator[Hit]:
    value = _command_text(call)
    if value is not None:
        yield from _hit(facts, call, value, "becomes part of the shell command of {}")


def _command_text(call: Call) -> Value | None:
    first = call.argument("args", "cmd", "command", place=0)
    if first is None:
        return None
    shell = call.argument("shell")
    by_shell = _PROGRAMS.match(call.name) and shell is not None and shell.value.shape == "true"
    if call.name in _SHELLS or by_shell:
        return first.value
    words = call.positional
    if call.name in ("os/exec.Command", "child_process.spawn") and _SHELL_WORDS.match(first.value.text):
        return words[-1].value if len(words) > 1 else None
    return None


def _path(facts: Facts, call: Call) -> Iterator[Hit]:
    handler = facts.route_of(call)
    place = _PATHS.get(call.name)
    argument = None if place is None else call.argument("path", "file", place=place)
    # Outside of handlers, a path as a parameter is the purpose of the function.
    if handler is None or argument is None or _CLEANED.search(facts.text(handler.span)):
        return
    yield from _hit(facts, call, argument.value, "names the file for {}", but=_single_parts(handler))


def _single_parts(handler: Scope) -> set[str]:
    """Return route parameters that hold no `/`: `{id}`, `<id>`, `:id`."""
    path = "" if handler.route is None else handler.route.path
    found = {name for each in _ONE_PART.findall(path) for name in each if name}
    return {name for name in found if f"<path:{name}>" not in path}


def _url(facts: Facts, call: Call) -> Iterator[Hit]:
    if facts.route_of(call) is None:
        return
    request = next((each for each in http_requests(facts) if each.call is call), None)
    argument = None if request is None else call.argument("url", place=0)
    if argument is None:
        return
    value = _value_of(argument, call, facts) or argument.value
    start = _STARTS.match(value.text)
    # Input after the host cannot send the request elsewhere.
    if start is not None and start[1] in inputs_at(call, facts).names:
        yield from _hit(facts, call, value, "decides where the request of {} goes", at=argument.value.span)


def _code(facts: Facts, call: Call) -> Iterator[Hit]:
    first = call.argument(place=0)
    if first is not None and (call.name in _CODE or _loads_objects(call)):
        yield from _hit(facts, call, first.value, "can run code by {}")


def _loads_objects(call: Call) -> bool:
    """Return whether YAML is loaded by a loader that makes any object; a loader of the project is trusted."""
    loader = call.argument("Loader", place=1)
    named = "" if loader is None else loader.value.text.rpartition(".")[2]
    return call.name == "yaml.load" and named in ("", "Loader", "UnsafeLoader")


THREATS: tuple[Threat, ...] = (
    Threat(
        "Query built from input",
        "The sender of the input controls the query: it can read, change or drop rows of others.",
        "Pass the values as parameters of the query, and take names of columns or tables from a fixed list.",
        _query,
    ),
    Threat(
        "Shell command built from input",
        "The shell runs whatever the input adds: `; rm -rf …` is enough.",
        "Run the program without a shell, with its arguments as a list.",
        _command,
    ),
    Threat(
        "Path chosen by a client",
        "With `../` or an absolute path a client reads or overwrites any file that the process can.",
        "Resolve the path, and refuse it unless it lies below the folder that is meant.",
        _path,
    ),
    Threat(
        "Request to a host chosen by a client",
        "A client makes the service call what only the service can reach: other services, cloud metadata.",
        "Take the host from the configuration, or allow known hosts only.",
        _url,
    ),
    Threat(
        "Input run as code",
        "The sender of the input runs code with the rights of the process.",
        "Read data with a format that holds data only, such as JSON or yaml.safe_load.",
        _code,
    ),
)
