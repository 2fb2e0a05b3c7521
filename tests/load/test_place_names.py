from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.load.local_workers import LocalPlace
from faultkit.load.place_names import PlaceName, open_place, parse_place


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("local", PlaceName("local", 1)),
        ("local:4", PlaceName("local", 4)),
        ("dask:3", PlaceName("dask", 3)),
        ("kubernetes", PlaceName("kubernetes", 1)),
        ("kubernetes:256", PlaceName("kubernetes", 256)),
        ("dask://10.0.0.5:8786", PlaceName("dask scheduler", address="tcp://10.0.0.5:8786")),
        ("dask://[::1]:8786", PlaceName("dask scheduler", address="tcp://[::1]:8786")),
        ("tls://cluster.example:8786", PlaceName("dask scheduler", address="tls://cluster.example:8786")),
    ],
)
def test_the_forms_of_places(text: str, name: PlaceName) -> None:
    assert parse_place(text) == name
    assert name.is_local == text.startswith("local")
    assert parse_place(str(name)) == name
    assert text in (str(name), f"{name.kind}")


@pytest.mark.parametrize(("cores", "workers"), [(6, 6), (None, 1), (96, 64)])
def test_a_cluster_of_this_machine_has_a_worker_for_each_core(
    cores: int | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert parse_place("dask") == PlaceName("dask", workers)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", '--on: expected local:N, dask:N, dask://HOST:PORT, tls://HOST:PORT or kubernetes:N, got ""'),
        ("4", 'expected local:N, dask:N, .*, got "4"'),
        ("ray:4", 'got "ray:4"'),
        ("tcp://10.0.0.5:8786", 'got "tcp://10.0.0.5:8786"'),
        ("local:0", '--on: expected 1 to 64 workers, got "local:0"'),
        ("dask:65", '--on: expected 1 to 64 workers, got "dask:65"'),
        ("dask:1000000", '--on: expected 1 to 64 workers, got "dask:1000000"'),
        ("kubernetes:257", '--on: expected 1 to 256 workers, got "kubernetes:257"'),
        ("local:-1", 'got "local:-1"'),
        ("dask://", "--on: expected"),
        ("dask://host", "--on: expected"),
        ("tls://host:99999", "--on: expected"),
    ],
)
def test_what_names_no_place_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_place(text)


def test_processes_of_this_machine_are_opened_without_anything_else() -> None:
    with open_place(PlaceName("local", 3)) as place:
        assert place == LocalPlace(3)
