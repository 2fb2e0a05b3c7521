"""Toxics of a configuration file, which act from the first connection."""

from __future__ import annotations

import pytest

from faultkit.faults.stream.limit_data import LimitData
from faultkit.proxy.plane import Plane
from faultkit.proxy.toxiproxy.registry import Registry
from faultkit.proxy.toxiproxy.request_fields import Refusal

PROXY = {"name": "redis", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:6379"}
LIMIT = {"type": "limit_data", "attributes": {"bytes": 5}}


def test_toxics_of_a_file_act_at_the_start() -> None:
    with Plane() as plane:
        registry = Registry(plane, 7)
        (opened,) = registry.configure([{**PROXY, "toxics": [LIMIT]}])
        assert opened["toxics"] == registry.toxics("redis")
        assert [toxic["name"] for toxic in registry.toxics("redis")] == ["limit_data_downstream"]
        assert [rule.fault for rule in plane.plan.rules] == [LimitData(bytes=5)]
        registry.delete_toxic("redis", "limit_data_downstream")
        assert plane.plan.rules == ()


def test_populate_ignores_toxics_because_clients_send_whole_objects_back() -> None:
    with Plane() as plane:
        registry = Registry(plane, 7)
        (opened,) = registry.populate([{**PROXY, "toxics": [LIMIT]}])
        assert opened["toxics"] == []


@pytest.mark.parametrize(
    ("toxics", "problem"),
    [
        ({}, "bad request body: toxics at proxy 1: expected a list of toxics, got a mapping"),
        ([{"type": "nope"}], "invalid toxic type at toxic 1 of proxy 1"),
        (
            [LIMIT, LIMIT],
            "bad request body: name at toxic 2 of proxy 1: expected each name once, "
            "got 'limit_data_downstream' again",
        ),
    ],
)
def test_a_wrong_toxic_opens_no_proxy(toxics: object, problem: str) -> None:
    with Plane() as plane:
        registry = Registry(plane, 7)
        with pytest.raises(Refusal) as refused:
            registry.configure([{**PROXY, "toxics": toxics}])
        assert refused.value.message == problem
        assert registry.proxies() == {}
