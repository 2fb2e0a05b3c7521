"""An LLM client that behaves well, or badly in one known way: `python stub_client.py HABIT`.

It speaks OpenAI Chat Completions with the standard library alone, so that it starts fast.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

HABIT = sys.argv[1] if len(sys.argv) > 1 else "good"
BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]})
OPEN: list[http.client.HTTPConnection] = []


class Refused(Exception):
    """The provider answered with an error."""

    def __init__(self, status: int, why: str, wait_s: float | None) -> None:
        super().__init__(f"{status} {why}")
        self.status, self.wait_s = status, wait_s


class Broken(Exception):
    """The answer has no end."""


def deltas() -> Iterator[str]:
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.netloc, timeout=None if HABIT == "patient" else 2)
    OPEN.append(connection)
    connection.request("POST", f"{url.path}/chat/completions", BODY, {"content-type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        error: dict[str, Any] = json.load(response)["error"]
        wait = response.headers.get("retry-after")
        raise Refused(response.status, f"{error['code']}: {error['message']}", float(wait) if wait else None)
    finish, began_s = None, time.monotonic()
    for line in response:
        if HABIT != "patient" and time.monotonic() - began_s > 4:
            raise TimeoutError("no answer in time")
        data = line.removeprefix(b"data: ").strip()
        if not data or data.startswith(b":"):
            continue
        if data == b"[DONE]":
            break
        event = json.loads(data)
        if "error" in event:
            raise Refused(200, event["error"]["message"], None)
        for choice in event["choices"]:
            finish = choice["finish_reason"] or finish
            yield choice["delta"].get("content") or ""
    if finish is None and HABIT != "credulous":
        raise Broken("the answer ended without a reason")
    if finish not in (None, "stop") and HABIT != "credulous":
        raise Broken(f"the answer ended because of {finish}")


def answer() -> str:
    """Return the answer; a client with the habit `hasty` prints it while it comes."""
    text = ""
    for delta in deltas():
        text += delta
        if HABIT == "hasty":
            print(delta, end="", flush=True)
    return "" if HABIT == "hasty" else text


def may_retry(error: Exception) -> bool:
    if HABIT in ("stubborn", "storming", "hasty", "leaking"):
        return True
    return isinstance(error, Refused) and error.status in (429, 503) and "quota" not in str(error)


def main() -> int:
    attempts = 12 if HABIT == "storming" else 3
    for attempt in range(1, attempts + 1):
        try:
            print(answer())
        except (Refused, Broken, OSError, ValueError, http.client.HTTPException) as error:
            if attempt == attempts or not may_retry(error):
                print("failed" if HABIT == "mute" else f"{type(error).__name__}: {error}", file=sys.stderr)
                return 1
            wait_s = getattr(error, "wait_s", None)
            if HABIT in ("impatient", "storming"):
                wait_s = 0.1 if HABIT == "impatient" else 0.0
            time.sleep(0.3 if wait_s is None else wait_s)
            if HABIT != "leaking":
                OPEN[-1].close()
        else:
            return 0
    return 1


sys.exit(main())
