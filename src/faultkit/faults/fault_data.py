"""Faults from and to plain data, with errors that name the field.

It does not know where the data was written (YAML, flags, a tool call): the caller adds the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.faults import FAULTS
from faultkit.faults.fault import Fault
from faultkit.faults.fault_settings import plain, schema_of


def fault_type(kind: str) -> type[Fault]:
    """Return the class of a kind. The error has no path: the caller knows where the kind was written."""
    if kind not in FAULTS:
        raise InputError("", f"unknown fault {kind!r}{_guess(kind, FAULTS)} (`fault faults` lists them all)")
    return FAULTS[kind]


def parse_fault(kind: str, settings: Mapping[str, object]) -> Fault:
    """Return the fault of this kind. Errors about a setting have its name as their path."""
    cls = fault_type(kind)
    names = cls.settings()
    for name in settings:
        if name not in names:
            known = ", ".join(names) or "none"
            problem = f"unknown setting of {kind} {name!r}{_guess(name, names)} (known: {known})"
            raise InputError(str(name), problem)
    try:
        return cls(**settings)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        if name not in names:
            raise InputError("", str(error)) from error
        raise InputError(name, problem) from error


def dump_fault(fault: Fault) -> dict[str, object]:
    """Return the settings that differ from the defaults; `parse_fault` accepts them."""
    return {f.name: plain(value) for f in fields(fault) if (value := getattr(fault, f.name)) != f.default}


def fault_schema(cls: type[Fault]) -> dict[str, object]:
    """Return the JSON Schema of the settings."""
    facts, types = cls.settings(), cls.types()
    return {
        "type": "object",
        "title": cls.kind,
        "description": cls.summary,
        "properties": {f.name: schema_of(types[f.name], facts[f.name], f.default) for f in fields(cls)},
        "additionalProperties": False,
    }


def _guess(name: object, known: Iterable[str]) -> str:
    return did_you_mean(str(name).replace("-", "_"), known, "'")
