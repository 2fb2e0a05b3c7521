"""A transport of the SDK's client that sends a bearer token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

PATIENCE_S = 60.0


@asynccontextmanager
async def bearer_transport(url: str, token: str) -> AsyncIterator[Any]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as plain:
        async with streamable_http_client(url, http_client=plain) as streams:
            yield streams
