"""Coordinated omission, shown: a service freezes for one second of ten, and two ways to measure it.

    python -m examples.freeze

The open load continues to send 200 requests a second, as users do. The closed one waits for its answers, so
while the service is frozen it sends nothing, and hardly any of its requests meets the freeze.
"""

from __future__ import annotations

import subprocess
import sys

from faultkit.load.load import Load, Target
from faultkit.load.workers import run_load

DURATION_S, RATE_RPS, CLIENTS = 10.0, 200.0, 1

SERVICE = """
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    first = None
    def do_GET(self):
        now = time.monotonic()
        cls = type(self)
        cls.first = cls.first or now
        since = now - cls.first
        if 5.0 <= since < 6.0:
            time.sleep(6.0 - since)
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    def log_message(self, *args):
        pass

ThreadingHTTPServer.request_queue_size = 1024
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def main() -> None:
    say("model      requests   p50 ms    p99 ms    max ms   (response time, from the intended start)")
    for model in ("open", "closed"):
        with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True) as service:
            try:
                assert service.stdout is not None
                port = int(service.stdout.readline())
                load = Load(DURATION_S, RATE_RPS, CLIENTS, "open" if model == "open" else "closed")
                result = run_load(Target("GET", f"http://127.0.0.1:{port}/"), load)
            finally:
                service.kill()
        summary = result.tally.summary(load, total_s=result.total_s)
        at = {each.percent: each.ms for each in summary.response.percentiles}
        say(f"{model:<8}{summary.requests:>11}{at[50]:>9.1f}{at[99]:>10.1f}{summary.response.max_ms:>10.1f}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
