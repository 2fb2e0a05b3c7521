"""Languages of which no facts are known: routes by attributes, calls by words. The answer says so."""

from __future__ import annotations

import re

from faultkit.code.function import Function
from faultkit.code.functions import list_functions
from faultkit.code.names import find_function
from faultkit.code.slos.entry import JOB_NAMES
from faultkit.code.slos.work import Dependency, Entry, Work, WorkKind
from faultkit.code.syntax import Span, Syntax

_ROUTE = re.compile(
    r"(?:Http)?(get|post|put|patch|delete|route)(?:Mapping)?\s*\(\s*(?:path\s*=\s*|value\s*=\s*)?[\"'](/?[^\"']*)",
    re.IGNORECASE,
)
_BARE_ROUTE = re.compile(r"\[Http(Get|Post|Put|Patch|Delete)\]|@(Get|Post|Put|Patch|Delete)Mapping\b")
_JOB = re.compile(r"@?(Scheduled|Cron|KafkaListener|RabbitListener)\b")
_COMMENT = re.compile(r"^\s*(//|#(?!\[)|/?\*|--).*$")
_WORDS: tuple[tuple[WorkKind, re.Pattern[str]], ...] = (
    (
        "request",
        re.compile(
            r"\b(reqwest|hyper|ureq|HttpClient|WebClient|Net::HTTP|Faraday|HTTParty|RestClient|curl_exec|Guzzle"
            r"|URLSession|Alamofire|OkHttp\w*|okhttp\w*|ktor|sttp|RestTemplate|curl_easy_perform|file_get_contents)\b"
            r"|\b(curl|wget)\s+-?[\w\"']|\bHttp::(get|post|put|patch|delete)\b|\.(GetAsync|PostAsync|SendAsync|GetStringAsync)\b"
        ),
    ),
    (
        "query",
        re.compile(
            r"\b(sqlx|diesel|ActiveRecord|DbContext|PDO|mysqli|JdbcTemplate|Exposed|slick|doobie|sqlite3_\w+|PQexec)\b"
            r"|[\"'`]\s*(SELECT|INSERT|UPDATE|DELETE)\s|\b(psql|mysql)\s+-"
            r"|\.(find_by|where|SaveChangesAsync|FindAsync|ToListAsync|fetch_one|fetch_all)\b"
        ),
    ),
    ("cache", re.compile(r"\b(redis|Redis|memcached?|Memcached?)\b")),
    (
        "program",
        re.compile(r"\b(Command::new|Process\.Start|shell_exec|proc_open|Open3|posix_spawn|popen)\b"),
    ),
    (
        "file",
        re.compile(
            r"\b(File::open|std::fs|fopen|ifstream|ofstream|File\.(read|open|write)\w*|FileManager)\b"
        ),
    ),
)


def work_of_words(syntax: Syntax, function: str, shift: int) -> Work:
    functions = list_functions(syntax)
    chosen = find_function(functions, function) if function else _first(functions)
    span = chosen.full if chosen is not None else Span(shift, len(syntax.source))
    found = list[Dependency]()
    for line in range(syntax.line(span.start), syntax.line(max(span.start, span.end - 1)) + 1):
        text = syntax.line_text(line)
        kind = None if _COMMENT.match(text) else _kind(text)
        if kind is not None:
            word = kind[1].strip(" .\"'`").split(" ")[0]
            found.append(Dependency(kind[0], word, line))
    entry = Entry("function", "") if chosen is None else _entry(chosen)
    return Work(
        entry=entry,
        dependencies=tuple(found),
        takes_input=_takes_input(entry),
        others=max(len(functions) - 1, 0),
        unread=syntax.language.title,
    )


def _first(functions: tuple[Function, ...]) -> Function | None:
    routes = [each for each in functions if _entry(each).is_http]
    return next(iter((*routes, *functions)), None)


def _entry(function: Function) -> Entry:
    name, line = function.qualified_name.removeprefix("_."), function.line
    marks = " ".join(function.decorators)
    if found := _ROUTE.search(marks):
        method = "ANY" if found[1].lower() == "route" else found[1].upper()
        return Entry("request", name, method, f"/{found[2].lstrip('/')}", line=line)
    if found := _BARE_ROUTE.search(marks):
        return Entry("request", name, (found[1] or found[2]).upper(), line=line)
    if found := _JOB.search(marks):
        return Entry("message" if "Listener" in found[1] else "job", name, line=line)
    return Entry("job" if JOB_NAMES.search(function.name) else "function", name, line=line)


def _takes_input(entry: Entry) -> bool:
    return entry.method in ("POST", "PUT", "PATCH") or any(each in entry.path for each in "{<:*")


def _kind(line: str) -> tuple[WorkKind, str] | None:
    for kind, words in _WORDS:
        if found := words.search(line):
            return kind, found[0]
    return None
