"""Whether the compiled hot paths (`_native.c`) are used, or the same in Python.

They are where the extension was built, which needs Linux and a C compiler at installation. The variable
FAULTKIT_PURE, if it is not empty, chooses Python. Nothing else depends on the choice than speed.

    compiled                    in Python
    --------------------------  ------------------------------
    _native.run_rounds          event_loop.Loop._run_rounds
    _native.DirectionFields     direction_fields.PureFields
    _native_sockets.c           the functions of `sockets`
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Final

PURE_VARIABLE: Final = "FAULTKIT_PURE"


def load_native() -> ModuleType | None:
    """Return the extension, or None where Python does its work."""
    if sys.platform != "linux" or os.environ.get(PURE_VARIABLE):
        return None
    try:
        from faultkit.proxy import _native
    except ImportError:
        return None
    return _native


native = load_native()
