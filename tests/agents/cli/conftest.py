from __future__ import annotations

from tests.agents.kinds.conftest import server, shared_server

__all__ = ["server", "shared_server"]
