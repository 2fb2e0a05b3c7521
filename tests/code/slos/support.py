"""Helpers for tests of objectives."""

from __future__ import annotations

from faultkit.code.languages import language_named
from faultkit.code.slos import SuggestedSlo, suggest_slos
from faultkit.code.slos.costs import Dependency, FunctionProfile
from faultkit.code.slos.profile import profile_of

APP = """\
import os

import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(f"{UPSTREAM_URL}/todos/1", headers={
        "Host": "jsonplaceholder.typicode.com"
    }).json()
"""


def work(text: str, language: str = "python", function: str = "") -> FunctionProfile:
    return profile_of(text, language_named(language), function)


def only_call(text: str, language: str = "python") -> Dependency:
    (found,) = work(text, language).dependencies
    return found


def latencies(text: str, language: str = "python") -> tuple[float, ...]:
    return tuple(each.threshold for each in suggest_slos(text, language) if each.type == "latency")


def one(text: str, type_: str, language: str = "python") -> SuggestedSlo:
    """Return the last objective of a type: of latencies that of the 99th percentile."""
    return [each for each in suggest_slos(text, language) if each.type == type_][-1]
