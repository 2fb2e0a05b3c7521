"""The names of faults and settings on the command line and in the environment.

Derived from the fault's kind and the setting's name, unless the class declares others (`Fault.flag`,
`Fault.env`, `Setting.flag`, `Setting.env`).
"""

from __future__ import annotations

from faultkit.faults.fault import Fault

_UNIT_SUFFIXES = ("_ms", "_us", "_s", "_hz", "_bytes")


def flag_name(fault: type[Fault]) -> str:
    """Return the command-line name of a fault: `packet-loss` in `--with-packet-loss`."""
    return fault.flag or fault.kind.replace("_", "-")


def setting_flag(fault: type[Fault], name: str) -> str:
    """Return the command-line name of one setting below the fault's: `mean` in `--latency-mean`, for
    `mean_ms`."""
    own = fault.settings()[name].flag
    if own is not None:
        return own
    stem = next((name.removesuffix(suffix) for suffix in _UNIT_SUFFIXES if name.endswith(suffix)), name)
    return stem.replace("_", "-")


def env_name(fault: type[Fault]) -> str:
    """Return the stem of a fault's environment variables: `FAULT_LATENCY`."""
    return fault.env or "FAULT_" + flag_name(fault).replace("-", "_").upper()


def setting_env(fault: type[Fault], name: str) -> str:
    """Return the environment variable of one setting."""
    own = fault.settings()[name].env
    return own or f"{env_name(fault)}_{setting_flag(fault, name).replace('-', '_').upper()}"
