"""Python code that a change would break in a small way: defaults, lines, threads, returned objects."""

from __future__ import annotations

import pytest

from faultkit.code.changes.project import Project
from tests.code.changes.cases import asked, boldly, safely


def test_a_default_that_may_be_none_keeps_its_meaning() -> None:
    text = "def f(item, to=[]):\n    if to is None:\n        return 0\n    to.append(item)\n    return to\n"
    assert boldly(text).new == text


def test_a_default_beside_which_none_is_allowed_keeps_its_meaning() -> None:
    text = (
        "from typing import List, Optional\n\n\nclass Tool:\n"
        "    def __init__(self, args: {} = ['-n']):\n        self.args = args\n"
    )
    for allows in ("Optional[List[str]]", "List[str] | None", "'list[str] | None'"):
        assert boldly(text.format(allows)).new == text.format(allows)
    assert "args is None" in boldly(text.format("List[str]")).new


def test_a_default_that_may_keep_values_asks() -> None:
    text = "def index(tags: list = []):\n    tags.append('a')\n    return tags\n"
    assert safely(text).diff == ""
    assert asked(text) == {"FK-R025"}


def test_an_annotation_is_one_that_the_oldest_python_can_read() -> None:
    text = "from typing import Dict, Optional\n\n\ndef f(a: Dict[str, int] = {}):\n    a['b'] = 1\n"
    assert "a: Dict[str, int] | None = None" in boldly(text).new
    assert "a: Optional[Dict[str, int]] = None" in boldly(text, project=Project(python=(3, 8))).new
    bare = text.replace("Dict, Optional", "Dict")
    assert boldly(bare, project=Project(python=(3, 8))).new == bare


def test_a_loop_that_uses_the_file_reads_all_lines_first() -> None:
    text = (
        "def f(path):\n    with open(path) as file:\n        for line in file.readlines():\n"
        "            print(line, file.tell())\n"
    )
    assert boldly(text).new == text


LINES = {
    "a file": ("with open(source) as file", "file", True),
    "a file of pathlib": ("with Path(source).open() as file", "file", True),
    "a buffer": ("with closing(io.StringIO(source)) as _, io.StringIO(source) as file", "file", True),
    "a parameter": ("with lock", "source", False),
    "an attribute": ("with lock", "source.stdout", False),
}


@pytest.mark.parametrize(("head", "name", "is_safe"), LINES.values(), ids=LINES)
def test_only_a_file_is_read_line_by_line_without_a_question(head: str, name: str, is_safe: bool) -> None:
    text = (
        "import io\nfrom contextlib import closing\nfrom pathlib import Path\n\n\ndef f(source, lock):\n"
        f"    {head}:\n        for line in {name}.readlines():\n            print(line)\n"
    )
    assert (f"for line in {name}:" in safely(text).new) == is_safe
    assert f"for line in {name}:" in boldly(text).new
    assert ("FK-P011" in asked(text)) != is_safe


def test_a_method_of_the_same_name_is_no_file() -> None:
    text = (
        "class Log:\n    def __iter__(self):\n        for _, line in self.readlines():\n"
        "            yield line\n\n    def readlines(self):\n        yield 0, 'a'\n"
    )
    assert boldly(text).new == text


def test_a_function_of_the_text_runs_in_a_thread_only_with_an_answer() -> None:
    text = (
        "import time\n\n\nclass Limiter:\n    def wait(self, item):\n        self.waiting.append(item)\n"
        "        time.sleep(1)\n\n    async def acquire(self, item):\n        self.wait(item)\n"
    )
    assert safely(text).diff == ""
    assert asked(text) == {"FK-P001"}
    assert "await asyncio.to_thread(self.wait, item)" in boldly(text).new


def test_a_thread_is_used_only_where_python_has_one() -> None:
    text = "import socket\n\n\nasync def f(host):\n    return socket.getaddrinfo(host, 80)\n"
    assert "to_thread" in safely(text).new
    assert safely(text, project=Project(python=(3, 8))).new == text


def test_a_lock_that_is_held_asks_before_other_tasks_run() -> None:
    text = (
        "import threading\nimport time\n\nlock = threading.Lock()\n\n\nasync def f():\n    with lock:\n"
        "        time.sleep(1)\n"
    )
    assert safely(text).diff == ""


def test_a_call_of_asyncio_asks_where_another_event_loop_may_run() -> None:
    text = "import time\n{}\n\nasync def f():\n    time.sleep(1)\n"
    both = Project(declared=frozenset({"anyio"}), declared_in="pyproject.toml")
    assert "asyncio.sleep" in safely(text.format("")).new
    assert safely(text.format("import trio\n")).diff == ""
    assert "Trio" in safely(text.format("import trio\n")).questions[0].question
    assert safely(text.format(""), project=both).diff == ""
    assert "asyncio.sleep" in safely(text.format("import asyncio\n"), project=both).new


RETURNED = {
    "a member": ("return box.extractfile(name)", False),
    "a member with a name": ("file = box.extractfile(name)\n    return file", False),
    "a wrapped member": ("return io.TextIOWrapper(box.extractfile(name))", False),
    "members": ("return [box.extractfile(each) for each in box.getnames()]", False),
    "a generator": ("return (each.name for each in box)", False),
    "members one by one": ("for each in box.getnames():\n        yield box.extractfile(each)", False),
    "the object": ("return box", False),
    "bytes": ("return box.extractfile(name).read()", True),
    "a list": ("return [each.upper() for each in box.getnames()]", True),
    "a number": ("return sum(each.size for each in box.getmembers())", True),
    "a comparison": ("return name in box.getnames()", True),
}


@pytest.mark.parametrize(("last", "is_safe"), RETURNED.values(), ids=RETURNED)
def test_an_object_that_is_needed_after_the_function_is_not_closed(last: str, is_safe: bool) -> None:
    text = f"import io\nimport tarfile\n\n\ndef f(path, name):\n    box = tarfile.open(path)\n    {last}\n"
    assert ("with tarfile.open(path) as box:" in boldly(text).new) == is_safe


def test_errors_that_an_application_handles_ask() -> None:
    text = (
        "import requests\nfrom flask import Flask\n\napp = Flask(__name__)\n{}\n\n@app.get('/')\n"
        "def index():\n    return requests.get('http://a', timeout=5).text\n"
    )
    assert "504" in safely(text.format("")).new
    handled = text.format("app.register_error_handler(Exception, answer)\n")
    assert safely(handled).diff == ""
