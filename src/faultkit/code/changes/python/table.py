"""The codemods for Python, in the order in which those of equal severity are tried. Imports libcst."""

from __future__ import annotations

from faultkit.code.changes.change import Codemod
from faultkit.code.changes.python import (
    blocking_calls,
    cache_size,
    context_managers,
    error_mapping,
    exit_status,
    fan_out,
    http_timeout,
    line_by_line,
    monotonic,
    mutable_default,
    queue_size,
    retry,
    retry_bounds,
    shared_client,
    socket_timeout,
    status_check,
    subprocess_timeout,
)

PYTHON: tuple[Codemod, ...] = (
    http_timeout.CODEMOD,
    shared_client.CODEMOD,
    socket_timeout.CODEMOD,
    subprocess_timeout.CODEMOD,
    status_check.CODEMOD,
    retry.CODEMOD,
    retry_bounds.CODEMOD,
    error_mapping.CODEMOD,
    context_managers.CODEMOD,
    exit_status.CODEMOD,
    queue_size.CODEMOD,
    cache_size.CODEMOD,
    fan_out.CODEMOD,
    mutable_default.CODEMOD,
    monotonic.CODEMOD,
    line_by_line.CODEMOD,
    blocking_calls.CODEMOD,
)
