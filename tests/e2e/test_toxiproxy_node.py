"""The unmodified client toxiproxy-node-client controls `fault toxiproxy`; the steps are in drive.mjs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.proxy.toxiproxy.harness import serving

HERE = Path(__file__).parent / "toxiproxy_node"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.skipif(
    not (HERE / "node_modules" / "toxiproxy-node-client").is_dir(),
    reason="run `npm install --no-package-lock --prefix tests/e2e/toxiproxy_node` first",
)
def test_the_node_client_drives_our_server() -> None:
    assert NODE is not None
    with serving() as api:
        url = f"http://{api.endpoint}"
        done = subprocess.run(
            [NODE, "drive.mjs", url], cwd=HERE, capture_output=True, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all steps passed\n", "")
