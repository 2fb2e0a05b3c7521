"""Finds tables, models and keys that are loaded anew for each request, though they are the same each time.

Evidence that it matters: what is loaded is a model, a key set or a database of addresses, or the class that
loads it is made for each request. How large a file is that a handler reads is not in the text: it is
possible, unless the handler makes a table of its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.client_factories import read_of_property
from faultkit.code.rules.vocabulary.fixed_sources import is_fixed, makes_object
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.request_scopes import is_made_per_request

_JVM = NamePattern(
    r"^java\.nio\.file\.Files\.(readAllLines|readString|readAllBytes|lines|newBufferedReader|newInputStream)$"
    r"|^java\.io\.(FileInputStream|FileReader)$|\.getResourceAsStream$"
    r"|^java\.io\.File\.(readText|readLines|readBytes|inputStream|bufferedReader|useLines|forEachLine)$"
)
_READS = {
    "python": NamePattern(
        r"^(open|io\.open|gzip\.open|pathlib\.Path\.(open|read_text|read_bytes)|pandas\.read_\w+|numpy\.load(txt)?)$"
    ),
    "javascript": NamePattern(r"^fs(/promises)?(\.promises)?\.readFile(Sync)?$"),
    "go": NamePattern(r"^(os\.(ReadFile|Open)|io/ioutil\.ReadFile)$"),
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": NamePattern(
        r"^(System\.IO\.)?File\.(ReadAll\w+|ReadLines\w*|OpenRead|OpenText|Open)$|^(StreamReader|FileStream)$"
    ),
    "rust": NamePattern(r"^((std|tokio)\.)?fs\.(read|read_to_string|File\.open)$"),
}
"""Calls that read a file."""
_PARSES = lazy_regex(
    r"^(parse\w*|Parse\w*|(?:\w+_)?loads?|safe_load|decode\w*|Decode\w*|[uU]nmarshal\w*|Deserialize\w*|deserialize\w*|NewDecoder"
    r"|from_(?:str|slice|reader|bytes|json|csv|utf8)|[fF]romBytes|FromJson|fromJson|readValue|readTree|DictReader|reader|NewReader"
    r"|from_reader|CsvReader|CSVReader|To\w*Dictionary|ToLookup|toMap|associate\w*|groupBy|GroupBy|readCsv|fromCsv|to_dict)$"
)
_TABLES = lazy_regex(
    r"pandas\.|numpy\.|[cC]sv|CSV|DictReader|Lines|lines|To\w*Dictionary|ToLookup|associate|toMap|groupBy"
)
"""Calls that make a table of a file with many lines."""
_LOADERS = NamePattern(
    r"(^|\.)JWKSet\.load$|(^|\.)JwkProviderBuilder\b.*\.build$|(^|\.)UrlJwkProvider$|(^|\.)JwtDecoders\.from\w+$"
    r"|(^|\.)NimbusJwtDecoder\.with\w+\(\).*\.build$|/keyfunc(/v\d+)?\.(Get|New\w+)$|/jwk\.Fetch$|/oidc\.NewProvider$"
    r"|(^|\.)Issuer\.discover$|^openid-client\.discovery$|(^|\.)OpenIdConnectConfigurationRetriever\.GetAsync$"
    r"|(^|/)(geoip2|maxminddb)(-golang)?\.(Open|FromBytes)$|^(geoip2\.database\.Reader|maxminddb\.(open_database|Reader\.\w+))$"
    r"|^(@maxmind/geoip2-node\.Reader|maxmind)\.open$|(^|\.)DatabaseReader(\.Builder\b.*\.build)?$"
    r"|(^|\.)(from_pretrained|load_from_checkpoint|loadLayersModel|loadGraphModel|commit_from_file)$"
    r"|(^|\.)InferenceSession(\.create)?$|(^|\.)OrtEnvironment\b.*\.createSession$|(^|\.)Model\.Load$"
    r"|^[a-z]\w*\.(?:\w+\.)*\w*(?:Translator|Tokenizer|Recognizer|Classifier|Embedder|Transcriber|WhisperModel|Llama|Detector|SentencePieceProcessor)$"
)
"""What loads the keys of an issuer, a database of addresses or a model, by itself."""
_KEEPS = lazy_regex(
    r"(?<!no-)(?<!no_)cache|lazy|\bonce\b|singleton|\?\?=|\|\|=|get_or_init|mtime|modified|ModTime|reload|refresh"
    r"|computeIfAbsent|setdefault|hasattr|(?:\b(?:self|this)\.|(?<![\w.])_)\w+\s*(?:is\b|[!=]==?\s*(?:null|nil|None|undefined)\b)"
    r"|\.(?:Store|Swap|LoadOrStore)\(",
    re.IGNORECASE,
)
_MISSING = lazy_regex(r"(\w+)(?:\s+is\s+(?:not\s+)?(?:None|null)|\s*[!=]==?\s*(?:null|nil|undefined))\b")
_WRITES = (
    "write_text", "write_bytes", "writeFile", "writeFileSync", "WriteFile", "WriteAllText", "WriteAllLines",
    "WriteAllTextAsync", "WriteAllBytes", "writeString", "writeText", "dump", "Rename", "rename",
    "renameSync", "Create", "OpenWrite", "CreateText", "move", "Move", "appendFile", "appendFileSync",
)  # fmt: skip
"""A file that the text itself writes is a store, and changes."""
_METHODS = (
    "open", "read_text", "read_bytes", "read_csv", "read_excel", "read_json", "read_parquet", "loadtxt",
    "load", "readFile", "readFileSync", "ReadFile", "Open", "readAllLines", "readString", "readAllBytes",
    "lines",
    "newBufferedReader", "newInputStream", "FileInputStream", "FileReader", "getResourceAsStream", "readText",
    "readLines", "readBytes", "inputStream", "bufferedReader", "useLines", "forEachLine", "ReadAllText",
    "ReadAllLines", "ReadAllBytes", "ReadAllTextAsync", "ReadAllLinesAsync", "ReadAllBytesAsync", "ReadLines",
    "ReadLinesAsync", "OpenRead", "OpenText", "StreamReader", "FileStream", "read", "read_to_string", "build",
    "UrlJwkProvider", "fromIssuerLocation", "fromOidcIssuerLocation", "Get", "New", "NewDefault",
    "NewDefaultCtx", "Fetch", "NewProvider", "discover", "discovery", "GetAsync", "FromBytes", "Reader",
    "open_database", "open_readfile", "DatabaseReader", "from_pretrained", "load_from_checkpoint",
    "loadLayersModel",
    "loadGraphModel", "commit_from_file", "InferenceSession", "create", "createSession", "Load",
)  # fmt: skip
"""The last parts of the names of most calls that are looked at."""
_MODELS = (
    b"translator", b"tokenizer", b"recognizer", b"classifier", b"embedder", b"transcriber", b"whispermodel",
    b"llama", b"detector", b"sentencepieceprocessor",
)  # fmt: skip


def _check(facts: Facts) -> Iterator[Hit]:
    reads = _READS.get(facts.syntax.language.family)
    shown = set[Scope | None]()
    found = facts.calls_of_method(*_METHODS)
    if facts.syntax.has_any(*_MODELS):
        found = (*found, *(each for each in facts.calls if each.constructs))
    for call in found:
        loads = _LOADERS.search(call.name) is not None and bool(call.arguments)
        if not loads and (reads is None or not reads.match(call.name)):
            continue
        scope = facts.named_function_of(call) or facts.function_of(call)
        if call.is_decorator or scope in shown or scope is None:
            continue
        place = call if loads else _parsed(call, scope, facts)
        if place is None or (not loads and facts.calls_of_method(*_WRITES)):
            continue
        if (often := _how_often(call, scope, loads, facts)) and _is_same(call, facts):
            shown.add(scope)
            sure = loads or makes_object(scope) or _LOADERS.search(place.name)
            sure = sure or _TABLES.search(f"{call.name} {place.name}")
            what = f"{call.written}() loads the same data again {often}"
            yield Hit(place.span, what, LIKELY if sure else POSSIBLE)


def _how_often(call: Call, scope: Scope, loads: bool, facts: Facts) -> str:
    """Return when the function around a call runs, as a clause; empty if that is once or not known."""
    if makes_object(scope):
        owner = scope.owner.rpartition(".")[2]
        # A static constructor runs once.
        is_short = is_made_per_request(owner, facts) and "static " not in facts.text(scope.head)
        return f"for each {owner}, which is made for each request or message" if is_short else ""
    if _keeps(call, scope, facts):
        return ""
    if loads and call.is_returned and (used := read_of_property(scope, facts)) is not None:
        return f"at each use of {used.receiver_written}"
    if frequency_of(call, facts) != "request":
        return ""
    # What a handler answers with may be the file itself.
    return "" if scope.route is not None and not loads and _is_answer(call, facts) else "for each request"


def _keeps(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether what is loaded is kept: in a field, or by the words of a function or its callers."""
    if any("." in name or "[" in name for name in call.assigned) or (runs_once(scope) and not scope.route):
        return True
    users = [facts.named_function_of(each) for each in facts.callers_of(scope)]
    around = [scope, *(each for each in users if each is not None and each.route is None)]
    if any(_KEEPS.search(facts.text(each.span)) for each in around):
        return True
    names = {name for each in (call, *facts.calls_around(call)) for name in each.assigned} - {"err", "_"}
    # `if (keys == null) keys = load()`; to ask whether it could be loaded is another thing.
    asked = _MISSING.finditer(facts.text(Span(scope.body.start, call.span.start)))
    if any(found[1] in names for found in asked):
        return True
    return any(
        each.value is not None and each.value.text in names and "." in each.targets[0]
        for each in facts.own(facts.assignments, scope)
    )


def _parsed(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the call that makes a table or tree of what is read: the read itself, if they are one chain."""
    if any(_PARSES.match(each.method) for each in facts.calls_around(call)):
        return call
    ends, seen = [call], list[Call]()
    while ends and len(seen) < 12:
        end = ends.pop()
        seen.append(end)
        ends += [each for each in facts.calls_on(end) if each not in seen]
    if any(_PARSES.match(each.method) for each in seen[1:]):
        return call
    names = {
        name for each in (*seen, *facts.calls_around(call)) for name in each.assigned if name.isidentifier()
    }
    names -= {"_", "err"}
    for each in facts.within(facts.calls, scope.body):
        if _PARSES.match(each.method) and any(
            not names.isdisjoint(re.findall(r"\w+", one.value.text[:200])) for one in each.arguments
        ):
            return each
    return None


def _is_answer(call: Call, facts: Facts) -> bool:
    return call.is_returned or any(each.is_returned for each in facts.calls_around(call))


_CONTEXT = lazy_regex(
    r"^(?:ctx|ct|cancellationToken|stoppingToken|context\.\w+\(\))$|\.(?:Context|UserContext)\(\)$"
)


def _is_same(call: Call, facts: Facts) -> bool:
    """Return whether a call is given the same each time, and so is the object that it is called on."""
    given = [each.value.text[:400] for each in call.arguments if not _CONTEXT.search(each.value.text)]
    return all(is_fixed(each, call, facts) for each in given) and (
        not call.receiver_written.isidentifier()
        or call.origin is not None
        or is_fixed(call.receiver_written, call, facts)
    )


RULE = Rule(
    id="FK-P041",
    slug="loaded-each-time",
    title="Same data loaded for each request",
    why="Each request waits for the disk, a peer or a parser, and fills memory with one more copy of what "
    "was known already.",
    fix="Load it once, when the process starts, share it, and load it again only when it has changed.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"open",
        b"Open",
        b"read",
        b"Read",
        b"fs.",
        b"fs::",
        b"JWK",
        b"jwk",
        b"Jwt",
        b"Jwk",
        b"oidc",
        b"openid",
        b"discover",
        b"load",
        b"Load",
        b"from_pretrained",
        b"InferenceSession",
        b"createSession",
        b"Translator",
        b"Tokenizer",
        b"Recognizer",
        b"Classifier",
        b"Embedder",
        b"Transcriber",
        b"Whisper",
        b"Llama",
        b"Detector",
        b"SentencePiece",
        b"commit_from_file",
        b"keyfunc",
    ),
)
