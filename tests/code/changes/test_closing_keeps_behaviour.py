"""Programs that open or read files: each prints the same after all safe changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.code.changes.cases import changed, codemod_named, safely

PATIENCE_S = 60.0
HEAD = """\
import csv
import io
import os
import sqlite3
import tarfile
import zipfile
from enum import Enum

with open("t.csv", "w") as out:
    out.write("a,b\\n1,2\\n")
with zipfile.ZipFile("t.zip", "w") as out:
    out.write("t.csv")
with tarfile.open("t.tar", "w") as out:
    out.add("t.csv")


"""


def _unchanged(text: str, folder: Path) -> str:
    """Return the text after all safe changes. It prints what it printed."""
    text = HEAD + text
    new = safely(text).new
    assert _printed(new, folder) == _printed(text, folder)
    return new.removeprefix(HEAD)


def _printed(text: str, folder: Path) -> str:
    (folder / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    return done.stdout


def _closed(text: str) -> str:
    return changed(text, "python", codemod_named("python", "context-managers"))


CLOSED = {
    "an annotated cursor": """
        db = sqlite3.connect(":memory:")
        cursor: sqlite3.Cursor = db.cursor()
        cursor.execute("select 1")
        return cursor.fetchall()
    """,
    "a reader that a condition names": """
        file = open("t.csv")
        if (rows := csv.reader(file)) is None:
            return []
        return list(rows)
    """,
    "members in a list": """
        box = zipfile.ZipFile("t.zip")
        members: list = [box.open(name) for name in box.namelist()]
        return [each.read() for each in members]
    """,
    "a wrapped stream": """
        box = zipfile.ZipFile("t.zip")
        text = io.TextIOWrapper(box.open("t.csv"))
        rows = enumerate(csv.DictReader(text))
        found = {at: row["a"] for at, row in rows}
        return found
    """,
    "two names at once": """
        db = sqlite3.connect(":memory:")
        cursor, count = db.cursor(), 1
        cursor.execute("select 6")
        return cursor.fetchone()
    """,
    "settings of a connection": """
        db = sqlite3.connect(":memory:")
        db.row_factory = sqlite3.Row
        row = db.execute("select 1 as a").fetchone()
        return row["a"]
    """,
    "a descriptor of its own": """
        file = os.fdopen(os.open("t.csv", os.O_RDONLY))
        return file.read()
    """,
}


@pytest.mark.parametrize("body", CLOSED.values(), ids=CLOSED)
def test_an_object_is_open_as_long_as_something_made_of_it_is_used(body: str, tmp_path: Path) -> None:
    new = _unchanged(f"def f():\n{body.replace(' ' * 8, ' ' * 4)}\n\nprint(f())\n", tmp_path)
    assert "    with " in new


LEFT_OPEN = {
    "a reader that is added to a list": """
        found = []
        file = open("t.csv")
        found += [csv.reader(file)]
        return [list(each) for each in found]
    """,
    "a cursor that is appended": """
        db = sqlite3.connect(":memory:")
        found = []
        found.append(db.execute("select 5"))
        return [list(each) for each in found]
    """,
    "members of a dict": """
        box = tarfile.open("t.tar")
        files = {}
        files.update((each.name, box.extractfile(each)) for each in box.getmembers())
        return {name: each.read() for name, each in files.items()}
    """,
    "members of a list": """
        box = zipfile.ZipFile("t.zip")
        found = []
        for name in box.namelist():
            found.append(box.open(name))
        return [each.read() for each in found]
    """,
    "a file in a dict that is returned": """
        file = open("t.csv")
        first = file.readline()
        return [first, dict(rest=file)]
    """,
    "a function of another package": """
        file = open("t.csv", "rb")
        return load(file)
    """,
    "a file with a second name": """
        file = open("t.txt", "w")
        file.write("text")
        file = open("t.txt")
        return file.read()
    """,
    "a descriptor that is used again": """
        at = os.open("t.txt", os.O_WRONLY | os.O_CREAT)
        file = os.fdopen(at, "w")
        file.write("text")
        file.flush()
        os.fsync(at)
        return os.close(at)
    """,
    "a number of a descriptor": """
        file = open("t.csv")
        number = file.fileno()
        again = os.dup(number)
        return os.read(again, 1)
    """,
    "a method that is called later": """
        file = open("t.csv")
        read = file.read
        later = [read]
        return later
    """,
    "a bound port": """
        peer = socket.socket()
        peer.bind(("127.0.0.1", 0))
        place = peer.getsockname()
        return other(place)
    """,
    "a stream whose buffer is written last": """
        file = open("t.txt", "wb")
        text = io.TextIOWrapper(file)
        text.write("text")
        return 1
    """,
    "a writer into such a stream": """
        file = open("t.txt", "wb")
        rows = csv.writer(io.TextIOWrapper(file))
        rows.writerow([1])
        return 1
    """,
    "a file that is printed into such a stream": """
        file = open("t.txt", "wb")
        text = io.TextIOWrapper(file)
        print("text", file=text)
        return 1
    """,
    "names that are passed on": """
        file = open("t.csv")
        first = file.readline()
        return show(**locals())
    """,
    "a lock of a database": """
        db = sqlite3.connect("t.db")
        db.execute("begin exclusive")
        return work()
    """,
    "a request that runs on its own": """
        client = httpx.AsyncClient()
        asyncio.create_task(client.get("http://a"))
        await work()
    """,
    "a request that another one may leave behind": """
        client = httpx.AsyncClient()
        answers = await asyncio.gather(client.get("http://a"), client.get("http://b"))
        return len(answers)
    """,
    "a request that is awaited later": """
        client = httpx.AsyncClient()
        answer = client.get("http://a")
        return answer
    """,
    "an answer whose body is not yet read": """
        session = requests.Session()
        answer = session.get("http://a", stream=True)
        return answer
    """,
}


@pytest.mark.parametrize("body", LEFT_OPEN.values(), ids=LEFT_OPEN)
def test_an_object_that_may_be_needed_later_is_left_open(body: str) -> None:
    more = "import asyncio\nimport httpx\nimport requests\nimport socket\nfrom numpy import load\n"
    text = f"{HEAD}{more}\n\nasync def f():\n"
    assert _closed(text + body) == text + body


def test_a_body_is_read_before_its_session_is_closed() -> None:
    text = (
        "import asyncio\n\nimport aiohttp\nimport httpx\n\n\nasync def f(urls):\n"
        "    client = httpx.AsyncClient()\n"
        "    tasks = [client.get(url) for url in urls]\n"
        "    answers = await asyncio.gather(*tasks, return_exceptions=True)\n    print(answers)\n\n\n"
        "async def g(url):\n    session = aiohttp.ClientSession()\n    answer = await session.get(url)\n"
        "    print(answer.status)\n    text = await answer.text()\n    print(text)\n"
    )
    new = _closed(text)
    assert "        answers = await asyncio.gather(*tasks, return_exceptions=True)\n    print(answers)" in new
    assert "        text = await answer.text()\n    print(text)" in new


# Objects without a name.

IN_PLACE = {
    "the message of an assertion": 'assert os.sep, open("missing").read()\nprint(1)\n',
    "after a call that writes it": (
        "def make(path):\n    with open(path, 'w') as out:\n        out.write('new')\n    return path\n\n\n"
        'print(make("t.new"), open("t.new").read())\n'
    ),
    "after an operator with an effect": (
        'text = "%s %s" % (os.rename("t.csv", "t.old"), open("t.old").read())\nprint(text)\n'
    ),
    "written and read in one statement": 'print(open("t.w", "w").write("a"), open("t.w").read())\n',
    "a member of an enumeration": (
        'class A(Enum):\n    TEXT = open("t.csv").read()\n\n\nprint(list(A))\n'
    ),
    "names that are passed on": (
        "def show(**names):\n    return sorted(names)\n\n\n"
        'def f(a):\n    text = open("t.csv").read()\n    return show(**locals())\n\n\nprint(f(1))\n'
    ),
    "a descriptor of the process": 'print("a", flush=True)\nopen(1, "w").write("b")\n',
}  # fmt: skip


@pytest.mark.parametrize("text", IN_PLACE.values(), ids=IN_PLACE)
def test_a_file_is_opened_when_it_was_opened_and_adds_no_name_that_others_see(
    text: str, tmp_path: Path
) -> None:
    assert _unchanged(text, tmp_path) == text


def test_a_new_name_of_a_module_is_not_imported_with_all_others(tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text(safely('VERSION = open("t.csv").read()\n').new)
    assert "with open" in (tmp_path / "version.py").read_text()
    text = 'file = "mine"\nfrom version import *\n\nprint(file, VERSION)\n'
    assert _printed(HEAD + text, tmp_path).startswith("mine a,b")


TAKEN = {
    "a parameter": "from contextlib import closing\n\n\ndef g(closing):\n    return closing\n",
    "a value": 'closing = "at five"\n',
    "a function": "def closing(day):\n    return day\n",
    "an import": "from os.path import join as closing\n",
}


@pytest.mark.parametrize("first", TAKEN.values(), ids=TAKEN)
def test_a_name_of_the_file_is_not_bound_again(first: str, tmp_path: Path) -> None:
    text = (
        f"{first}\n\ndef f():\n    db = sqlite3.connect(':memory:')\n    cursor = db.cursor()\n"
        "    cursor.execute('select 1')\n    return cursor.fetchone()\n\n\nprint(f(), closing is None)\n"
    )
    assert "with contextlib.closing(" in _unchanged(text, tmp_path)


# Lists of all lines.

ALL_LINES = {
    "a loop that calls what appends to the file": """
        with open("t.csv") as file:
            for line in file.readlines():
                note(line)
        return open("t.csv").read()
    """,
    "a loop that writes to what may be the file": """
        with open("t.csv") as file, open("t.csv", "a") as more:
            for line in file.readlines():
                more.write(line)
                more.flush()
        return open("t.csv").read()
    """,
    "an object with a method that appends": """
        log = Log()
        with open("t.csv") as file:
            for line in file.readlines():
                log.append(line)
        return open("t.csv").read()
    """,
    "a place that is asked for after a break": """
        with open("t.csv") as file:
            for line in file.readlines():
                if line:
                    break
            return file.tell(), file.read()
    """,
    "a place that is asked for beside each line": """
        with open("t.csv") as file:
            return [(file.tell(), line) for line in file.readlines()]
    """,
    "lines that are read later": """
        with open("t.csv") as file:
            found = (line.strip() for line in file.readlines())
        return list(found)
    """,
    "a second name": """
        with open("t.csv") as file:
            same = file
            for line in file.readlines():
                break
            return [same.read()]
    """,
    "a function that is passed on": """
        with open("t.csv") as file:
            for line in file.readlines():
                sorted([line], key=note)
        return open("t.csv").read()
    """,
    "a loop around that reads on": """
        found = []
        with open("t.csv") as file:
            for _ in range(2):
                found.append(file.readline())
                for line in file.readlines():
                    break
        return found
    """,
}
NOTE = """\
def note(text):
    with open("t.csv", "a") as out:
        out.write(text)


class Log:
    append = staticmethod(note)


"""


@pytest.mark.parametrize("body", ALL_LINES.values(), ids=ALL_LINES)
def test_all_lines_are_read_first_where_the_file_may_change_or_be_asked(body: str, tmp_path: Path) -> None:
    new = _unchanged(f"{NOTE}def f():\n{body}\n\nprint(f())\n", tmp_path)
    assert "file.readlines()" in new


LINE_BY_LINE = {
    "a loop that computes": """
        found, total = [], 0
        counts = {}
        with open("t.csv") as file:
            head = file.readline()
            for line in file.readlines():
                first, *rest = line.strip().split(",")
                counts.update({first.lower(): rest})
                found.append(int(first) + len(head))
                total += len(line)
                if total > 100:
                    break
        return found, total, counts
    """,
    "a list": """
        with open("t.csv") as file:
            return [line.strip() for line in file.readlines() if not line.startswith("#")]
    """,
    "a number": """
        with open("t.csv") as file:
            return max(len(line) for line in file.readlines())
    """,
    "a file that is closed afterwards": """
        file = open("t.csv")
        found = []
        for line in file.readlines():
            found.append(line)
        file.close()
        return found
    """,
}


@pytest.mark.parametrize("body", LINE_BY_LINE.values(), ids=LINE_BY_LINE)
def test_lines_are_read_one_by_one_where_the_loop_only_computes(body: str, tmp_path: Path) -> None:
    new = _unchanged(f"def f():\n{body}\n\nprint(f())\n", tmp_path)
    assert "readlines()" not in new
