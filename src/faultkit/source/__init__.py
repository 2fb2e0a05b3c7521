"""Code as text with a shape: languages, syntax trees, functions. Pure, but for `file` and those that use it.

Nothing here judges code, knows a rule or talks to a model.
"""

from faultkit.source.extract import Extract, extract, function_names
from faultkit.source.file import SourceFile, local_path, read_source
from faultkit.source.function import Function
from faultkit.source.functions import list_functions
from faultkit.source.languages import LANGUAGES, Language, known_language_of, language_named, language_of
from faultkit.source.names import find_function
from faultkit.source.snippet import Snippet, parse_snippet
from faultkit.source.syntax import Node, Span, Syntax, parse, walk

__all__ = [
    "LANGUAGES",
    "Extract",
    "Function",
    "Language",
    "Node",
    "Snippet",
    "SourceFile",
    "Span",
    "Syntax",
    "extract",
    "find_function",
    "function_names",
    "known_language_of",
    "language_named",
    "language_of",
    "list_functions",
    "local_path",
    "parse",
    "parse_snippet",
    "read_source",
    "walk",
]
