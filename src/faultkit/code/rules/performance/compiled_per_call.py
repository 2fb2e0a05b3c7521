"""Finds patterns and templates that are compiled again in every call.

Evidence that it matters: a loop over data makes it anew in each round; or what is made for each request or
message takes long by its nature, such as a model or a browser. The rest costs little: `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.data_sizes import is_few, is_over_data
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_static, runs_once

_PATTERNS = frozenset(
    (
        "re.compile", "regexp.MustCompile", "regexp.Compile", "java.util.regex.Pattern.compile",
        "Pattern.compile", "RegExp", "regexp.MatchString", "regex.Regex.new",
        "regex.bytes.Regex.new", "Regex", "System.Text.RegularExpressions.Regex", "kotlin.text.Regex",
    )
)  # fmt: skip
_TEMPLATES = frozenset(
    (
        "jinja2.Template", "jinja2.Environment", "html/template.ParseFiles",
        "text/template.ParseFiles", "html/template.ParseGlob", "mako.template.Template",
        "handlebars.compile", "Handlebars.compile", "ejs.compile", "pug.compileFile", "ajv.compile", "ajv",
        "jsonschema.Draft7Validator",
        "com.fasterxml.jackson.databind.ObjectMapper", "ObjectMapper",
        "com.fasterxml.jackson.module.kotlin.jacksonObjectMapper", "jacksonObjectMapper",
        "Intl.NumberFormat", "Intl.DateTimeFormat", "Intl.Collator", "java.text.SimpleDateFormat",
        "java.text.DecimalFormat", "java.time.format.DateTimeFormatter.ofPattern",
        "joblib.load", "torch.load", "torch.jit.load", "spacy.load", "transformers.pipeline",
        "tensorflow.keras.models.load_model", "keras.models.load_model", "onnxruntime.InferenceSession",
        "sentence_transformers.SentenceTransformer", "jwt.PyJWKClient", "jwks-rsa", "jwks-rsa.default",
        "jose.createRemoteJWKSet", "puppeteer.launch", "puppeteer.default.launch",
        "playwright.chromium.launch",
        "jakarta.xml.bind.JAXBContext.newInstance", "javax.xml.bind.JAXBContext.newInstance",
        "jakarta.validation.Validation.buildDefaultValidatorFactory", "XmlSerializer", "MapperConfiguration",
        "github.com/go-playground/validator/v10.New", "tera.Tera.new", "handlebars.Handlebars.new",
        "com.google.gson.Gson", "JsonSerializerOptions", "System.Text.Json.JsonSerializerOptions",
    )
)  # fmt: skip

_SLOW = lazy_regex(
    r"^(joblib|torch|spacy|transformers|tensorflow|keras|onnxruntime|sentence_transformers|puppeteer|playwright)\."
    r"|\.Tera\.new$|\.Parse(Files|Glob)$|JWKClient$|^jwks-rsa|RemoteJWKSet$|JAXBContext|ValidatorFactory$|MapperConfiguration$"
)
"""What takes many milliseconds to make."""
_FORMATS = lazy_regex(r"^Intl\.|Format$|Formatter\.ofPattern$")
_CODECS = frozenset(("ObjectMapper", "jacksonObjectMapper", "Gson", "JsonSerializerOptions"))
_CODES = lazy_regex(r"(read|write|to|from|convert|Serialize|Deserialize)\w*$", re.IGNORECASE)
_OF_A_VALUE = lazy_regex(
    r"_?(is|has|valid|check|match|extract|normali[sz]e|sanitize|clean|strip|replace|slug|escape|mask|redact|count"
    r"|tokenize|parse|find)(?=_|[A-Z]|$)|[iI]s[A-Z]|(Valid|Check|Match|Extract|Normali[sz]e|Sanitize|Clean|Strip|Slug"
    r"|Mask|Redact|Tokenize|Parse)",
)
"""Functions that are called for one value, and so for many: `IsEmail(text)`."""
_BY_HAND = lazy_regex(
    r"(Command|Operation|DatabaseUtils?|Wizard|Dialog|Importer|Registry|Connection\w*|Installer|Login\w*)$"
)
"""Names of classes whose methods run when a user does something, and not for each value."""
_SHORT_LINES = 6
_OF_SETTINGS = lazy_regex(r"config|option|opts|setting|flag|resolver", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    seen: set[Scope | None] = set()
    for call in facts.calls:
        if call.name in _PATTERNS:
            # A table of patterns is one finding.
            scope = facts.named_function_of(call)
            hits = () if scope in seen else tuple(_pattern(call, facts))
            seen.update([scope] if hits else [])
            yield from hits
        elif (
            call.name in _TEMPLATES
            and not call.is_returned
            and not any("." in name for name in call.assigned)
            and (_is_repeated(call, facts) or _is_codec_of_a_call(call, facts))
        ):
            sure = LIKELY if _is_costly(call, facts) else POSSIBLE
            yield Hit(call.span, f"{call.written}() is made anew each time", sure)


def _is_costly(call: Call, facts: Facts) -> bool:
    """Return whether it runs for each item of some data, or takes long by its nature."""
    if _SLOW.search(call.name) is not None:
        return True
    scope = facts.named_function_of(call)
    places = [call, *(() if scope is None or runs_once(scope) else facts.callers_of(scope))]
    loops = [loop for place in places for loop in facts.loops_around(place)]
    return any(is_over_data(loop, facts) or _RECEIVES.search(facts.text(loop.head)) for loop in loops)


_RECEIVES = lazy_regex(r"\.(recv|next|readLine|Scan|poll|take|receive)\(")


def _is_repeated(call: Call, facts: Facts) -> bool:
    """Return whether it runs for each request or item; a format is cheap enough for a request."""
    if _FORMATS.search(call.name):
        return any(is_over_data(loop, facts) for loop in facts.loops_around(call))
    return frequency_of(call, facts) is not None


def _is_codec_of_a_call(call: Call, facts: Facts) -> bool:
    """Return whether a method with arguments makes a codec, which learns each type anew, and drops it."""
    scope = facts.named_function_of(call)
    if call.method not in _CODECS or scope is None or not scope.parameters or runs_once(scope):
        return False
    if scope is not facts.function_of(call) or _BY_HAND.search(scope.owner):
        return False
    made = [call]
    for _ in range(6):  # new ObjectMapper().registerModule(…).configure(…)
        uses = [each for one in made for each in facts.calls_on(one)]
        if any(_CODES.match(each.method) for each in uses):
            return True
        if any("." in name for each in uses for name in each.assigned):
            return False
        made = uses
    return any(
        _CODES.match(each.method) and argument.value.text in call.assigned
        for each in facts.within(facts.calls, scope.body)
        for argument in each.arguments
    )


def _pattern(call: Call, facts: Facts) -> Iterator[Hit]:
    first, scope = call.argument(place=0), facts.named_function_of(call) or facts.function_of(call)
    if first is None or scope is None or call.is_returned:
        return
    if first.value.shape != "text" and not _is_constant(first.value.text, call, facts):
        return
    if any("." in name for name in call.assigned) or _is_global(call, facts) or is_static(call, facts):
        return
    loops = [loop for loop in facts.loops_around(call) if not is_few(loop.over)]
    if loops and _OF_SETTINGS.search(scope.short_name):
        return
    what = f"{call.written}() compiles the same pattern each time"
    if facts.language == "python":
        # Python keeps the last few hundred patterns, so it is a look-up and not a compilation.
        mild: Severity = "low"
        if loops:
            yield Hit(call.span, what, POSSIBLE, mild)
    elif facts.language in ("go", "java", "rust", "csharp", "kotlin"):
        if loops or frequency_of(call, facts) or _is_in_iterator(call, facts):
            is_costly = _is_costly(call, facts) or _is_in_iterator(call, facts)
            yield Hit(call.span, what, LIKELY if is_costly else POSSIBLE)
        elif (
            _OF_SETTINGS.search(scope.short_name) is None
            and _is_of_a_value(scope, facts)
            and scope.parameters
            and not runs_once(scope)
        ):
            yield Hit(call.span, what, POSSIBLE)
    elif loops:
        yield Hit(call.span, what, LIKELY if _is_costly(call, facts) else POSSIBLE)


_ITERATES = frozenset(
    ("map", "filter", "filter_map", "flat_map", "for_each", "any", "all", "find", "position")
)


def _is_in_iterator(call: Call, facts: Facts) -> bool:
    """Return whether a closure runs for each item of an iterator (Rust): `lines.iter().filter(|line| …)`."""
    return facts.language == "rust" and any(
        each.method in _ITERATES and re.search(r"iter\(\)|lines\(\)", each.name)
        for each in facts.calls_around(call)
    )


_CONSTANT = lazy_regex(r"&?(?:\w+(?:\.|::))*[A-Z][A-Z0-9_]*[A-Z0-9](?:\.iter\(\)|\.\w+)?")


def _is_constant(given: str, call: Call, facts: Facts) -> bool:
    """Return whether a pattern is a constant of the program, or an item of a table of constants."""
    if facts.language in ("python", "javascript", "typescript", "tsx"):
        return False
    if _CONSTANT.fullmatch(given):
        return True
    return any(
        _CONSTANT.fullmatch(loop.over.strip())
        and any(given.lstrip("&*") in re.findall(r"\w+", target) for target in loop.targets)
        for loop in facts.loops_around(call)
    )


def _is_of_a_value(scope: Scope, facts: Facts) -> bool:
    """Return whether it is called for each of many values: by its name, or it is short and takes a text."""
    if _OF_A_VALUE.match(scope.short_name):
        return True
    takes_text = (
        len(scope.parameters) == 1 and scope.parameters[0].type.rpartition(".")[2].lower() == "string"
    )
    return takes_text and facts.text(scope.body).count("\n") <= _SHORT_LINES


def _is_global(call: Call, facts: Facts) -> bool:
    scope = facts.function_of(call)
    if scope is None:
        return True
    return (
        not facts.file_names.isdisjoint(call.assigned)
        and re.search(r"\bglobal\b", facts.text(scope.body)) is not None
    )


RULE = Rule(
    id="FK-P018",
    slug="compiled-per-call",
    title="Pattern or template compiled each time",
    why="Compiling takes many times as long as using it, and it is the same each time.",
    fix="Compile it once, at the top of the file or when the object is made.",
    kind="performance",
    severity="low",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"compile",
        b"Compile",
        b"RegExp",
        b"MatchString",
        b"egex",
        b"emplate",
        b"jinja2",
        b"ajv",
        b"Validator",
        b"ObjectMapper",
        b"Intl.",
        b"Format",
        b"Gson",
        b"JsonSerializerOptions",
        b"joblib",
        b"torch",
        b"spacy",
        b"pipeline",
        b"load_model",
        b"InferenceSession",
        b"SentenceTransformer",
        b"JWK",
        b"jwks",
        b".launch(",
        b"JAXB",
        b"XmlSerializer",
        b"MapperConfiguration",
        b"Tera::",
        b"andlebars",
    ),
)
