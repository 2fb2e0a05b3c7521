"""Numbers, choices and addresses out of the metadata of a fault, with errors that name the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.base.address import Endpoint, parse_endpoint
from faultkit.base.documents.shape import reject_unknown_keys, shown
from faultkit.base.errors import InputError


def known_only(metadata: Mapping[str, object], keys: Sequence[str]) -> None:
    reject_unknown_keys(metadata, keys, "metadata")


def choice(metadata: Mapping[str, object], key: str, usual: str, choices: Sequence[str]) -> str:
    value = metadata.get(key, usual)
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"metadata.{key}", f"expected one of {', '.join(choices)}, got {shown(value)}")
    return value


def text(metadata: Mapping[str, object], key: str, expected: str) -> str | None:
    value = metadata.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise InputError(f"metadata.{key}", f"expected {expected}, got {shown(value)}")
    return value


def number(value: object, path: str, least: float, most: float, *, whole: bool = False) -> float:
    """True is no number, and neither is "1"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        # NaN is neither above nor below anything.
        fits = least <= value <= most and (not whole or value == int(value))
        if fits:
            return value
    kind = "a whole number" if whole else "a number"
    raise InputError(path, f"expected {kind} from {least:g} to {most:g}, got {shown(value)}")


def endpoints(targets: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Each target as HOST:PORT."""
    found = []
    for index, target in enumerate(targets):
        path = f"targets[{index}]"
        endpoint = parse_endpoint(target, path=path)
        if endpoint.port == 0:
            raise InputError(path, f'expected a port from 1 to 65535, got "{target}"')
        found.append(endpoint)
    return tuple(found)
