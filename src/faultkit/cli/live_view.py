"""What the live views share: a part of the terminal that is redrawn, and the keys that are pressed meanwhile.

While it is started, the cursor is hidden, and the terminal shows no keys if they are read. Both are undone at
its end, and also if SIGQUIT (Ctrl-\\) ends the process.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress

from rich.console import Console
from rich.live import Live

from faultkit.base.signals import before_quit
from faultkit.cli.keys_pressed import Keys

_SHOW_CURSOR = b"\x1b[?25h"


class LiveView(Live):
    """A live display that is drawn when its owner says so, and erased at its end."""

    def __init__(self, console: Console, keys: Keys | None = None) -> None:
        """`keys` are read while the view is started."""
        super().__init__(console=console, auto_refresh=False, transient=True)
        self._keys = keys
        self._until_stopped = ExitStack()

    def start(self, refresh: bool = False) -> None:
        """Hide the cursor, and let keys arrive at once."""
        self._until_stopped.enter_context(before_quit(self._restore_terminal))
        if self._keys is not None:
            self._keys.open()
        super().start(refresh)

    def stop(self) -> None:
        """Erase the view and restore the terminal. Stopping twice has no further effect."""
        try:
            super().stop()
        finally:
            if self._keys is not None:
                self._keys.close()
            self._until_stopped.close()

    def _restore_terminal(self) -> None:
        """Restore the terminal without the locks of the console, which the interrupted code may hold.

        The view stays where it is, and the shell goes on below it."""
        if self._keys is not None:
            self._keys.close()
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            with suppress(OSError, ValueError):
                os.write(self.console.file.fileno(), _SHOW_CURSOR + b"\r\n")
