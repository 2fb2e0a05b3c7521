"""Code as text with a shape: languages, syntax trees, functions. Pure, but for `file` and those that use it.

Nothing here judges code, knows a rule or talks to a model.
"""

from faultkit.code.extract import Extract, extract, function_names
from faultkit.code.file import SourceFile, local_path, read_source
from faultkit.code.function import Function
from faultkit.code.functions import list_functions
from faultkit.code.languages import LANGUAGES, Language, known_language_of, language_named, language_of
from faultkit.code.names import find_function
from faultkit.code.snippet import Snippet, parse_snippet
from faultkit.code.syntax import Node, Span, Syntax, parse, walk

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
