"""The last reports: bounded, and numbered for good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from faultkit.agent_tools.framework.tool import RecentReports


def test_the_newest_comes_first_and_the_oldest_goes() -> None:
    reports = RecentReports(most=2)
    ids = [reports.add(title, f"# {title}", {"title": title}).id for title in ("a", "b", "c")]
    assert ids == ["1", "2", "3"]
    assert [each.title for each in reports.all()] == ["c", "b"]
    assert reports.get("1") is None
    found = reports.get("3")
    assert found is not None
    assert (found.markdown, found.document) == ("# c", {"title": "c"})


def test_threads_that_add_at_once_get_numbers_of_their_own() -> None:
    reports = RecentReports(most=5)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: reports.add(str(n), "", {}).id, range(200)))
    assert sorted(map(int, ids)) == list(range(1, 201))
    assert [each.id for each in reports.all()] == ["200", "199", "198", "197", "196"]
