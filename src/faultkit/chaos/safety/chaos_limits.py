"""Limits of chaos: what may be broken, where, and how much of it.

The operator who starts a program sets them, by a limits file or the environment; no tool argument raises one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from ipaddress import ip_address

from faultkit.base.errors import InputError

ENVIRONMENT_VARIABLE = "FAULT_ENVIRONMENT"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of chaos on this machine."""

    environment: str = "local"
    """The environment of this machine: local, staging, production."""
    environments: tuple[str, ...] = ("local", "development", "test", "ci", "staging")
    """The environments in which anything may be broken. Production has to be added explicitly."""
    targets: tuple[str, ...] = ("localhost", "127.0.0.1", "127.*.*.*", "::1", "[[]::1]")
    """Patterns of hosts, or of HOST:PORT. A pattern of numbers matches addresses only, so that the name
    127.0.0.1.example.com does not match 127.*.*.*."""
    most_duration_s: float = 600.0
    """Longest experiment, and longest single effect."""
    most_ttl_s: float = 3600.0
    """Longest time that a fault stays registered, or a rule stays at a proxy."""
    most_memory_bytes: int = 1 << 30
    most_disk_bytes: int = 1 << 30
    most_descriptors: int = 4096
    most_threads: int = 512
    most_cpus: int = 4

    def check_environment(self) -> None:
        """Raise InputError if nothing may be broken in this environment."""
        if self.environment not in self.environments:
            allowed = ", ".join(self.environments)
            raise InputError(
                "environment",
                f'"{self.environment}" is not among those where faults are allowed ({allowed}); '
                "see `fault chaos --help` on limits",
            )

    def check_target(self, host: str, port: int | None = None, path: str = "targets") -> None:
        """Raise InputError if this host, or host and port, may not be broken."""
        shown = host if port is None else f"{host}:{port}"
        fitting = [pattern for pattern in self.targets if _is_address(host) or not _ADDRESSES.match(pattern)]
        if not any(fnmatchcase(each, pattern) for pattern in fitting for each in (host, shown)):
            allowed = ", ".join(self.targets)
            raise InputError(path, f'"{shown}" is not among the targets that may be broken ({allowed})')

    def capped(self, name: str, value: float, path: str) -> float:
        """Return the value. Raises InputError if it is above the limit `name`, a field of this class."""
        most = getattr(self, name)
        if not math.isfinite(value) or value > most:
            raise InputError(path, f"expected at most {most:g}, got {value:g}; only the limits can raise it")
        return value


_ADDRESSES = re.compile(r"[\d.*]*\d[\d.*]*(:[\d*]*)?$")


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


_NUMBERS = tuple(field.name for field in fields(Limits) if field.name.startswith("most_"))


def limits_of(document: object, env: Mapping[str, str], path: str = "limits") -> Limits:
    """Return the limits of a limits file's document; keys that it leaves out have their defaults."""
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise InputError(path, f"expected a mapping, got {type(document).__name__}")
    known = [field.name for field in fields(Limits)]
    values: dict[str, object] = {}
    for key, value in document.items():
        if key not in known:
            raise InputError(f"{path}.{key}", f"expected one of {', '.join(known)}")
        values[key] = _read_value(key, value, f"{path}.{key}")
    if "environment" not in values and ENVIRONMENT_VARIABLE in env:
        values["environment"] = env[ENVIRONMENT_VARIABLE]
    return Limits(**values)  # type: ignore[arg-type]


def _read_value(key: str, value: object, path: str) -> object:
    if key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise InputError(path, f"expected a number from 0, got {value!r}")
        return value
    if key == "environment":
        if not isinstance(value, str) or not value:
            raise InputError(path, f"expected a name, got {value!r}")
        return value
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise InputError(path, f"expected a list of texts, got {value!r}")
    return tuple(value)
