"""Two questions about a file: which functions are in it, and what does one of them look like."""

from __future__ import annotations

import os
from typing import TypedDict

from faultkit.base.errors import InputError
from faultkit.code.file import read_source
from faultkit.code.functions import list_functions
from faultkit.code.names import find_function


class Extract(TypedDict):
    full: str
    """The whole block, decorators and signature included, exactly as in the file."""
    body: str
    """The same without the signature."""


def function_names(path: str | os.PathLike[str]) -> list[str]:
    """Qualified names in the order of the file. An overloaded name is there as often as it is written."""
    return [each.qualified_name for each in list_functions(read_source(path).parse())]


def extract(path: str | os.PathLike[str], name: str) -> Extract:
    """One function, by its qualified name, the end of it, or `name:LINE`."""
    file = read_source(path)
    syntax = file.parse()
    try:
        found = find_function(list_functions(syntax), name)
    except InputError as error:
        raise InputError(f"{file.path}: {error.path}", error.problem) from None
    return {"full": syntax.text(found.full), "body": syntax.text(found.body)}
