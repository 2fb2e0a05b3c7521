"""`python -m tests.mcp.faults.clients NAME`: runs every case with that client and prints the results as
JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from tests.mcp.faults.clients.case_run import observe_all
from tests.mcp.faults.clients.cases import ALL
from tests.mcp.faults.clients.client_libraries import PEERS

if __name__ == "__main__":
    peer = PEERS[sys.argv[1]]()
    found = asyncio.run(observe_all(peer, ALL))
    rows = [[spec, *place, asdict(observed)] for (spec, place), observed in found.items()]
    json.dump({"versions": peer.versions(), "rows": rows}, sys.stdout)
