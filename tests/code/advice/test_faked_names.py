"""Functions that the tests of a project replace: a change of their calls asks first."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.faked_names import faked_names
from faultkit.code.advice.selection import Selection
from faultkit.code.changes.project import Project

FAKES = {
    "patch": ("@mock.patch('shop.prices.requests.get', autospec=True)\n", {"shop.prices.requests.get"}),
    "patch of a part": ("mocker.patch(MODULE + '.requests.get')\n", {".requests.get"}),
    "patch of an attribute": ("with patch.object(requests, 'get'):\n    pass\n", {"requests.get"}),
    "monkeypatch": ("monkeypatch.setattr(prices.socket, 'socket', fake)\n", {"prices.socket.socket"}),
    "monkeypatch by a path": ("monkeypatch.setattr('time.time', fake)\n", {"time.time"}),
    "an assignment": ("    socket.socket = mock.Mock(name='a')\n", {"socket.socket"}),
    "nothing": ("patch.dict(os.environ, {'A': 'b'})\nx = Mock()\n", set()),
}


@pytest.mark.parametrize(("text", "names"), FAKES.values(), ids=FAKES)
def test_what_tests_replace_is_found(tmp_path: Path, text: str, names: set[str]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helpers.py").write_text(text)
    (tmp_path / "shop.py").write_text("patch('not.a.test')\n")
    assert {*faked_names(tmp_path)} == names


@pytest.mark.parametrize(
    ("faked", "name", "is_replaced"),
    [
        ("shop.prices.requests.get", "requests.get", True),
        ("shop.prices.requests", "requests.get", True),
        ("requests.Session.request", "requests.get", True),
        ("shop.client._session.post", "requests.Session.post", True),
        ("shop.prices.urlopen", "urllib.request.urlopen", True),
        ("shop.prices.ZipFile", "zipfile.ZipFile", True),
        ("time.time", "time.time", True),
        ("shop.prices.cache.get", "requests.get", False),
        ("shop.prices.requests.post", "requests.get", False),
        ("shop.prices.load", "requests.get", False),
        ("shop.clock.time", "requests.get", False),
    ],
)
def test_a_name_is_compared_by_its_last_parts(faked: str, name: str, is_replaced: bool) -> None:
    assert Project(faked=frozenset({faked})).fakes(name) == is_replaced


CHANGED = {
    "a timeout": ("import requests\n\n\ndef f(u):\n    return requests.get(u).headers\n", "requests.get"),
    "a block": (
        "import zipfile\n\n\ndef f(p):\n    box = zipfile.ZipFile(p)\n    return box.read('a')\n",
        "zipfile.ZipFile",
    ),
    "a clock": (
        "import time\n\n\ndef f(work):\n    start = time.time()\n    work()\n"
        "    while time.time() - start < 5:\n        work()\n",
        "time.time",
    ),
    "a task": ("import time\n\n\nasync def f():\n    time.sleep(1)\n", "time.sleep"),
}


@pytest.mark.parametrize(("text", "name"), CHANGED.values(), ids=CHANGED)
def test_a_change_of_a_call_that_tests_replace_asks(tmp_path: Path, text: str, name: str) -> None:
    for folder, tests in (("untested", ""), ("tested", f"mock.patch('shop.{name}')\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shop.py").write_text(text)
        (tmp_path / folder / "setup.cfg").write_text("")
        (tmp_path / folder / "test_shop.py").write_text(tests)
    assert Advisor().change_file(tmp_path / "untested" / "shop.py", selection=Selection()).diff
    answer = Advisor().change_file(tmp_path / "tested" / "shop.py", selection=Selection())
    assert not answer.diff
    assert f"Tests of the project replace {name}: do they still pass with the change?" in {
        each.question for each in answer.questions
    }
