"""Lists of a manifest: each entry parsed with its place in errors, and no name there twice. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from faultkit.base.documents.shape import sequence, shown
from faultkit.base.errors import InputError

T = TypeVar("T")


def each_of(entries: object, what: str, parse: Callable[[object], T]) -> list[T]:
    found = []
    for index, entry in enumerate(sequence(entries, what, what)):
        try:
            found.append(parse(entry))
        except InputError as error:
            raise error.within(f"{what}[{index}]") from None
    return found


def once(names: Iterable[str], what: str, key: str) -> None:
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"{what}[{index}].{key}", f"{shown(name)} is there already, as {what}[{seen[name]}]"
            )
        seen[name] = index
