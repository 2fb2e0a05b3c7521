"""Programs that a change would alter, though it fits at first sight: each is one way to do so.

`RUNS` are also changed with all changes that ask: these may not break a program either.
"""

from __future__ import annotations

RUNS = {
    "await in a generator": """
import asyncio
import subprocess


async def sizes(words):
    return sum(len(subprocess.check_output(["echo", word], timeout=9)) for word in words)


print(asyncio.run(sizes(["a", "bc"])))
""",
    "super in a lambda": """
import asyncio
import subprocess


class Base:
    def words(self):
        return ["echo", "base"]


class Child(Base):
    def words(self):
        return ["false"]

    async def run(self):
        return subprocess.run(super().words(), capture_output=True).stdout


print(asyncio.run(Child().run()))
""",
    "a name that a parameter has": """
import time


async def pause(asyncio=None):
    time.sleep(0)
    return asyncio


def run(coroutine):
    import asyncio

    return asyncio.run(coroutine)


print(run(pause()))
""",
    "a name that the file has": """
from time import sleep, time

monotonic = "steps"


def wait():
    start = time()
    while time() - start < 0.02:
        sleep(0.01)
    return monotonic


print(wait())
""",
    "annotations that are no types": """
Text = "str"


def add(item, to: [int] = []):
    to.append(item)
    return to


def join(item, to: {"a": 1} = [], more: any = [], last: Text = []):
    to.append(item)
    more.append(item)
    last.append(item)
    return to, more, last


print(add(1), join(3))
""",
    "a parameter with the name of a type": """
def merge(list, more=list()):
    more.append(len(list))
    return more


print(merge([1, 2]))
""",
    "a docstring that shares its line": """
def gather(item, to=[]):
    "Gather."; to.append(item)
    return to


print(gather(1))
""",
    "None with a meaning of its own": """
def mark(item, to=[]):
    if None is to:
        return "none"
    to.append(item)
    return to


def mark_any(item, to=[]):
    if to in (None, False):
        return "none"
    to.append(item)
    return to


def mark_list(item, to=[]):
    if not isinstance(to, list):
        return "none"
    to.append(item)
    return to


def mark_case(item, to=[]):
    match to:
        case None:
            return "none"
    to.append(item)
    return to


for each in (mark, mark_any, mark_list, mark_case):
    print(each(1), each(2, None))
""",
    "a clock that is read elsewhere": """
import sys
import time
from datetime import datetime

STARTED = time.time()
READY = time.time()
TOOK = READY - STARTED


class Job:
    began = time.time()
    ended = time.time()
    took = ended - began


def closure():
    start = time.time()

    def elapsed():
        return time.time() - start

    while time.time() - start < 0.02:
        time.sleep(0.01)
    return elapsed() < 60


def shown():
    start = time.time()
    while time.time() - start < 0.02:
        time.sleep(0.01)
    return int("%(start)d" % locals()) > 1_600_000_000


def seen_by_another():
    start = time.time()
    while time.time() - start < 0.02:
        time.sleep(0.01)
    return sys._getframe(0).f_locals["start"] > 1_600_000_000


years = [datetime.fromtimestamp(each).year > 2000 for each in (STARTED, Job.began)]
print(years, closure(), shown(), seen_by_another())
""",
    "a clock of the program": """
import time

time.time = iter(range(100)).__next__


def wait():
    rounds = 0
    start = time.time()
    while time.time() - start < 5:
        rounds += 1
    return rounds


print(wait())
""",
}
SAFE = {
    "defaults that keep values": """
def next_id(last=[0]):
    last[0] += 1
    return last[0]


def known(item, old=set()):
    if item in old:
        return True
    old.add(item)
    return False


class Shared:
    def __init__(self, common={}):
        self.__dict__ = common


first, second = Shared(), Shared()
first.value = 5
print(next_id(), next_id(), [known(each) for each in (1, 1)], second.value)
""",
    "tasks that share values": """
import asyncio
import threading
import time

count, state, log = 0, {"busy": False}, []


async def add():
    global count
    old = count
    time.sleep(0.001)
    count = old + 1


async def work(number):
    if state["busy"]:
        return f"{number} refused"
    state["busy"] = True
    time.sleep(0.001)
    state["busy"] = False
    return f"{number} done"


async def pause():
    time.sleep(0.001)


async def note():
    log.append("start")
    await pause()
    log.append("end")


wait = pause


async def note_by_name(pausing):
    log.append("first")
    await wait()
    await pausing()
    log.append("last")


async def main():
    await asyncio.gather(*(add() for _ in range(3)), note(), note())
    await asyncio.gather(note_by_name(pause), note_by_name(pause))
    return await asyncio.gather(*(work(each) for each in range(3)))


print(asyncio.run(main()), count, log)
""",
    "a value of the thread": """
import asyncio
import subprocess
import threading

local = threading.local()


async def main():
    local.word = "a"
    return subprocess.run(["echo", local.word], capture_output=True).stdout


print(asyncio.run(main()))
""",
    "a time below 0": """
import asyncio
import time


async def wait(seconds):
    time.sleep(seconds)


try:
    asyncio.run(wait(-1))
except ValueError:
    print("refused")
""",
    "a coroutine that the program runs": """
import time


async def step():
    time.sleep(0)
    return 5


def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value


print(run(step()))
""",
    "a longer limit of an adapter": """
import sys
import requests
from requests.adapters import HTTPAdapter


class Slow(HTTPAdapter):
    def send(self, request, stream=False, timeout=None, **options):
        print("limit", timeout or 120)
        return super().send(request, stream=stream, timeout=timeout or 120, **options)


def configure(session):
    session.mount("http://", Slow())


def load(url):
    session = requests.Session()
    configure(session)
    return session.get(url).status_code


def load_with(session: requests.Session, url):
    return session.get(url).status_code


own = requests.Session()
configure(own)
print(load(sys.argv[1]), load_with(own, sys.argv[1]))
""",
    "a longer limit of the process": """
import socket
import sys
import urllib.request

socket.setdefaulttimeout(120)


def load(url):
    with urllib.request.urlopen(url) as answer:
        return answer.fp.raw._sock.gettimeout()


print(load(sys.argv[1]))
""",
    "a function that the program replaces": """
import urllib.request

import requests


def fake(url):
    return url


module = requests
module.get = fake
setattr(urllib.request, "urlopen", fake)


def load(url):
    return requests.get(url), urllib.request.urlopen(url)


print(load("a"))
""",
    "lines of a file that changes": """
from pathlib import Path

Path("lines.txt").write_text("a\\nb\\n")


def note(text):
    with open("lines.txt", "a") as file:
        file.write(text)


class Notes:
    def append(self, text):
        note(text)


def double_again():
    rounds, notes = 0, Notes()
    with open("lines.txt") as file:
        for line in file.readlines():
            notes.append(line)
            rounds += 1
            if rounds > 100:
                break
    return rounds


def double():
    rounds = 0
    with open("lines.txt") as file:
        for line in file.readlines():
            note(line)
            rounds += 1
            if rounds > 100:
                break
    return rounds


def rest():
    with open("lines.txt") as file:
        for line in file.readlines():
            if line:
                break
        return file.read()


print(double(), double_again(), rest())
""",
}
APP = """
import httpx
from fastapi import FastAPI
{}
app = FastAPI()
{}

@app.get("/")
def index():
    return httpx.get("http://127.0.0.1:9", trust_env=False, timeout=5).text
"""
HANDLER = """
import httpx
from fastapi.responses import PlainTextResponse


def answer(request, error):
    return PlainTextResponse("later", 503)


def register(app):
    app.add_exception_handler(httpx.ConnectError, answer)
"""
APPS = {
    "a function that is given the application": (
        APP.format("from errors import register", "register(app)"),
        "",
    ),
    "another file that has the application": (APP.format("", ""), "errors.register(app.app)"),
    "a wrapper around a handler": (
        APP.format("from wrapping import safely", "").replace("\ndef index", "\n@safely\ndef index"),
        "",
    ),
}
WRAPPING = """
import functools

import httpx
from fastapi.responses import PlainTextResponse


def safely(function):
    @functools.wraps(function)
    def wrapper():
        try:
            return function()
        except httpx.ConnectError:
            return PlainTextResponse("later", 503)

    return wrapper
"""
MAIN = """
import sys
import app, errors
from fastapi.testclient import TestClient
{}
answer = TestClient(app.app, raise_server_exceptions=False).get("/")
print(answer.status_code, answer.text)
"""
