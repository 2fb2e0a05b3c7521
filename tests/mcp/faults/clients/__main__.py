"""`python -m tests.mcp.faults.clients NAME`: every case with that client, as JSON, in any interpreter."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from tests.mcp.faults.clients.cases import ALL
from tests.mcp.faults.clients.peers import PEERS
from tests.mcp.faults.clients.run import observe_all

if __name__ == "__main__":
    peer = PEERS[sys.argv[1]]()
    found = asyncio.run(observe_all(peer, ALL))
    rows = [[spec, *place, asdict(observed)] for (spec, place), observed in found.items()]
    json.dump({"versions": peer.versions(), "rows": rows}, sys.stdout)
