"""`fault serve` as a user runs it, with keys that another process makes and revokes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import httpx
import pytest

from faultkit.audit.access.api_keys import all_keys
from faultkit.audit.store_factory import open_store
from faultkit.cli.main import invoke
from tests.audit.access.served import INITIALIZE, PATIENCE_S


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "faultkit", "serve", "--transport", "http", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"(http://\S+)/mcp", line)
        assert found is not None, line + process.stderr.read()
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_a_key_opens_the_door_until_another_process_revokes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", str(tmp_path / "audit.db"))

    def created(name: str) -> str:
        assert invoke(["keys", "create", name, *store]) == 0
        return capsys.readouterr().out.strip()

    first = created("first")
    accept = {"accept": "application/json, text/event-stream"}
    with serving("--require-key", *store) as (process, base), httpx.Client(timeout=PATIENCE_S) as client:

        def status(key: str | None = None) -> int:
            headers = accept if key is None else accept | {"x-api-key": key}
            return client.post(f"{base}/mcp", json=INITIALIZE, headers=headers).status_code

        assert status() == 401
        assert status(first) == 200
        # One that is made while the server runs is known at once.
        second = created("second")
        assert status(second) == 200
        assert invoke(["keys", "revoke", "first", *store]) == 0
        deadline_s = monotonic() + PATIENCE_S
        while status(first) == 200:
            assert monotonic() < deadline_s
        assert status(first) == 401
        assert status(second) == 200
        assert client.get(f"{base}/healthz").status_code == 200
        about = client.get(f"{base}/.well-known/oauth-protected-resource/mcp")
        assert (about.status_code, about.json()["resource"]) == (200, f"{base}/mcp")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    with open_store(store[1], create=False) as log:
        refused = [row.error_message for row in log.all() if row.source == "door"]
        used = {key.name: key.used_us is not None for key in all_keys(log)}
    assert refused == [
        "not authenticated: expected an API key or a bearer token",
        "not authenticated: the key was revoked",
        # The first was a row at once; the second came soon after it, and was told at the end.
        "not authenticated: the key was revoked",
    ]
    assert used == {"first": True, "second": True}
