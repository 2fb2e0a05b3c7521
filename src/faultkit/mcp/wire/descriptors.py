"""Descriptors that a process is born with: whether one can be waited for, and how to have it to ourselves."""

from __future__ import annotations

import os
import selectors
import stat


def taken(fd: int, instead: int) -> int:
    """The pipe under a number of its own. Whoever else prints or reads at the old one does not meet the wire,
    and when we close ours, the client sees the end."""
    own = os.dup(fd)
    os.dup2(instead, fd)
    os.close(instead)
    return own


def can_poll(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)):
        return False
    # A terminal can be waited for; /dev/null, which is a device as well, cannot.
    with selectors.DefaultSelector() as selector:
        try:
            selector.register(fd, selectors.EVENT_READ)
        except OSError:
            return False
    return True
