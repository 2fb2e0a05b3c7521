"""Whether the compiled hot paths (`_native.c`) are used, or the same in Python.

They are where the extension was built, which needs Linux and a C compiler at installation. The variable
FAULTKIT_PURE, if it is not empty, chooses Python. Nothing else depends on the choice than speed.

    compiled                    in Python
    --------------------------  ------------------------------
    _native.run_rounds          event_loop.Loop._run_rounds
    _native.DirectionFields     direction_fields.PureFields
    _native_http.c              direction.Direction._pump_layer
    _native_llm.c               http.answer_rewrite.texts_of_chunks
    _native_sockets.c           the functions of `sockets`, pipes._carry
    _native_tls.c               tls.straight, DirectionSource._pass_straight
    _native.LinkFields          link_fields.PureLinkFields
    _native.Acceptor            Proxy._accept, Link.begin, Link._send_first_bytes

The load engine has an extension of its own (`faultkit.load.native`).
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Final

PURE_VARIABLE: Final = "FAULTKIT_PURE"


_REVISION: Final = 8


def load_native(name: str = "faultkit.proxy._native", revision: int = _REVISION) -> ModuleType | None:
    """Return an extension, or None where Python does its work.

    An editable installation may have one that was compiled from an older source: it has another revision."""
    if sys.platform != "linux" or os.environ.get(PURE_VARIABLE):
        return None
    try:
        found = importlib.import_module(name)
    except ImportError:
        return None
    return found if getattr(found, "REVISION", 0) == revision else None


native = load_native()
