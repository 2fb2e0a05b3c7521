"""Reads of names and paths as a sequence, each of which is made when it is looked at.

A text has more reads than anything else, and rules look at few of them: at those in a loop, in a handler of
errors, in what is logged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from faultkit.code.facts.collected import RawAccess
from faultkit.code.facts.fact_values import Access
from faultkit.code.languages.syntax import Span

READ_BY_VALUE = frozenset(
    {
        "pair", "keyword_argument", "default_parameter", "typed_default_parameter", "let_declaration",
        "let_condition", "for_expression",
    }
)  # fmt: skip
"""Node types whose names are not read, while their values are."""
NOT_READ = frozenset(
    (
        "function_definition", "parameters", "default_parameter", "typed_parameter",
        "typed_default_parameter", "dotted_name", "aliased_import", "keyword_argument",
        "lambda_parameters", "class_definition", "global_statement", "formal_parameters",
        "required_parameter", "optional_parameter", "formal_parameter", "import_specifier",
        "import_clause", "namespace_import", "class_declaration", "method_definition",
        "method_declaration", "function_declaration", "variable_declarator", "method_invocation",
        "import_spec", "package_clause", "scoped_identifier", "parameter_declaration", "pair",
        "type_annotation", "type", "let_declaration", "let_condition", "for_expression", "function_item",
        "tuple_struct_pattern", "tuple_pattern", "parameter", "closure_parameters", "use_list",
        "use_as_clause", "use_declaration", "field_pattern", "struct_item", "variable_declaration",
    )
)  # fmt: skip
"""Node types whose names are not read."""


class Reads(Sequence[Access]):
    """The reads of a text, in its order."""

    def __init__(self, raw: Sequence[RawAccess], make: Callable[[RawAccess], Access]) -> None:
        self._raw = raw
        self._make = make
        self._made: dict[int, Access] = {}

    def __len__(self) -> int:
        return len(self._raw)

    def within(self, span: Span) -> Iterator[Access]:
        """Yield the reads inside a span; others are not made."""
        first = bisect_left(self._raw, span.start, key=_start)
        for place in range(first, len(self._raw)):
            node = self._raw[place][0]
            if node.start_byte >= span.end:
                return
            if node.end_byte <= span.end:
                yield self[place]

    def where(self, may_be: Callable[[int, int], bool]) -> Iterator[Access]:
        """Yield the reads whose first and last byte pass a test; others are not made."""
        for place, (node, _, _) in enumerate(self._raw):
            if may_be(node.start_byte, node.end_byte):
                yield self[place]

    @overload
    def __getitem__(self, place: int) -> Access: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Access]: ...
    def __getitem__(self, place: int | slice) -> Access | Sequence[Access]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self._raw)))]
        made = self._made.get(place)
        if made is None:
            made = self._made[place] = self._make(self._raw[place])
        return made


def _start(raw: RawAccess) -> int:
    return raw[0].start_byte
