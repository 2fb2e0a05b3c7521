"""One thread at a time imports what tools need.

Python locks each module by itself. Of two threads, one that imports a package and one that imports a part of
it, each can hold what the other waits for; then one of them is given an error, or half a module.
"""

from __future__ import annotations

import threading

IMPORTING = threading.RLock()
"""Held by whoever imports when a tool is called."""
