"""The options that say where the audit log is kept; the same for whoever writes it and whoever reads it."""

from __future__ import annotations

import os
from typing import Any

import click

_USUAL = "By default audit.db in the user's folder for state."


def store_option(command: Any) -> Any:
    where = "a file, postgresql://USER@HOST/DATABASE, or memory: for as long as the process lives"
    return _option(f"Where the audit log is kept: {where}. {_USUAL}")(command)


def kept_store_option(command: Any) -> Any:
    """For those who come when the process that wrote it may be gone."""
    return _option(f"Where the audit log is kept: a file, or postgresql://USER@HOST/DATABASE. {_USUAL}")(
        command
    )


def _option(help: str) -> Any:
    return click.option("--store", metavar="PATH|URL", envvar="FAULT_STORE", default=_default, help=help)


def _default() -> str:
    from faultkit.audit.place import default_store

    return str(default_store(os.environ))
