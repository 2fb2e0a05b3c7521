"""The Jobs that `--dry-run` prints."""

from __future__ import annotations

import pytest
import yaml

from faultkit.base.errors import InputError
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.scenario.cluster_jobs import jobs_as_yaml
from faultkit.scenario.scenario_keys import parse_scenario

HTTP = '{method: GET, url: "http://service.example/"}'
MCP = '{mcp: {url: "http://service.example/mcp"}, tool: add}'


@pytest.mark.parametrize(("call", "pods"), [(HTTP, 8), (MCP, 3)])
def test_a_job_has_no_more_pods_than_the_load_has_parts(call: str, pods: int) -> None:
    item = f"{{call: {call}, context: {{strategy: {{mode: load, duration: 1s, clients: 3, rps: 5}}}}}}"
    problems: list[InputError] = []
    scenario = parse_scenario({"title": "t", "items": [yaml.safe_load(item)]}, problems)
    assert problems == []
    assert scenario is not None
    (job,) = yaml.safe_load_all(jobs_as_yaml([scenario], PodSettings(), 8))
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (pods, pods)
