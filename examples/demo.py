"""`make demo`: an example from end to end. A real service with a real dependency, healthy, then broken.

Everything runs on loopback, in separate processes: `fault demo run` is the service, and
`fault scenario run` measures it twice, without the fault and with it, and writes the report.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faultkit.scenario.report.item_evidence import baseline_warning
from faultkit.scenario.report.report_files import read_report
from faultkit.scenario.report.report_model import ItemReport

OUT = Path("build/demo")
FAULT = [sys.executable, "-m", "faultkit"]
DELAY_MS = 200

SCENARIO = """\
title: What happens to /ping when its dependency gets slow?
items:
  - call:
      method: GET
      url: http://127.0.0.1:{service}/ping
      timeout: 2000
    context:
      proxy:
        disable_http_proxies: true
        proxies: ["{between}=http://127.0.0.1:{dependency}"]
      faults:
        - type: latency
          mean: {delay}
          stddev: 20
          period: start:25%,duration:50%
      strategy:
        mode: load
        duration: 10s
        clients: 4
        rps: 10
      slo:
        - {{type: latency, title: 95% @ 150ms, objective: 95, threshold: 150}}
        - {{type: error, title: errors below 1%, objective: 99, threshold: 1}}
    expect:
      all_slo_are_valid: true
"""


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    service, dependency, between = _free_ports(3)
    scenario = OUT / "scenario.yaml"
    scenario.write_text(
        SCENARIO.format(service=service, dependency=dependency, between=between, delay=DELAY_MS), "utf-8"
    )
    _say(f"A service on port {service} calls its dependency on port {dependency}, by way of port {between}.")
    _say(f"First all is well; then, on that way, answers are {DELAY_MS} ms late for half of the time.\n")
    results, page = OUT / "results.json", OUT / "report.html"
    with _service(service, dependency, between):
        run = [*FAULT, "scenario", "run", str(scenario), "--seed", "7", "--result", str(results)]
        code = subprocess.run([*run, "--report", str(page)]).returncode
    if code not in (0, 1, 6):  # Kept, missed, or nothing proven: there is a report.
        sys.exit(code)
    _say("What was learnt:")
    for line in learnt(read_report(results).items[0]):
        _say(f"  {line}")
    for line in where_next(page, results):
        _say(line)


def learnt(item: ItemReport) -> tuple[str, str]:
    """Return two lines about the measured figures."""
    busy = "This machine was too busy to learn anything: close something and try again."
    if item.verdict == "inconclusive":
        return item.reasons[0], busy
    if unsound := baseline_warning(item):
        return unsound, busy
    p95 = next(each for each in item.impact if each.name == "p95")
    missed = [result.slo.title for result in item.slos if result.passed is False]
    errors = "No request failed" if not item.run.errors else f"{item.run.errors} requests failed"
    promise = f', but the promise "{missed[0]}" is broken' if missed else ", and every promise is kept"
    more = f": {p95.low:.0f} to {p95.high:.0f} ms more" if p95.shown else ""
    return (
        f"Healthy, 95 % of the answers came within {p95.baseline:.0f} ms; with the slow dependency within "
        f"{p95.fault:.0f} ms{more}.",
        f"The service waits for its dependency and hides nothing. {errors}{promise}.",
    )


def where_next(page: Path, results: Path) -> list[str]:
    """Return what to look at and to do after the demo, with the `fault` of this environment."""
    fault = os.path.relpath(Path(sys.executable).with_name("fault"))
    proxy = '--proxy "34000=http://127.0.0.1:8080"'
    return [
        "\nWhere to go next:",
        f"  the report with its charts, in a browser   {page}",
        f"  the report in plain words                  {fault} scenario review {results}",
        "  break something of your own: what listens on port 8080 is 300 ms slower on port 34000 with",
        f"    {fault} run --with-latency --latency-mean 300 {proxy}",
        "  five jobs, and how to install              README.md",
    ]


@contextmanager
def _service(service: int, dependency: int, between: int) -> Iterator[None]:
    command = [*FAULT, "demo", "run", "127.0.0.1", str(service)]
    command += ["--upstream", f"http://127.0.0.1:{between}", "--upstream-port", str(dependency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                sys.exit(process.wait())
            # Its output about each request is not needed, but the pipe must be read.
            with subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL):
                yield
                process.terminate()
        finally:
            process.terminate()


def _free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
