"""How many bytes the faults of a plane may hold back, all connections together.

A connection may hold as much as is still free, so one bulk transfer through a long delay runs fast
and many share. Each may always hold a little, so that none starves; the hard bound is therefore the
budget plus that little for each connection and direction.
"""

from __future__ import annotations

ALWAYS_ALLOWED = 65536


class Budget:
    __slots__ = ("held", "limit")

    def __init__(self, limit: int = 256 << 20) -> None:
        self.limit = limit
        self.held = 0

    def allows(self, own: int, untold: int) -> bool:
        """Whether somebody who holds `own` bytes, `untold` of them not yet counted here, may read on."""
        return own < ALWAYS_ALLOWED or own < self.limit - self.held - untold
