"""Code of users: languages, syntax trees and functions; facts, rules, changes, index, advice, SLOs and proof.

This level lists and finds functions. It is pure except for `source_file` and `walk`, which read files, and
it knows no rule and no language model.
"""

from faultkit.code.functions import Function, find_function, list_functions
from faultkit.code.languages import LANGUAGES, Language, known_language_of, language_named, language_of
from faultkit.code.languages.syntax import Node, Snippet, Span, Syntax, parse, parse_snippet, walk
from faultkit.code.source_files import Extract, SourceFile, extract, function_names, local_path, read_source

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
