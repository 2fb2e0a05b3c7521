"""The option that says where the audit log is kept; the same for whoever writes it and whoever reads it."""

from __future__ import annotations

import os
from typing import Any

import click


def store_option(command: Any) -> Any:
    return click.option(
        "--store",
        metavar="PATH|URL",
        envvar="FAULT_STORE",
        default=_default,
        help="Where the audit log is kept: a file, postgresql://USER@HOST/DATABASE, or memory: for as long "
        "as the process lives. By default audit.db in the user's folder for state.",
    )(command)


def _default() -> str:
    from faultkit.store.place import default_store

    return str(default_store(os.environ))
