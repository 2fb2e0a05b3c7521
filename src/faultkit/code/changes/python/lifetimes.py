"""How long an opened object is needed: the names that hold it or something made of it, and where they go.

Only what is known counts: each use of such a name leads through members, functions and expressions of the
tables here to plain data, to another name, or nowhere. Any other use makes the answer unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.codemod import CodemodContext
from faultkit.code.changes.python.tree import is_binding, variables_in

# Kinds of values that need an opened object.


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A type of values: which of its members are plain data, and which need the object."""

    methods: frozenset[str] = frozenset()
    """Methods whose results do not need the object any more."""
    attributes: frozenset[str] = frozenset()
    """Attributes that do not need the object any more."""
    makes: Mapping[str, Kind] = field(default_factory=dict)
    """Methods whose results need the object, and the kinds of these."""
    same: frozenset[str] = frozenset()
    """Methods that return the object itself, or one of its kind."""
    is_stream: bool = False
    """Whether a loop over it gives plain data."""
    is_async: bool = False
    """Whether methods have to be awaited."""
    is_buffer: bool = False
    """Whether what is written to it may be lost if the object is closed first."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DATA = Kind()
_PENDING = Kind()
"""Coroutines and lists of them: what they give when they are awaited is plain data."""
_SOME = Kind(_words("close fetchall fetchmany fetchone read readline readlines recv"), is_buffer=True)
"""Anything else that needs the object, such as a list of open files."""
_FILE = Kind(
    _words(
        "close flush getcode getheader getheaders geturl info isatty peek read read1 readable readinto"
        " readline readlines seek seekable tell truncate writable write writeheader writelines writerow"
        " writerows"
    ),
    _words(
        "closed code dialect encoding errors fieldnames headers line_num mode msg name newlines reason status"
        " url"
    ),
    is_stream=True,
)
_WRAPPED = replace(_FILE, is_buffer=True)
_ZIP = Kind(
    _words(
        "close extract extractall getinfo infolist namelist printdir read setpassword testzip write writestr"
    ),
    _words("comment filename mode"),
    {"open": _WRAPPED},
)
_TAR = Kind(
    _words("add addfile close extract extractall getmember getmembers getnames list"),
    _words("name mode"),
    {"extractfile": _WRAPPED},
    is_stream=True,
)
_CURSOR = Kind(
    _words("close fetchall fetchmany fetchone"),
    _words("arraysize description lastrowid rowcount"),
    same=_words("execute executemany"),
    is_stream=True,
)
_DATABASE = Kind(
    _words("close commit rollback"),
    _words("in_transaction total_changes"),
    {"cursor": _CURSOR, "execute": _CURSOR, "executemany": _CURSOR, "executescript": _CURSOR},
)
_VERBS = _words("delete get head options patch post put request send")
_SETTINGS = _words("auth base_url cookies headers max_redirects params proxies timeout trust_env verify")
_CLIENT = Kind(_VERBS | _words("close mount build_request prepare_request"), _SETTINGS)
_ASYNC_CLIENT = Kind(_VERBS | {"aclose"}, _SETTINGS, is_async=True)
_ASYNC_RESPONSE = Kind(
    _words("json read text"), _words("charset content_type headers ok reason status url"), is_async=True
)
_AIOHTTP = Kind(_words("close"), _SETTINGS, dict.fromkeys(_VERBS, _ASYNC_RESPONSE), is_async=True)
_RESPONSE = Kind(
    _words("close json raise_for_status"),
    _words("content cookies elapsed encoding headers history ok reason status_code text url"),
    {"iter_content": _FILE, "iter_lines": _FILE},
    is_stream=True,
)
_SOCKET = Kind(
    _words(
        "close connect connect_ex getpeername getsockname getsockopt gettimeout recv recv_into recvfrom send"
        " sendall sendto setblocking setsockopt settimeout shutdown"
    ),
    _words("family proto type"),
    {"makefile": _WRAPPED},
)
_SERVER = Kind(
    _words(
        "close cwd delete ehlo helo login mkd nlst noop pwd quit rename retrbinary retrlines rmd send_message"
        " sendcmd sendmail set_debuglevel set_pasv size starttls storbinary storlines voidcmd"
    )
)
_POOL = Kind(_words("map shutdown submit"))
"""An executor: its block ends when all of its tasks are done."""

OPENED: Mapping[str, Kind] = {
    **dict.fromkeys(
        (
            "open", "io.open", "builtins.open", "gzip.open", "bz2.open", "codecs.open", "os.fdopen",
            "urllib.request.urlopen",
        ),
        _FILE,
    ),
    "zipfile.ZipFile": _ZIP,
    "tarfile.open": _TAR,
    **dict.fromkeys(("httpx.Client", "requests.Session", "requests.session"), _CLIENT),
    "httpx.AsyncClient": _ASYNC_CLIENT,
    "aiohttp.ClientSession": _AIOHTTP,
    **dict.fromkeys(("socket.socket", "socket.create_connection"), _SOCKET),
    **dict.fromkeys(("smtplib.SMTP", "ftplib.FTP"), _SERVER),
    **dict.fromkeys(
        ("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor"), _POOL
    ),
    **dict.fromkeys(
        ("sqlite3.connect", "psycopg2.connect", "psycopg.connect", "pymysql.connect", "MySQLdb.connect"),
        _DATABASE,
    ),
}  # fmt: skip
"""Kinds of opened objects by the resolved names of the functions that open them."""
_HOLDING = _words("bind listen")
"""Methods after which the object has an effect as long as it is open, whether it is used or not."""


def kind_of(name: str) -> Kind:
    """Return the kind of what a function opens. Functions of `requests` open a response."""
    return OPENED.get(name, _RESPONSE)


# Functions by their resolved names.

_CONSUMERS = frozenset(
    (
        "bool", "float", "hash", "id", "int", "isinstance", "len", "print", "repr", "str", "type",
        "json.load", "json.dump", "pickle.load", "pickle.dump", "marshal.load", "marshal.dump",
        "plistlib.load", "plistlib.dump", "tomllib.load", "tomli.load", "toml.load", "toml.dump",
        "yaml.load", "yaml.safe_load", "yaml.dump", "yaml.safe_dump", "configparser.ConfigParser().read_file",
        "email.message_from_file", "email.message_from_binary_file", "hashlib.file_digest",
        "os.fstat", "os.fsync", "shutil.copyfileobj", "xml.etree.ElementTree.parse", "traceback.print_exc",
        "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output",
        *(f"requests.{verb}" for verb in ("post", "put", "patch", "request")),
        *(f"httpx.{verb}" for verb in ("post", "put", "patch", "request")),
    )
)  # fmt: skip
"""Functions that are done with what they are given when they return."""
_READERS = frozenset(
    (
        "all", "any", "bytes", "dict", "frozenset", "list", "max", "min", "next", "set", "sorted", "sum",
        "tuple",
        "csv.writer().writerows", "csv.DictWriter().writerows", "open().writelines",
    )
)  # fmt: skip
"""Functions that read their first argument when they are called: its items remain."""
_LAZY = frozenset(
    (
        "enumerate", "filter", "iter", "map", "reversed", "zip", "itertools.chain", "itertools.islice",
    )
)  # fmt: skip
"""Functions whose results give the items of what they are given later."""
_WRAPPERS = frozenset(
    (
        "io.TextIOWrapper", "io.BufferedReader", "io.BufferedWriter", "gzip.GzipFile",
    )
)  # fmt: skip
"""Functions that make a stream with a buffer of its own."""
_PARSERS = frozenset(
    ("csv.reader", "csv.DictReader", "csv.writer", "csv.DictWriter", "yaml.load_all", "yaml.safe_load_all")
)
"""Functions that make a stream of a stream."""
_WRITERS = re.compile(r"(^print|\.print_exc|\.copyfileobj|dump|[wW]riter)$|^subprocess\.")
"""Functions that may write to what they are given."""


# The names that need an object, and the last statement that uses one of them.


def last_use(context: CodemodContext, lines: Sequence[cst.CSTNode], first: int, name: str, kind: Kind) -> int:
    """Return the index of the last statement that needs what the statement `first` binds to a name.

    -1 if none does, or if that is unknown.
    """
    scope = context.tree.function(lines[first])
    if scope is None:
        return -1
    names, last = {name: kind}, first
    while True:
        uses = [at for at, each in enumerate(lines) if at > first and _uses(context, each, names)]
        if not uses:
            return -1
        found = _after(context, lines[first + 1 : uses[-1] + 1], names, name)
        if found is None:
            return -1
        if found == names and uses[-1] == last:
            break
        names, last = found, uses[-1]
    inside = sum(len(_uses(context, each, names)) for each in lines[first : last + 1])
    everywhere = sum(len(_uses(context, each, names)) for each in (scope.params, scope.body))
    return last if everywhere == inside else -1


def _uses(context: CodemodContext, top: cst.CSTNode, names: Mapping[str, Kind]) -> list[cst.Name]:
    return [each for each in variables_in(context.tree, top) if each.value in names]


def _after(
    context: CodemodContext, lines: Sequence[cst.CSTNode], names: Mapping[str, Kind], opened: str
) -> dict[str, Kind] | None:
    """Return the names with those that are made of them in these lines; None if something is unknown."""
    found = dict(names)
    scope = context.tree.function(lines[0])
    for line in lines:
        for use in _uses(context, line, names):
            if context.tree.function(use) is not scope:
                return None
            if is_binding(context.tree, use):
                if use.value == opened:
                    return None
                continue
            bound = _names_made_of(context, use, names[use.value])
            if bound is None:
                return None
            for name, kind in bound.items():
                found[name] = kind if found.get(name, kind) is kind else _SOME
    return found


def _names_made_of(context: CodemodContext, use: cst.BaseExpression, kind: Kind) -> dict[str, Kind] | None:
    """Return the names that need a value of this kind after an expression that uses it; None if unknown."""
    bound = dict[str, Kind]()
    inner: cst.CSTNode = use
    while True:
        if kind is _DATA:
            later = _generator_around(context, inner)
            if later is None:
                return bound
            inner, kind = later, _FILE
        above = context.tree.parent(inner)
        if above is None or _ends(above, inner, kind):
            return bound
        targets = _targets(above, inner, kind)
        if targets:
            made = _bound(targets, _SOME if isinstance(above, (cst.For, cst.CompFor)) else kind)
            if made is None:
                return None
            bound |= made
            if not isinstance(above, (cst.NamedExpr, cst.CompFor)):
                return bound
        step = _step(context, above, inner, kind)
        if step is None:
            return None
        inner, kind = step


def _generator_around(context: CodemodContext, node: cst.CSTNode) -> cst.GeneratorExp | None:
    """Return the generator expression that computes a value later."""
    for each in context.tree.around(node):
        if isinstance(each, cst.GeneratorExp):
            return each
        if isinstance(each, cst.BaseStatement):
            return None
    return None


def _ends(above: cst.CSTNode, inner: cst.CSTNode, kind: Kind) -> bool:
    """Return whether a value is needed no more after the statement that it is in."""
    if isinstance(above, cst.Expr):
        return kind is not _PENDING
    if isinstance(above, (cst.Del, cst.AssignTarget)):
        return True
    if isinstance(above, (cst.If, cst.While, cst.Assert)):
        return above.test is inner
    if isinstance(above, cst.AugAssign):
        return above.target is inner
    if isinstance(above, cst.WithItem):
        return above.asname is None
    return kind.is_stream and isinstance(above, (cst.For, cst.From))


def _targets(above: cst.CSTNode, inner: cst.CSTNode, kind: Kind) -> Sequence[cst.CSTNode]:
    """Return what a value, or each of its items that needs the object, is assigned to."""
    if isinstance(above, cst.Assign):
        return [each.target for each in above.targets]
    if isinstance(above, (cst.AnnAssign, cst.NamedExpr)):
        return [above.target] if above.value is inner else []
    if isinstance(above, (cst.For, cst.CompFor)):
        return [above.target] if above.iter is inner and not kind.is_stream else []
    if isinstance(above, cst.WithItem) and above.asname is not None:
        return [above.asname.name]
    return []


def _bound(targets: Sequence[cst.CSTNode], kind: Kind) -> dict[str, Kind] | None:
    """Return the names of targets; None if one is no name, such as an attribute."""
    found = dict[str, Kind]()
    for target in targets:
        if isinstance(target, cst.Name):
            found[target.value] = kind
        elif isinstance(target, (cst.Tuple, cst.List)):
            parts = _bound([each.value for each in target.elements], _SOME)
            if parts is None:
                return None
            found |= parts
        else:
            return None
    return found


# One step from a value to the expression around it, and the kind of that. None if it is unknown.


_Step: TypeAlias = "tuple[cst.CSTNode, Kind] | None"


def _step(context: CodemodContext, above: cst.CSTNode, inner: cst.CSTNode, kind: Kind) -> _Step:
    if isinstance(above, cst.Attribute):
        return _member(context, above, kind)
    if isinstance(above, cst.Arg):
        return _given(context, above, kind)
    if isinstance(above, (cst.Element, cst.StarredElement, cst.DictElement, cst.StarredDictElement)):
        return _part(context, above, kind)
    if isinstance(above, cst.CompFor):
        return _item(context, above, inner, kind)
    if isinstance(above, cst.Await):
        return above, _DATA if kind is _PENDING else kind
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget, cst.FormattedStringExpression, cst.CompIf)):
        return above, _DATA
    if isinstance(above, cst.UnaryOperation):
        return above, _DATA if isinstance(above.operator, cst.Not) else _SOME
    if isinstance(above, cst.IfExp):
        return above, _DATA if above.test is inner else kind
    if isinstance(above, (cst.BooleanOperation, cst.NamedExpr)):
        return above, kind
    if isinstance(above, cst.BaseComp):
        return above, kind if kind is _PENDING else _SOME
    if isinstance(above, (cst.BinaryOperation, cst.Call)) or (
        isinstance(above, cst.Subscript) and above.value is inner
    ):
        return above, _SOME
    return None


def _member(context: CodemodContext, above: cst.Attribute, kind: Kind) -> _Step:
    """Step from an object to one of its attributes, or to the result of one of its methods."""
    name, call = above.attr.value, context.tree.parent(above)
    if name in _HOLDING or (kind.is_buffer and name.startswith("write")):
        return None
    if not isinstance(call, cst.Call) or call.func is not above:
        if name in kind.attributes:
            return above, _DATA
        return None if kind.is_async else (above, _SOME)
    if streams_later(call):
        return call, _SOME
    if name in kind.methods:
        return call, _PENDING if kind.is_async else _DATA
    return call, kind if name in kind.same else kind.makes.get(name, _SOME)


def streams_later(call: cst.Call) -> bool:
    """Return whether the result of a call may be read later: `stream=True`, or options that are unknown."""
    return any(
        each.star == "**" or (each.keyword is not None and each.keyword.value == "stream")
        for each in call.args
    )


def _given(context: CodemodContext, argument: cst.Arg, kind: Kind) -> _Step:
    """Step from an argument to the result of the call."""
    call = context.tree.parent(argument)
    if not isinstance(call, cst.Call):
        return None
    if argument.star == "*" and kind.is_stream:
        return call, _DATA
    name = context.resolved_name(call)
    if kind is _PENDING or (kind.is_buffer and _WRITERS.search(name)):
        return _awaited(context, call, name) if kind is _PENDING else None
    if name in _CONSUMERS:
        return call, _DATA
    if name in _READERS or _joins(call):
        return call, _DATA if kind.is_stream and _is_read(name, call, argument) else _SOME
    if name in _LAZY:
        return call, kind if kind is _WRAPPED else _FILE if kind.is_stream else _SOME
    if name in _PARSERS or name in _WRAPPERS:
        return call, _WRAPPED if name in _WRAPPERS or kind.is_buffer else _FILE
    return (call, kind) if name == "contextlib.closing" else None


def _awaited(context: CodemodContext, call: cst.Call, name: str) -> _Step:
    """Step from coroutines to their results, if all are awaited there, even if one of them fails."""
    above = context.tree.parent(call)
    keeps = name == "asyncio.gather" and any(
        each.keyword is not None and each.keyword.value == "return_exceptions" for each in call.args
    )
    if isinstance(above, cst.Await) and (keeps or name == "asyncio.wait_for"):
        return above, _DATA
    return None


def _is_read(name: str, call: cst.Call, argument: cst.Arg) -> bool:
    """Return whether a function reads this argument: the first, or of `max(a, b)` none."""
    others = [each for each in call.args if each.keyword is None and each is not argument]
    return argument.keyword is None and call.args[0] is argument and not (others and name in ("max", "min"))


def _joins(call: cst.Call) -> bool:
    function = call.func
    return (
        isinstance(function, cst.Attribute)
        and function.attr.value == "join"
        and isinstance(function.value, cst.SimpleString)
    )


def _part(context: CodemodContext, above: cst.CSTNode, kind: Kind) -> _Step:
    """Step from an item to the list, tuple, set or dict that is written with it."""
    whole = context.tree.parent(above)
    if whole is None or (isinstance(above, cst.StarredElement) and kind.is_stream):
        return above, _DATA
    return whole, kind if kind is _PENDING else _SOME


def _item(context: CodemodContext, above: cst.CompFor, inner: cst.CSTNode, kind: Kind) -> _Step:
    """Step from what a comprehension loops over to the comprehension."""
    if above.iter is not inner:
        return above, _DATA
    whole = next(each for each in context.tree.around(above) if isinstance(each, cst.BaseComp))
    if not isinstance(whole, cst.GeneratorExp):
        return whole, _DATA
    return whole, _FILE if kind.is_stream else _SOME
