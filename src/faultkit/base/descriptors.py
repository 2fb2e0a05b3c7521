"""Open descriptors (sockets, pipes, files): as many as the system allows, and errors for want of them.

A connection through the proxy takes two of them, four with a pipe; the usual limit of 1024 allows a few
hundred connections.
"""

from __future__ import annotations

import contextlib
import errno

SHORTAGES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
"""Error codes: this machine has no descriptor or memory left, which is no failure of the other side."""
NO_DESCRIPTOR = "this machine has no descriptor left"
"""How a reason begins that is no failure of the other side. Users raise the limit by `ulimit -n`."""


def why_not_connected(error: OSError) -> str:
    """Return why a connection could not be started; it begins with NO_DESCRIPTOR if this machine is short."""
    why = error.strerror or str(error)
    return f"{NO_DESCRIPTOR} ({why})" if error.errno in SHORTAGES else why


def raise_descriptor_limit() -> None:
    """Raise the soft limit of open descriptors of this process to the hard one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
