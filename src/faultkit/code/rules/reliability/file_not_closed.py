"""Finds files that are not closed on every path out of a function.

A finding is likely if no other code can own the file. CPython closes a file without a name at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.resources import is_closed_or_passed_on, only_uses

_OPENS = {
    "python": (
        "open",
        "io.open",
        "gzip.open",
        "bz2.open",
        "codecs.open",
        "zipfile.ZipFile",
        "tarfile.open",
        "os.fdopen",
        "builtins.open",
        "lzma.open",
        "shelve.open",
        "h5py.File",
        "rasterio.open",
        "fitz.open",
        "pymupdf.open",
        "pikepdf.open",
        "pikepdf.Pdf.open",
        "pdfplumber.open",
        "netCDF4.Dataset",
    ),
    "csharp": (
        "FileStream",
        "StreamReader",
        "StreamWriter",
        "File.OpenRead",
        "File.OpenWrite",
        "File.Open",
        "File.OpenText",
        "File.Create",
        "File.CreateText",
        "File.AppendText",
        "ZipFile.OpenRead",
        "ZipFile.Open",
    ),
    "go": (
        "os.Open",
        "os.Create",
        "os.OpenFile",
        "os.OpenRoot",
        "archive/zip.OpenReader",
        "github.com/xuri/excelize/v2.OpenFile",
    ),
    "java": (
        *(
            f"java.io.{name}"
            for name in (
                "FileInputStream",
                "FileOutputStream",
                "FileReader",
                "FileWriter",
                "RandomAccessFile",
                "PrintWriter",
            )
        ),
        "java.util.zip.ZipFile",
        "java.util.jar.JarFile",
        "java.nio.file.FileSystems.newFileSystem",
        "java.nio.file.Files.newDirectoryStream",
        "java.nio.channels.FileChannel.open",
        "org.apache.poi.ss.usermodel.WorkbookFactory.create",
        "org.apache.poi.xssf.usermodel.XSSFWorkbook",
        "org.apache.pdfbox.Loader.loadPDF",
        "org.apache.pdfbox.pdmodel.PDDocument.load",
    ),
}
_STREAMS = (
    "inputStream", "outputStream", "bufferedReader", "bufferedWriter", "reader", "writer", "printWriter",
)  # fmt: skip
_OPENS["kotlin"] = (*_OPENS["java"], *(f"java.io.File.{name}" for name in _STREAMS))
_OF_HANDLE = ("createReadStream", "createWriteStream", "readableWebStream")
_NODE = ("fs.openSync", "fs/promises.open", "fs.promises.open")


_LAZY = (
    "java.nio.file.Files.lines",
    "java.nio.file.Files.list",
    "java.nio.file.Files.walk",
    "java.nio.file.Files.find",
)


def _is_on_other_stream(call: Call, facts: Facts) -> bool:
    """Return whether a reader or writer of C# stands on a stream that is given or made before it.

    That stream is looked at itself; one in memory or in the program leaves nothing open."""
    first, scope = call.argument(place=0), facts.named_function_of(call)
    if first is None or "MemoryStream" in first.value.text:
        return first is not None
    given = () if scope is None else scope.parameters
    if any(each.name == first.value.text and each.type.endswith("Stream") for each in given):
        return True
    return any(
        "Stream" in each.value.text
        for each in facts.assignments_to(first.value.text.rstrip("!"), call)
        if each.value is not None
    )


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in ("java", "kotlin"):
        yield from _lazy_streams(facts)
        yield from _readers(facts)
    for call in facts.calls_named(*_OPENS.get(facts.language, _NODE)):
        if call.name == "open" and facts.calls_of_method("mock_open"):
            continue
        if call.name in _NODE and any(each.method in _OF_HANDLE for each in facts.calls_on(call)):
            continue  # The stream of a handle closes it at its end.
        if call.name == "zipfile.ZipFile" and _is_given_a_file(call, facts):
            continue
        if call.method in ("StreamReader", "StreamWriter") and _is_on_other_stream(call, facts):
            continue
        if (scope := facts.function_of(call)) is not None and scope.short_name in ("main", "Main"):
            continue  # It is closed with the process.
        if call.method == "XSSFWorkbook" and not call.arguments:
            continue  # A new one has no file.
        if _is_owned_elsewhere(call, facts) or _is_closed_by_channel(call, facts):
            continue
        if facts.language == "kotlin" and (
            _is_closed_in_chain(call, facts)
            or not (call.assigned or any(each.span.start == call.span.start for each in facts.calls_on(call)))
        ):
            continue
        if call.is_argument and facts.language == "java" and not _wrapper_managed(call.span.start, facts):
            yield Hit(call.span, f"what {call.written}() opens is not closed when something fails", LIKELY)
        elif facts.language == "python" and _is_unnamed(call, facts):
            yield Hit(call.span, f"what {call.written}() opens is not closed", POSSIBLE)
        elif not is_closed_or_passed_on(call, facts):
            yield Hit(call.span, f"what {call.written}() opens is not closed", LIKELY)


def _is_closed_by_channel(call: Call, facts: Facts) -> bool:
    """Return whether the channel of a file is closed or kept, which closes the file, too (Java, Kotlin)."""
    if facts.language not in ("java", "kotlin"):
        return False
    return any(
        each.is_managed or is_closed_or_passed_on(each, facts) or _is_owned_elsewhere(each, facts)
        for each in facts.calls_on(call)
        if each.method in ("getChannel", "channel")
    )


_WRAPS = lazy_regex(r"as[A-Z]\w*|buffer(?:ed)?$|source$|sink$")
"""Methods of Kotlin that give another form of a stream: `asSink()`."""


def _is_owned_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether a field or an `out` parameter gets the file, or the caller in what is returned."""
    scope = facts.function_of(call)
    if scope is None or facts.language not in ("csharp", "java", "kotlin"):
        return False
    given = {each.name for each in scope.parameters} if facts.language == "csharp" else set[str]()
    if any(f"self.{name}" in facts.file_names or name in given for name in call.assigned):
        return True
    wrapped = all(_WRAPS.match(each.method) for each in facts.calls_on(call))
    if call.is_argument or not (wrapped and (facts.language == "kotlin" or not facts.calls_on(call))):
        return False
    return any(is_within(call.span, step.span) for step in facts.own(facts.steps_of("return"), scope))


def _lazy_streams(facts: Facts) -> Iterator[Hit]:
    """Yield `Files.lines(p).filter(…).count()`: the stream holds the file open, and no end closes it."""
    for call in facts.calls_named(*_LAZY):
        chained = [each for each in facts.calls_on(call) if each.span.start == call.span.start]
        if call.is_managed or call.is_argument or not (chained or call.assigned):
            continue
        if call.assigned and not chained and is_closed_or_passed_on(call, facts):
            continue
        if _is_closed_in_chain(call, facts):
            continue
        yield Hit(call.span, f"what {call.written}() opens is not closed", LIKELY)


_READERS = frozenset(
    ("bufferedReader", "bufferedWriter", "newBufferedReader", "newBufferedWriter", "newInputStream",
     "newOutputStream", "openStream", "openInputStream", "openFileInput", "BufferedReader", "Scanner",
     "CSVReader", "CSVParser", "GZIPInputStream", "ZipInputStream", "InputStreamReader")
)  # fmt: skip
_FROM_FILE = lazy_regex(
    r"\b(?:Files|\w*[fF]ile|\w*[uU]pload|\w*[pP]art|\w*[rR]esource|\w*[pP]ath)\)?\.(?:get)?(?:[iI]nputStream|openStream|new\w+"
    r"|bufferedReader|bufferedWriter|openInputStream)\b|\bFileReader\(|\bFileInputStream\(|\.openStream\(\)"
)
"""Streams of files and uploads; those of sockets, processes and requests end with their owner."""


def _readers(facts: Facts) -> Iterator[Hit]:
    """Yield readers over a file or an upload that nothing closes (Java, Kotlin)."""
    known = {*_OPENS["kotlin"]}
    for call in facts.calls_of_method(*_READERS):
        if call.name in known or call.is_managed or call.is_returned or call.is_argument:
            continue
        if _FROM_FILE.search(facts.text(call.span)) is None or _is_closed_in_chain(call, facts):
            continue
        chained = any(each.span.start == call.span.start for each in facts.calls_on(call))
        if call.assigned and not chained and is_closed_or_passed_on(call, facts):
            continue
        if (call.assigned or chained) and facts.function_of(call) is not None:
            yield Hit(call.span, f"what {call.written}() opens is not closed", LIKELY)


_USED = lazy_regex(r"\b(?:use|close)\s*[({]")


def _is_closed_in_chain(call: Call, facts: Facts) -> bool:
    """Return whether a reader made of it is closed: `file.inputStream().bufferedReader().use { … }`."""
    return any(
        each.method in ("use", "useLines", "forEachLine", "readLines", "close")
        or (each.method in ("apply", "also", "run", "let") and _USED.search(facts.text(each.span)))
        or _is_closed_in_chain(each, facts)
        for each in facts.calls_on(call)
        if each is not call
    )


def _is_given_a_file(call: Call, facts: Facts) -> bool:
    """Return whether an archive reads an open file, which its owner closes."""
    first = call.argument("file", place=0)
    if first is None:
        return False
    name = first.value.text
    opened = any(name in each.assigned for each in facts.calls_named(*_OPENS["python"]))
    return name == "self" or opened or first.value.shape == "call"


def _wrapper_managed(start: int, facts: Facts) -> bool:
    """Return whether a wrapper closes it: `new BufferedReader(new FileReader(p))` closes the inner reader."""
    around = [call for call in facts.calls if call.constructs and call.span.start < start < call.span.end]
    return any(is_closed_or_passed_on(call, facts) for call in around) or not around


def _is_unnamed(call: Call, facts: Facts) -> bool:
    """Return whether the file has no name and so cannot be closed: `open(p).read()`, `json.load(open(p))`."""
    end = call.span.end
    if facts.syntax.source[end : end + 1] == b".":
        return not any(each.method == "close" for each in facts.calls_on(call))
    if not call.is_argument:
        return False
    around = facts.calls_around(call)
    return bool(around) and only_uses(around[-1], facts)


RULE = Rule(
    id="FK-R013",
    slug="file-not-closed",
    title="File not closed",
    why="Descriptors run out under load, and what was written may not be on disk when the process ends.",
    fix="Open it in a with block (Go: defer Close; Java: try-with-resources; JavaScript: finally).",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
)
