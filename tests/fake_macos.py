"""Run a module with the platform faked: `python -m tests.fake_macos pytest -q FILE …`.

`sys.platform` is "darwin", and the names that only Linux has are gone. What is left is the code that macOS
runs, except for the kernel: kqueue's place is taken by poll.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import select
import selectors
import socket
import sys
import sysconfig
import types

_LINUX_ONLY: tuple[tuple[types.ModuleType, tuple[str, ...]], ...] = (
    (select, ("epoll", "EPOLL")),
    (os, ("splice", "SPLICE_", "pidfd", "memfd", "eventfd", "sched_", "pipe2", "accept4")),
    (socket, ("SOCK_NONBLOCK", "SOCK_CLOEXEC", "TCP_INFO", "TCP_QUICKACK")),
    (fcntl, ("F_SETPIPE_SZ", "F_GETPIPE_SZ")),
)


def fake_macos() -> None:
    """Make this process look like one on macOS to everything that is imported from now on."""
    sysconfig.get_config_vars()  # Reads a file that is named after the platform.
    sys.platform = "darwin"
    for module, prefixes in _LINUX_ONLY:
        for name in dir(module):
            if name.startswith(prefixes):
                delattr(module, name)
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[misc, assignment]
    # urllib reads the proxies of the system from this module.
    proxies = types.ModuleType("_scproxy")
    proxies.__dict__.update(_get_proxy_settings=dict, _get_proxies=dict)
    sys.modules["_scproxy"] = proxies


if __name__ == "__main__":
    fake_macos()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
