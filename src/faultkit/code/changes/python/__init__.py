"""Codemods for Python, as libcst transformations. No other package of Faultkit imports libcst.

`PYTHON` lists them in the order in which changes of equal severity are tried.
"""

from __future__ import annotations

from faultkit.code.changes.change import Codemod
from faultkit.code.changes.python.blocking_calls import BLOCKING_CALLS
from faultkit.code.changes.python.context_managers import CONTEXT_MANAGERS
from faultkit.code.changes.python.error_handling import ERROR_MAPPING, EXIT_STATUS, STATUS_CHECK
from faultkit.code.changes.python.limits import (
    CACHE_SIZE,
    FAN_OUT,
    HTTP_TIMEOUT,
    QUEUE_SIZE,
    SOCKET_TIMEOUT,
    SUBPROCESS_TIMEOUT,
)
from faultkit.code.changes.python.line_by_line import LINE_BY_LINE
from faultkit.code.changes.python.replacements import MONOTONIC, MUTABLE_DEFAULT
from faultkit.code.changes.python.retries import RETRY, RETRY_BOUNDS
from faultkit.code.changes.python.shared_client import SHARED_CLIENT

PYTHON: tuple[Codemod, ...] = (
    HTTP_TIMEOUT,
    SHARED_CLIENT,
    SOCKET_TIMEOUT,
    SUBPROCESS_TIMEOUT,
    STATUS_CHECK,
    RETRY,
    RETRY_BOUNDS,
    ERROR_MAPPING,
    CONTEXT_MANAGERS,
    EXIT_STATUS,
    QUEUE_SIZE,
    CACHE_SIZE,
    FAN_OUT,
    MUTABLE_DEFAULT,
    MONOTONIC,
    LINE_BY_LINE,
    BLOCKING_CALLS,
)
