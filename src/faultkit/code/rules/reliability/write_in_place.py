"""Finds files that this program reads back, and writes in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.published_files import is_published
from faultkit.code.rules.vocabulary.shared_drafts import shared_drafts
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_WRITES = frozenset(
    ("fs.writeFile", "fs.writeFileSync", "fs/promises.writeFile", "fs.promises.writeFile",
     "fs-extra.writeJson", "fs-extra.writeJsonSync", "fs-extra.writeFile", "os.WriteFile",
     "io/ioutil.WriteFile", "os.Create",
     "java.nio.file.Files.write", "java.nio.file.Files.writeString", "java.io.FileWriter",
     "java.io.FileOutputStream", "java.nio.file.Files.newBufferedWriter",
     "java.nio.file.Files.newOutputStream",
     "std.fs.write", "tokio.fs.write", "std.fs.File.create",
     "tokio.fs.File.create",
     "File.WriteAllText", "File.WriteAllTextAsync", "File.WriteAllBytes", 
     "File.WriteAllBytesAsync", "File.Create",
     "File.WriteAllLines", "File.WriteAllLinesAsync", "System.IO.File.WriteAllText")
)  # fmt: skip
_READS = frozenset(
    ("fs.readFile", "fs.readFileSync", "fs/promises.readFile", "fs.promises.readFile", "fs-extra.readJson",
     "fs-extra.readJsonSync", "fs-extra.readFile", "os.ReadFile", "io/ioutil.ReadFile", "os.Open",
     "java.nio.file.Files.readAllBytes", "java.nio.file.Files.readString", "java.nio.file.Files.readAllLines",
     "java.nio.file.Files.newBufferedReader",
     "java.nio.file.Files.newInputStream", "java.io.FileReader", "java.io.FileInputStream", "require",
     "std.fs.read_to_string", "std.fs.read", "tokio.fs.read_to_string", "tokio.fs.read", "std.fs.File.open",
     "tokio.fs.File.open", "File.ReadAllText", "File.ReadAllTextAsync", "File.ReadAllBytes", "File.OpenRead",
     "File.ReadAllBytesAsync", "File.ReadAllLines", "File.ReadAllLinesAsync", "System.IO.File.ReadAllText",
     "StreamReader", "File.OpenText", "File.ReadLines")
)  # fmt: skip
_OPENS = {
    "os.OpenFile": lazy_regex(r"O_TRUNC"),
    "java.nio.channels.FileChannel.open": lazy_regex(r"TRUNCATE_EXISTING"),
    "fs/promises.open": lazy_regex(r"^[\"']w"),
    "fs.promises.open": lazy_regex(r"^[\"']w"),
    "fs.openSync": lazy_regex(r"^[\"']w"),
    "fs.open": lazy_regex(r"^[\"']w"),
    "fs.createWriteStream": lazy_regex(r"^(?!.*[\"']a)", re.DOTALL),
    "FileStream": lazy_regex(r"FileMode\.(Create|Truncate)\b"),
    "StreamWriter": lazy_regex(r"^(?!.*\btrue\b)", re.DOTALL),
}
"""Calls that write in place if their arguments say so."""
_REPLACES = TextPattern(
    r"rename|\bmove\w*\(|\bte?mp(?!l)|[._]te?mp|[tT]empFile|(?-i:[a-z]Te?mp)|atomic|(?<!arc)swap|\.new\b|\bpart\b|\.persist\(|mkstemp"
    r"|\.Move\(|\.Replace\(",
    re.IGNORECASE,
)
_REPLACED = lazy_regex(r"\breplace\(")
"""Of paths in Python and Kotlin; elsewhere of texts."""
_STATE = lazy_regex(
    r"state|config|settings|cache|store|session|index|checkpoint|token|cookie|offset|cursor|registry|users|database"
    r"|\bdb\b|_db|creds|credential|manifest|history|queue|snapshot|metadata|json\b|progress|position|watermark|lease"
    r"|bookmark|ledger|journal|quota|schedule|license|watch",
    re.IGNORECASE,
)
_STORES = TextPattern(
    r"\b(json|pickle|yaml|toml|marshal|msgpack|orjson)\.\w*dump|JSON\.stringify|(json|yaml|toml|gob|proto)\.\w*(Marshal|Encode)"
    r"|NewEncoder|writeValue|serde_json|bincode|toml::|serde_yaml|JsonSerializer|JsonConvert|encodeToString|toJson"
    r"|Serializ|ObjectOutputStream|gson|\.store\("
)
_SAVES = lazy_regex(
    r"^_?(save|store|persist|checkpoint|flush|commit|write|update|put|record|advance|set)", re.IGNORECASE
)
_LOADS = lazy_regex(
    r"^_?(load|read|restore|open|get|init|resume|recover|new|__init__|constructor|from)", re.IGNORECASE
)
_VALUES = ("writeValue", "readValue", "readTree")
_WRITES_OF_FILE = ("writeText", "writeBytes", "outputStream", "bufferedWriter", "printWriter", "writer")
_READS_OF_FILE = ("readText", "readBytes", "readLines", "inputStream", "bufferedReader", "useLines", "reader")
_TEXTS = (*_WRITES_OF_FILE, *_READS_OF_FILE, "forEachLine")
_PYTHON = ("open", "write_text", "write_bytes", "read_text", "read_bytes")
_METHODS = frozenset(
    (
        *(name.rpartition(".")[2] for name in _READS | _WRITES),
        *_VALUES,
        *_TEXTS,
        *_PYTHON,
        "OpenFile",
        "open",
        "openSync",
        "createWriteStream",
        "FileStream",
        "StreamWriter",
    )
)
"""The last parts of all names of calls that are looked at."""


_SCRIPT = lazy_regex(rb"^if __name__ == .__main__.:|\bprocess\.argv\b", re.MULTILINE)


@lru_cache(maxsize=4)
def _is_script(facts: Facts) -> bool:
    """Return whether a person runs the file, and can run it again: it serves nothing."""
    return _SCRIPT.search(facts.syntax.source) is not None and not facts.routes()


def _check(facts: Facts) -> Iterator[Hit]:
    calls = facts.calls_of_method(*_METHODS)
    paths = ((call, path) for call in calls if (path := _path(call, "read", facts)))
    read: dict[str, list[Call]] = {}
    for call, path in paths:
        for given, place in _given_paths(path, call, facts):
            read.setdefault(_key(given, place, facts), []).append(call)
    for span, draft, target in shared_drafts(facts):
        what = f"{draft[:40]} has the same name for each {target[:40]}: two writers at once mix their bytes"
        yield Hit(span, what, LIKELY)
    hits = list(_handed_over(calls, facts))
    seen = {hit.span for hit in hits}
    yield from hits
    for call in calls:
        path = _path(call, "write", facts)
        if not path or call.span in seen or _is_replaced(call, facts):
            continue
        for given, place in _given_paths(path, call, facts):
            outer = facts.named_function_of(place) or facts.function_of(place)
            if outer is None or (place is not call and _is_replaced(place, facts)):
                continue
            key = _key(given, place, facts)
            if key in read and _is_state(given, place, read[key], outer, facts):
                what = f"{given[:40]} is read back here, and is half written while {call.written}() runs"
                lasts = _is_read_elsewhere(read[key], (call, place), facts) and not (
                    _is_script(facts) or is_command_line(facts) or _can_be_made_again(given, outer, facts)
                )
                span = place.span if place is not call else call.span
                yield Hit(span, what, LIKELY if lasts else POSSIBLE)
                break
            if key not in read and (
                _is_published(given, place, outer, facts)
                or (
                    place is call
                    and _is_document(call, outer, facts)
                    and is_published(given, call, outer, facts)
                )
            ):
                what = f"{given[:40]} is written anew each time, half of it while {call.written}() runs"
                yield Hit(call.span, what, POSSIBLE)
                break


_MADE_AGAIN = lazy_regex(r"Cache(?:Store|File)?$|Temporary|\bwindow\b|__file__")
_COPIED = lazy_regex(r"backup|\bbak\b", re.IGNORECASE)


def _can_be_made_again(path: str, outer: Scope, facts: Facts) -> bool:
    """Return whether a file holds what can be had again: a cache, a file of the source, one with a copy."""
    if (
        _MADE_AGAIN.search(path)
        or "cache" in path.lower()
        or _MADE_AGAIN.search(outer.owner)
        or facts.imports_any("electron")
    ):
        return True
    body = facts.text(outer.body)
    return _COPIED.search(body) is not None or _is_removed(path, body)


def _is_removed(path: str, body: str) -> bool:
    """Return whether the function that writes a file also removes it, as is done with a new one."""
    name = re.escape(path)
    removes = r"\b(?:[rR]emove|unlink\w*|[dD]elete\w*|rm\w*)"
    return (
        re.search(rf"{removes}\(\s*&?(?:{name}|\w+\.Name\(\))|{name}\.(?:delete|unlink)\w*\(", body)
        is not None
    )


def _is_read_elsewhere(reads: list[Call], writes: tuple[Call, Call], facts: Facts) -> bool:
    """Return whether another function reads the file than the one that writes it, so that it keeps state.

    A function that reads and writes a file mostly edits a setting once, for a user or at start."""
    writers = {facts.named_function_of(each) for each in writes}
    return any(facts.named_function_of(each) not in writers for each in reads)


def _is_document(call: Call, outer: Scope, facts: Facts) -> bool:
    """Return whether a function puts a whole document into a file, and does not add to it."""
    return _STORES.search(facts.text(outer.span)) is not None or call.method in _WHOLE


_WHOLE = frozenset(
    (
        "write_text", "write_bytes", "writeText", "writeBytes", "writeString", "writeFile", "writeFileSync",
        "WriteFile", "WriteAllText", "WriteAllTextAsync", "WriteAllBytes", "WriteAllBytesAsync", "writeJson",
        "write",
    )
)  # fmt: skip


def _is_replaced(place: Call, facts: Facts) -> bool:
    """Return whether the function around a place renames something: it writes a temporary file."""
    outer = facts.named_function_of(place) or facts.function_of(place)
    text = facts.whole_text if outer is None else facts.text(outer.span)
    is_moved = facts.language in ("python", "kotlin") and _REPLACED.search(text) is not None
    return _REPLACES.search(text) is not None or is_moved


def _given_paths(path: str, call: Call, facts: Facts) -> Iterator[tuple[str, Call]]:
    """Yield a path with its place, and if it is a parameter, what callers in this text give for it."""
    yield path, call
    scope = facts.named_function_of(call)
    if scope is None:
        return
    name = _CONVERTED.sub("", path).lstrip("&*")
    own = [each.name for each in scope.parameters if each.name not in ("self", "this")]
    if name not in own:
        return
    for each in facts.callers_of(scope):
        if len(each.positional) > own.index(name) and facts.named_function_of(each) is not scope:
            yield each.positional[own.index(name)].value.text.lstrip("&*"), each


_CONVERTED = lazy_regex(r"\.(toFile|toPath|as_path|clone|as_ref)\(\)$")
_CHANGES = frozenset(
    (
        "push", "append", "add", "Add", "set", "put", "insert", "delete", "remove", "splice", "shift", "pop",
        "Enqueue", "push_back", "extend", "update", "TryAdd",
    )
)  # fmt: skip
_LOGS = lazy_regex(r"log|report|trace|dump|debug|export|output|\bout|dest|archive|backup", re.IGNORECASE)


def _is_published(path: str, place: Call, outer: Scope, facts: Facts) -> bool:
    """Return whether an object writes what it holds, each time that this changes, to the same file.

    The file is a member that is set when the object is made, and the object changes other members later."""
    found = re.fullmatch(r"(?:self|this|\w)\.([#\w]+)|([a-z_]\w*)", path)
    name = "" if found is None else found[1] or found[2]
    if not outer.owner or not name or _LOGS.search(name):
        return False
    set_at = [
        each
        for each in facts.assignments
        if each.owner == outer.owner and each.targets[0].removeprefix("self.") == name
    ]
    made_in = ("__init__", "constructor", outer.owner.rpartition(".")[2])
    # `constructor(private readonly target: string)`
    given = any(
        one.name == name
        for each in facts.functions_named("constructor")
        if each.owner == outer.owner and facts.language == "typescript"
        for one in each.parameters
    )
    if not (set_at or given) or not all(
        each.scope is None or each.scope.short_name in made_in for each in set_at
    ):
        return False
    writers = {outer, *(facts.named_function_of(each) for each in facts.callers_of(outer))}
    writers |= {
        facts.named_function_of(each)
        for one in [*writers]
        if one is not None
        for each in facts.callers_of(one)
    }
    return any(
        one is not None
        and one.short_name not in made_in
        and one.owner == outer.owner
        and _changes(one, facts)
        for one in writers
    )


def _changes(scope: Scope, facts: Facts) -> bool:
    """Return whether a method changes what its object holds."""
    fields = {name.removeprefix("self.") for name in facts.file_names if name.startswith("self.")}
    if any(
        each.operator != ":="
        and (target := each.targets[0]).removeprefix("self.").partition("[")[0] in fields
        and (target.startswith("self.") or "[" in target or facts.language in ("csharp", "java", "kotlin"))
        for each in facts.within(facts.assignments, scope.body)
    ):
        return True
    if facts.language in ("python", "go", "rust", "javascript") and any(
        each.targets[0].startswith("self.") and each.operator != ":=" and "." not in each.targets[0][5:]
        for each in facts.within(facts.assignments, scope.body)
    ):
        return True
    return any(
        each.receiver_written.startswith(("self.", "this."))
        or each.receiver_written.removeprefix("this.") in fields
        for each in facts.within(facts.calls_of_method(*_CHANGES), scope.body)
    )


_CALLED = lazy_regex(r"^(?:self\.|this\.|Self::|\w\.)?(\w+)\(")


def _maker(path: str, place: Call, facts: Facts) -> str:
    """Return the function of this text that puts a path together: `path_of` of `self.path_of(key)`, also
    through a variable."""
    texts = [path]
    if path.isidentifier():
        made = facts.assignments_to(path, place)
        texts = [each.value.text for each in made if each.value is not None and each.scope is not None]
    found = _CALLED.match(texts[0]) if len(texts) == 1 else None
    makers = () if found is None else facts.functions_named(found[1])
    if found is None or not makers or any(_REPLACES.search(facts.text(each.span)) for each in makers):
        return ""  # No function of this text, or one that makes names of temporary files.
    return found[1]


_HANDED = NamePattern(
    r"pick_?up|drop_?(dir|folder|box|zone|path)|spool|hot_?folder|(^|[._])_?outbox(_?dir|_?path|_?folder)?$|inbox_?(dir|path)"
    r"|incoming_?(dir|path)|outgoing_?(dir|path)|exchange_?(dir|path)|transfer_?(dir|path)|watched?_?(dir|folder)",
    re.IGNORECASE,
)
"""Folders from which other programs take files as soon as these appear."""


def _handed_over(calls: tuple[Call, ...], facts: Facts) -> Iterator[Hit]:
    """Yield files that are written under their final name into a folder that another program looks at."""
    for call in calls:
        path, scope = _path(call, "write", facts), facts.named_function_of(call)
        if not path or scope is None:
            continue
        name = re.sub(r"\.(toFile|toPath|as_path|clone)\(\)$", "", path)
        given = [*_given_paths(name, call, facts)]
        for written, place in given[1:] or given:
            outer = facts.named_function_of(place)
            made = facts.assignments_to(written, place) if written.isidentifier() else ()
            values = [each.value.text for each in made if each.value is not None and each.scope is not None]
            if outer is None or not _is_in_handed(values[0] if values else written, outer, facts):
                continue
            if not _REPLACES.search(facts.text(outer.span)) and not _REPLACES.search(facts.text(scope.span)):
                what = f"another program may take {written[:40]} while {call.written}() writes it"
                yield Hit(call.span, what, LIKELY)
                break


_HANDS_OVER = NamePattern(r"Outbox|Dropbox|DropFolder|DropZone|Spool|HotFolder|HandOff|FileExchange|PickUp")
_FOLDER = lazy_regex(r"folder|dir(ectory)?\b|_dir\b|[dD]ir\b|path|root", re.IGNORECASE)
_TAKES = (
    r"(?:picks?|picked|polls|polled|polling|watch(?:es|ed)|sftp|ftp|empties|emptied|collects?|collected|scrapes?"
    r"|scans?|sweeps|imports|consumes|takes|ingests)"
)
_TAKEN = TextPattern(
    r"^\s*(?://|#|\*|/\*|\"\"\")[^\n]*(?:\b(?:folder|directory|share|mount|drop)s?\b[^\n]{0,80}"
    rf"\b{_TAKES}\b|\b{_TAKES}\b[^\n]{{0,60}}\b(?:folder|directory|share|mount|drop)s?\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A comment that names the program which takes the files of a folder."""


def _is_in_handed(text: str, outer: Scope, facts: Facts) -> bool:
    """Return whether a path is in a folder from which others take files, as names or a comment say."""
    names = re.findall(r"[A-Za-z_][\w.]*", text)[:3]
    if any(_HANDED.search(name) for name in names):
        return True
    is_in_folder = any(_FOLDER.search(name) for name in names) and len(names) > 1
    if not is_in_folder:
        return False
    return _HANDS_OVER.search(outer.owner) is not None or _TAKEN.search(facts.whole_text) is not None


def _key(path: str, place: Call, facts: Facts) -> str:
    """Return the name of a path without its object: `path` of `self._path`, `this.path` and `f.path`."""
    if maker := _maker(path, place, facts):
        return f"{maker}()"
    if re.fullmatch(r"[\w.:&*]+(\.as_path\(\)|\.clone\(\))?", path) is None:
        return path
    return re.sub(r"(\.as_path|\.clone)\(\)$", "", path).split(".")[-1].strip("_&*").lower()


def _is_state(path: str, write: Call, reads: list[Call], outer: Scope, facts: Facts) -> bool:
    """Return whether a name says that it is state, or an object is stored in a file that a field names."""
    if _is_parameter(path, facts.functions_around(write)) or _is_in_given_folder(path, outer):
        # A pair of functions: `load(path)`, `save(path, state)`.
        callers = [facts.named_function_of(each) for each in facts.callers_of(outer)]
        if any(each is not None and _REPLACES.search(facts.text(each.body)) for each in callers):
            return False  # The caller renames what is written here.
        loads = [facts.named_function_of(each) for each in reads]
        named = any(
            each is not None and each is not outer and _LOADS.match(each.short_name) for each in loads
        )
        names = " ".join((outer.owner, *(each.type for each in outer.parameters)))
        return (
            named
            and _SAVES.match(outer.short_name) is not None
            and _STORES.search(facts.text(outer.span)) is not None
            and _STATE.search(names) is not None
        )
    if _STATE.search(path) or _is_read_at_start(path, write, reads, facts):
        return True
    if not _maker(path, write, facts) and any(
        each.scope is not None for each in facts.assignments_to(path, write)
    ):
        return False  # A path that is put together here: files of any kind.
    return _STORES.search(facts.text(outer.span)) is not None or _STATE.search(outer.owner) is not None


_JOINED = lazy_regex(r"(?:[\w.]*[jJ]oin|Path\.Combine|Paths\.get)\(\s*(\w+)\s*,")


def _is_in_given_folder(path: str, outer: Scope) -> bool:
    """Return whether a path is that of a file in a folder that a caller gives: `join(folder, "a.json")`."""
    found = _JOINED.match(path)
    return found is not None and any(each.name == found[1] for each in outer.parameters)


def _is_read_at_start(path: str, write: Call, reads: list[Call], facts: Facts) -> bool:
    """Return whether an object reads the file of its member when it is made, and writes it later."""
    name, scope = path.removeprefix("self.").removeprefix("this."), facts.named_function_of(write)
    if scope is None or not scope.owner or not name.isidentifier():
        return False
    own = {each.owner for each in facts.assignments if f"self.{name}" in each.targets}
    makers = ("__init__", "constructor", "init", scope.owner.rpartition(".")[2])
    for read in reads:
        reader = facts.named_function_of(read)
        if reader is not None and (reader.owner != scope.owner or reader.short_name not in makers):
            continue
        if (
            scope.owner in own
            and scope.short_name not in makers
            and (reader is not None or read.receiver_written == path)
        ):
            return True
    return False


def _path(call: Call, how: str, facts: Facts) -> str:
    """Return the path that a call reads or writes, as written; empty if it does neither."""
    if facts.language == "python":
        return _python_path(call, how)
    if facts.language == "kotlin" and call.receiver_written:
        wanted = _WRITES_OF_FILE if how == "write" else (*_READS_OF_FILE, "forEachLine")
        if call.method in wanted:
            owner = call.receiver_written
            # `fileOf(shard).writeText(…)`: the path is what the helper returns.
            return f"{owner[:-2]}(" if owner.endswith("()") else owner
    if how == "write" and (opens := _OPENS.get(call.name)) is not None:
        first = call.argument(place=0)
        given = ", ".join(each.value.text for each in call.arguments[1:])
        return first.value.text if first is not None and opens.search(given) else ""
    if facts.language == "rust" and call.method == "open" and "OpenOptions" in call.name:
        first, truncates = call.argument(place=0), "truncate(true)" in facts.text(call.span)
        return first.value.text.lstrip("&") if first is not None and truncates == (how == "write") else ""
    if call.method in _VALUES and facts.language in ("java", "kotlin"):
        first = call.argument(place=0)
        is_wanted = (call.method == "writeValue") == (how == "write")
        text = "" if first is None or not is_wanted else first.value.text.removesuffix(".toFile()")
        return text if re.fullmatch(r"[\w.]+", text) else ""
    if call.name not in (_READS if how == "read" else _WRITES):
        return ""
    first = call.argument(place=0)
    return "" if first is None else first.value.text.lstrip("&")


def _python_path(call: Call, how: str) -> str:
    if call.name in ("open", "io.open", "codecs.open"):
        first, mode = call.argument("file", place=0), call.argument("mode", place=1)
        text = "r" if mode is None else mode.value.literal
        writes = "w" in text
        wanted = writes if how == "write" else "r" in text and "+" not in text
        return first.value.text if wanted and first is not None else ""
    if call.method in (("write_text", "write_bytes") if how == "write" else ("read_text", "read_bytes")):
        return call.receiver_written
    if call.method == "open" and call.receiver_written and call.receiver_written != "os":
        mode = call.argument("mode", place=0)
        text = "r" if mode is None else mode.value.literal
        return call.receiver_written if ("w" in text) == (how == "write") else ""
    return ""


def _is_parameter(path: str, around: Iterator[Scope]) -> bool:
    """Return whether a caller chooses the path: then the function writes files of any kind."""
    head = re.split(r"[.\[(]", path)[0]
    return any(
        each.name == head for scope in around for each in scope.parameters if head not in ("self", "this")
    )


RULE = Rule(
    id="FK-R059",
    slug="file-written-in-place",
    title="State written in place",
    why="If the process ends or the disk fills while it writes, the old state is gone and the new one is not "
    "there; a reader at that moment sees half of it.",
    fix="Write a temporary file in the same folder, flush it, and rename it over the old one.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
