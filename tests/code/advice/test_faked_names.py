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
    "patch by a variable": (
        "OPENED = 'urllib.request.urlopen'\nN = 'a.b'\n@mock.patch(OPENED, new=opened())\ndef test(): ...\n",
        {"urllib.request.urlopen"},
    ),
    "patch of an attribute": ("with patch.object(requests, 'get'):\n    pass\n", {"requests.get"}),
    "monkeypatch": ("monkeypatch.setattr(prices.socket, 'socket', fake)\n", {"prices.socket.socket"}),
    "monkeypatch by a path": ("monkeypatch.setattr('time.time', fake)\n", {"time.time"}),
    "an assignment": ("    socket.socket = mock.Mock(name='a')\n", {"socket.socket"}),
    "an assignment of a function": (
        "def fake(url):\n    pass\n\n\nurllib.request.urlopen = fake\nrequests.get = lambda url: 1\n",
        {"urllib.request.urlopen", "requests.get"},
    ),
    "an assignment of a method": (
        "    def setUp(self):\n        urllib.request.urlopen = self.fake\n"
        "    def fake(self, url):\n        pass\n",
        {"urllib.request.urlopen"},
    ),
    "an assignment of a value": (
        "def fake():\n    pass\n\n\nself.get = fake\na.url = url\na.b = fake()\n",
        set(),
    ),
    "nothing": ("patch.dict(os.environ, {'A': 'b'})\nx = Mock()\n", set()),
}


@pytest.mark.parametrize(("text", "names"), FAKES.values(), ids=FAKES)
def test_what_tests_replace_is_found(tmp_path: Path, text: str, names: set[str]) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helpers.py").write_text(text)
    (tmp_path / "shop.py").write_text("patch('not.a.test')\n")
    assert {name for name, _ in faked_names(tmp_path)} == names


COMPARING = {
    "a comparison": ("get = mock.patch('a.get')\nget.assert_called_once_with('u')\n", True),
    "arguments": ("get = mock.patch('a.get')\nassert get.call_args.kwargs == {}\n", True),
    "a function": ("mock.patch('a.get', fake_get)\n", True),
    "a function by its name": ("mock.patch('a.get', new=fake_get)\n", True),
    "a function as an effect": ("mock.patch('a.get', side_effect=fake_get)\n", True),
    "monkeypatch": ("monkeypatch.setattr('a.get', lambda url: 1)\n", True),
    "an assignment": ("def fake(url):\n    pass\n\n\na.get = fake\n", True),
    "a value": ("mock.patch('a.get', return_value=Answer(200, 'x'))\n", False),
    "values": ("mock.patch('a.get', side_effect=[1, 2])\n", False),
    "an error": ("mock.patch('a.get', side_effect=requests.ConnectionError)\n", False),
    "an attribute": ("mock.patch.object(a, 'get', autospec=True)\n", False),
}


@pytest.mark.parametrize(("text", "compares"), COMPARING.values(), ids=COMPARING)
def test_tests_that_look_at_arguments_are_known(tmp_path: Path, text: str, compares: bool) -> None:
    (tmp_path / "test_a.py").write_text(text)
    assert [*faked_names(tmp_path)] == [("a.get", compares)]


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
    replaced = f"with mock.patch('shop.{name}') as fake:\n    pass\n"
    for folder, tests in (
        ("untested", ""),
        ("replaced", replaced),
        ("tested", f"{replaced}fake.assert_called_once_with('a')\n"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shop.py").write_text(text)
        (tmp_path / folder / "setup.cfg").write_text("")
        (tmp_path / folder / "test_shop.py").write_text(tests)
    assert Advisor().change_file(tmp_path / "untested" / "shop.py", selection=Selection()).diff
    # A fake that takes any arguments takes one more.
    answer = Advisor().change_file(tmp_path / "replaced" / "shop.py", selection=Selection())
    assert bool(answer.diff) == (name == "requests.get")
    answer = Advisor().change_file(tmp_path / "tested" / "shop.py", selection=Selection())
    assert not answer.diff
    assert f"Tests of the project replace {name}: do they still pass with the change?" in {
        each.question for each in answer.questions
    }


def test_a_test_that_changed_is_read_again(tmp_path: Path) -> None:
    test = tmp_path / "test_shop.py"
    test.write_text('patch("shop.load")\n')
    assert [*faked_names(tmp_path)] == [*faked_names(tmp_path)] == [("shop.load", False)]
    test.write_text('patch("shop.load_all")\n')
    assert [*faked_names(tmp_path)] == [("shop.load_all", False)]
