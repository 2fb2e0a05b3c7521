"""Defects of ours that end a run: the user is told in one line, and the log says where it was.

An error keeps the traceback as a note, since that is what comes through from another process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from faultkit.base.errors import RunError

_log = logging.getLogger(__name__)


@contextmanager
def defects_logged() -> Iterator[None]:
    try:
        yield
    except RunError as error:
        for note in getattr(error, "__notes__", ()):
            _log.error("%s\n%s", error, note)
        raise
