"""Finds temporary files that are left behind, always or when something fails."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_JVM = (
    "java.nio.file.Files.createTempFile", "Files.createTempFile", "java.nio.file.Files.createTempDirectory",
    "Files.createTempDirectory", "java.io.File.createTempFile", "File.createTempFile",
    "kotlin.io.path.createTempFile", "kotlin.io.path.createTempDirectory", "createTempFile",
)  # fmt: skip
_MAKES = frozenset(
    (
        "tempfile.mkstemp", "tempfile.mkdtemp", "tempfile.mktemp",
        "os.CreateTemp", "os.MkdirTemp", "io/ioutil.TempFile", "io/ioutil.TempDir",
        "fs.mkdtemp", "fs.mkdtempSync", "fs/promises.mkdtemp", "fs.promises.mkdtemp",
        "Path.GetTempFileName", "System.IO.Path.GetTempFileName",
        *_JVM,
    )
)  # fmt: skip
_FOLDER = TextPattern(
    r"\bos\.tmpdir\(\)|\btmpdir\(\)|gettempdir\(\)|Path\.GetTempPath\(\)|\btemp_dir\(\)|os\.TempDir\(\)"
    r"|java\.io\.tmpdir"
)
"""A file of a name of its own in the folder for temporary files."""
_FOLDER_WORDS = (b"tmpdir", b"tempdir", b"gettemppath", b"temp_dir")
"""Of which one stands in each text that `_FOLDER` matches; they are found faster."""
_WRITES = frozenset(
    (
        "writeFile", "writeFileSync", "createWriteStream", "open", "Create", "WriteFile", "write",
        "WriteAllText", "WriteAllBytes", "WriteAllTextAsync", "WriteAllBytesAsync", "FileStream",
        "create", "copy", "copyFile",
    )
)  # fmt: skip
_REMOVES = lazy_regex(
    r"remove\w*|Remove(All)?|unlink\w*|Unlink|rmtree|rm|rmSync|rmdir\w*|delete\w*|Delete\w*|rimraf|cleanup\w*|clean_up"
    r"|cleanUp\w*|Cleanup\w*|dispose\w*|rename\w*|Rename|replace|move\w*|Move|persist|purge\w*|destroy|discard\w*|emptyDir"
    r"|addCleanup|callback|finalize|register|fire_and_forget"
)
_KEPT = lazy_regex(r"deleteOnExit|DeleteOnClose|DELETE_ON_CLOSE|\batexit\b|shutdownHook|addShutdownHook")
_SAFE = lazy_regex(
    r"^(open|close|Close|len|print|str|String|info|debug|warn|error|append|join|Join|format|Sprintf|Name|toString|name"
    r"|Errorf|panicIfErr|getName|fileno|fdopen|Path|File|getAbsolutePath|toAbsolutePath|flush|absolutePath|getPath|toPath|toFile|Dispose)$"
)
"""Calls that hardly ever fail."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if _makes(call):
            yield from _hit(call, call.assigned, facts)
    if facts.syntax.has_any(*_FOLDER_WORDS) and _FOLDER.search(facts.whole_text):
        for each in facts.assignments:
            text = "" if each.value is None else each.value.text
            if (
                len(each.targets) == 1
                and each.scope is not None
                and _FOLDER.search(text)
                and len(text) < 200
                and "ache" not in text
            ):
                scope = each.scope
                if _is_written(each.targets[0], scope, facts) and not _FOLDER.fullmatch(text.strip()):
                    yield from _left(each, (each.targets[0],), scope, facts)


def _makes(call: Call) -> bool:
    if call.name == "tempfile.NamedTemporaryFile":
        kept = call.argument("delete")
        return kept is not None and kept.value.shape == "false"
    return call.name in _MAKES


def _hit(call: Call, names: tuple[str, ...], facts: Facts) -> Iterator[Hit]:
    scope = facts.function_of(call)
    if scope is None or call.is_returned or not names or any("." in name or "[" in name for name in names):
        return
    if facts.language == "go":
        names = names[:1]
    listed = tuple(word for name in names for word in re.findall(r"[A-Za-z_]\w*", name) if word != "_")
    yield from _left(call, listed, scope, facts)


def _is_written(name: str, scope: Scope, facts: Facts) -> bool:
    return any(
        each.method in _WRITES
        and any(argument.value.text.lstrip("&") == name for argument in each.positional)
        for each in facts.within(facts.calls, scope.body)
    )


def _left(made: Placed, names: tuple[str, ...], scope: Scope, facts: Facts) -> Iterator[Hit]:
    after = Span(made.span.end, scope.body.end)
    text = facts.text(after)
    held = names[-1] if names else ""
    names += _other_names(names, text)
    word = rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})\b"
    if not names or _KEPT.search(text) or _is_passed_on(word, text) or _is_returned_in(word, after, facts):
        return
    if _is_given_otherwise(held, made, scope, facts):
        return
    removals = [each for each in facts.within(facts.calls, after) if _REMOVES.fullmatch(each.method)]
    what = f"the temporary file in {held}"
    if not removals and (_is_in_given_folder(made, facts) or _is_shown(word, text)):
        return
    if not removals:
        yield Hit(made.span, f"{what} is never removed", LIKELY)
        return
    if facts.language == "rust" or any(_runs_anyway(each, scope, facts) for each in removals):
        return
    first = removals[0]
    between = [
        each
        for each in facts.own(facts.calls, scope)
        if made.span.end <= each.span.start
        and each.span.end <= first.span.start
        and not _SAFE.match(each.method)
        and not facts.handlers_around(each)
        and not facts.are_exclusive(made, each)
    ]
    own = [each.span for each in between if re.fullmatch(rf"{word}\.(write|Write\w*|seek)", each.written)]
    others = [each for each in between if not any(is_within(each.span, one) for one in own)]
    if others:
        yield Hit(made.span, f"{what} is left behind when {others[0].written}() fails", LIKELY)


def _is_given_otherwise(name: str, made: Placed, scope: Scope, facts: Facts) -> bool:
    """Return whether the variable may also hold a path that was given: then it is where the result goes."""
    return any(
        each.targets == (name,)
        and each.scope is scope
        and each.value is not None
        and each.value.shape not in ("none", "text")
        and not is_within(made.span, each.span)
        and each.span.start < made.span.start
        for each in facts.assignments_of(name)
    )


def _is_in_given_folder(made: Placed, facts: Facts) -> bool:
    """Return whether the file is made in a folder that was given: its owner may remove all that is in it."""
    if not isinstance(made, Call):
        return False
    if facts.language in ("java", "kotlin"):
        is_file = "java.io" in made.name or made.name.startswith("File.")
        folder = made.argument(place=2) if is_file else made.argument(place=0)
        return (
            folder is not None
            and folder.value.shape in ("name", "call")
            and (is_file or len(made.positional) > (2 if made.method.endswith("File") else 1))
        )
    folder = made.argument("dir", place=0) if facts.language == "go" else made.argument("dir")
    return folder is not None and folder.value.shape == "name" and folder.value.text not in ("nil", "None")


def _is_shown(word: str, text: str) -> bool:
    """Return whether the path is printed, as the result of a program."""
    return (
        re.search(rf"\b(fmt\.Print\w*|print(ln)?|console\.log|Console\.WriteLine)\(\s*{word}\s*\)", text)
        is not None
    )


def _other_names(names: tuple[str, ...], text: str) -> tuple[str, ...]:
    """Return variables that get the path of an open file: `path := file.Name()`."""
    if not names:
        return ()
    held = "|".join(map(re.escape, names))
    path = r"(?:Name\(\)|name|path|getPath\(\)|getAbsolutePath\(\)|absolutePath|toFile\(\)|toPath\(\))"
    # `archive = download(url, folder)` is a path in the folder.
    made = rf"\b(\w+)\s*:?=\s*(?:await )?[\w.]+\([^()\n]*(?<![\w.])(?:{held})\b[^()\n]*\)\s*[;\n]"
    return (
        *re.findall(rf"\b(\w+)\s*:?=\s*(?:{held})\.{path}\s*[;\n]", text),
        *(name for name in re.findall(made, text) if re.search(rf"\breturn\s+{name}\b", text)),
    )


def _is_passed_on(word: str, text: str) -> bool:
    """Return whether the path is returned or stored, so that other code may remove the file."""
    return (
        re.search(rf"\breturn\s[^\n;]*?(?<!\()(?<!\(\s){word}(\.\w+(\(\))?)?\s*([,;)\n}}]|$)", text)
        is not None
        and re.search(rf"\breturn\s+(await\s+)?[\w.]+\([^\n]*{word}[^\n]*\)", text) is None
    ) or re.search(
        rf"\byield\s[^\n]*{word}|\w\[[^\]\n]+\]\s*=\s*[^\n]*{word}|\b(self|this)\.\w+\s*=\s*[^\n]*{word}|\.(add|append|push|put|set|resolve|callback)"
        rf"\(\s*[^\n()]*{word}|\b(resolve|callback|cb)\([^\n]*{word}|\bappend\(\s*\w+,[^\n]*{word}|[:=]\s*&?{word}(\.Name\(\))?\s*[,}}]",
        text,
    ) is not None


_MADE_VALUE = lazy_regex(r"(?:new\s+|&)?_?[A-Z]\w*\s*[({]")


def _is_returned_in(word: str, after: Span, facts: Facts) -> bool:
    """Return whether the path is a part of what the function returns: `return Paths(a=f(folder))`."""
    return any(
        step.kind == "return" and _MADE_VALUE.match(step.text) and re.search(word, step.text)
        for step in facts.within(facts.steps, after)
    )


def _runs_anyway(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a call also runs after a failure: in `finally`, deferred, or in another function."""
    return (
        facts.is_in_finally(call)
        or call.is_deferred
        or facts.is_deferred(call)
        or bool(facts.handlers_around(call))
        or facts.function_of(call) is not scope
    )


RULE = Rule(
    id="FK-R131",
    slug="temporary-file-left",
    title="Temporary file left behind",
    why="The files pile up until the disk is full, and then everything on the machine fails that writes.",
    fix="Remove it in a finally block (Go: defer os.Remove), or use a file that removes itself.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"mkstemp", b"mkdtemp", b"mktemp", b"NamedTemporaryFile", b"CreateTemp", b"MkdirTemp", b"TempFile",
        b"TempDir", b"createTemp", b"tmpdir", b"GetTemp", b"temp_dir", b"gettempdir",
    ),
)  # fmt: skip
