"""The Jobs that `--dry-run` prints."""

from __future__ import annotations

import pytest
import yaml

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.scenario.cluster_jobs import check_reach, jobs_as_yaml
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import Scenario

HTTP = '{method: GET, url: "http://service.example/"}'
MCP = '{mcp: {url: "http://service.example/mcp"}, tool: add}'


def scenario_of(call: str, context: str = "") -> Scenario:
    strategy = "strategy: {mode: load, duration: 1s, clients: 3, rps: 5}"
    item = f"{{call: {call}, context: {{{context}{strategy}}}}}"
    problems: list[InputError] = []
    scenario = parse_scenario({"title": "t", "items": [yaml.safe_load(item)]}, problems)
    assert problems == []
    assert scenario is not None
    return scenario


@pytest.mark.parametrize(("call", "pods"), [(HTTP, 8), (MCP, 3)])
def test_a_job_has_no_more_pods_than_the_load_has_parts(call: str, pods: int) -> None:
    (job,) = yaml.safe_load_all(jobs_as_yaml([scenario_of(call)], PodSettings(), 8))
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (pods, pods)


HERE = '{method: GET, url: "http://127.0.0.1:8080/"}'
MCP_HERE = '{mcp: {url: "http://localhost:8080/mcp"}, tool: add}'
STDIO = "{mcp: {command: server}, tool: add}"
STRAIGHT = "proxy: {disable_http_proxies: true}, "
SLOW = "faults: [{type: latency, mean: 1, stddev: 0}], "
SECURE = '{method: GET, url: "https://service.example/"}'
BROKEN = "faults: [{type: httperror, status_code: 503}], "
BESIDE = ControlApi("https://10.0.0.9:7900")
HERE_TOO = ControlApi("http://127.0.0.1:7900")


@pytest.mark.parametrize(
    ("call", "context", "listen", "control", "problem"),
    [
        (
            HERE,
            STRAIGHT,
            None,
            None,
            "t: items[0].call.url: expected an address that pods can reach, got http:",
        ),
        (MCP_HERE, STRAIGHT, None, None, "t: items[0].call.url: expected an address that pods can reach"),
        (HERE, "", None, BESIDE, "t: items[0].call.url: expected an address that pods can reach"),
        (
            HTTP,
            SLOW,
            None,
            None,
            "--proxy-address: expected an address that pods can reach, got 127.0.0.1, w",
        ),
        (HTTP, SLOW, Endpoint("127.0.0.1", 3180), None, "--proxy-address: expected an address that pods can"),
        (HTTP, SLOW, Endpoint("0.0.0.0", 3180), None, "--proxy-address: expected an address that pods can"),
        (SECURE, BROKEN, None, None, "--proxy-address: expected an address that pods can reach"),
        (
            HERE,
            "proxy: {through: http}, ",
            None,
            HERE_TOO,
            "t: items[0].context.proxy.through: expected an address that pods can reach, got a proxy at http",
        ),
    ],
)
def test_a_load_to_an_address_of_this_machine_is_refused(
    call: str, context: str, listen: Endpoint | None, control: ControlApi | None, problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        check_reach([scenario_of(call, context)], listen, control)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("call", "context", "listen", "control"),
    [
        (HTTP, STRAIGHT, None, None),
        (HERE, SLOW, Endpoint("10.0.0.9", 3180), None),
        (SECURE, BROKEN, Endpoint("10.0.0.9", 3180), None),
        (HERE, "proxy: {through: http}, ", None, BESIDE),
        (STDIO, "", None, None),
    ],
)
def test_a_load_that_pods_can_send_is_accepted(
    call: str, context: str, listen: Endpoint | None, control: ControlApi | None
) -> None:
    check_reach([scenario_of(call, context)], listen, control)
