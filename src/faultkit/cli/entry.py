"""Where the console commands begin: whoever interrupts them while they are still being imported sees nothing
but the end of it. It imports nothing before."""

from __future__ import annotations

import sys
from typing import NoReturn

_INTERRUPTED = 130


def fault() -> NoReturn:
    try:
        from faultkit.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def mcptest() -> NoReturn:
    try:
        from faultkit.cli.mcptest import main

        main()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
