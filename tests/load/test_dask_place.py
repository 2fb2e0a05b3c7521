"""What a Dask cluster that is too slow is called in errors. The real clusters are in tests/measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import distributed
import pytest

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.load.dask_place import DaskPlace, local_cluster, remote_cluster
from faultkit.load.load import Load, Target
from faultkit.load.split import LoadPlan, split

OWN_LIMIT = "no answer within 30s (distributed.comm.timeouts.connect)"


class Slow:
    """A cluster and its client, of which one step is not done in time: Dask's error has no text."""

    status = "running"

    def __init__(self, step: str) -> None:
        self._step = step

    def __call__(self, *args: object, **options: object) -> Slow:
        self._do("cluster" if "n_workers" in options else "client")
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args, **options: self._do(name)

    def _do(self, step: str) -> dict[str, int]:
        if step == self._step:
            raise TimeoutError
        return {"tcp://127.0.0.1:1": 1}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Slow]:
    def make(step: str) -> Slow:
        made = Slow(step)
        monkeypatch.setattr(distributed, "LocalCluster", made)
        monkeypatch.setattr(distributed, "Client", made)
        return made

    return make


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("cluster", f"the Dask cluster did not start: its processes: {OWN_LIMIT}"),
        ("client", "the Dask cluster did not start: its scheduler: no answer within 60 s"),
        ("run", f"the Dask cluster did not start: its workers: {OWN_LIMIT}"),
        ("nthreads", "the scheduler of Dask did not answer within 10 s"),
        ("submit", f"the scheduler of Dask took no work: {OWN_LIMIT}"),
    ],
)
def test_a_timeout_of_a_cluster_made_for_the_run_names_the_step_and_the_limit(
    slow: Callable[[str], Slow], step: str, why: str
) -> None:
    slow(step)
    plan = LoadPlan(Target("GET", "http://127.0.0.1:9/"), Load(1.0, 1.0))
    with pytest.raises(RunError) as caught, local_cluster(1) as place:
        place.start(split(plan, ["token"]))
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("step", "kind", "why"),
    [
        ("client", InputError, "--on: expected a Dask scheduler at tcp://a.test:1, got none: no answer with"),
        ("wait_for_workers", InputError, "--on: expected workers at tcp://a.test:1, got a scheduler without"),
        ("nthreads", RunError, "the scheduler of Dask did not answer within 10 s"),
    ],
)
def test_a_timeout_of_another_cluster_names_the_step_and_the_limit(
    slow: Callable[[str], Slow], step: str, kind: type[FaultkitError], why: str
) -> None:
    slow(step)
    with pytest.raises(kind) as caught, remote_cluster("tcp://a.test:1"):
        pass
    assert str(caught.value).startswith(why)
    assert "10 s" in str(caught.value)


@pytest.mark.parametrize("step", ["close", "nothing"])
def test_a_late_end_of_a_cluster_does_not_hide_the_result(slow: Callable[[str], Slow], step: str) -> None:
    slow(step)
    with local_cluster(1) as place:
        assert isinstance(place, DaskPlace)
