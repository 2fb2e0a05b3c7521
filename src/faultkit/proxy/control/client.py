"""The control API of a running proxy or gateway (`fault run --control`, `fault gateway --control`), asked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError

TOKEN_VARIABLE = "FAULT_CONTROL_TOKEN"
_OPENER = build_opener(ProxyHandler({}))
"""Control APIs are on loopback: no proxy of the environment stands in between."""
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class ControlApi:
    """Every answer that is no success is an error: what was asked for is wrong, or nobody can be asked."""

    url: str
    token: str | None = field(default=None, repr=False)
    """None: the one of FAULT_CONTROL_TOKEN, when it is needed."""

    @property
    def bearer(self) -> str:
        return self.token or os.environ.get(TOKEN_VARIABLE, "")

    def status(self) -> dict[str, Any]:
        return self._ask("GET", "/status")

    def injected(self) -> dict[str, int]:
        """How often each rule has acted."""
        status = self.status()
        if "rules" in status:  # So a gateway tells it.
            return {rule["name"]: rule["injected"] for rule in status["rules"]}
        return dict(status["injected"])

    def plan(self) -> dict[str, Any]:
        return self._ask("GET", "/plan")

    def put_plan(self, plan: Mapping[str, Any], ttl_s: float) -> dict[str, Any]:
        return self._ask("PUT", f"/plan?ttl={ttl_s!r}", plan)

    def add_rule(self, rule: Mapping[str, Any], ttl_s: float) -> dict[str, Any]:
        return self._ask("POST", f"/rules?ttl={ttl_s!r}", rule)

    def remove_rule(self, name: str) -> dict[str, Any]:
        return self._ask("DELETE", f"/rules/{quote(name, safe='')}")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request = Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.bearer}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with _OPENER.open(request, timeout=_PATIENCE_S) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except HTTPError as error:
            with error:
                raise _failure(self.url, error) from None
        except URLError as error:
            raise TargetError(f"the control API at {self.url} cannot be reached: {error.reason}") from None
        except (OSError, ValueError) as error:
            raise RunError(f"the control API at {self.url} gave no answer: {error}") from None


def _failure(url: str, error: HTTPError) -> FaultkitError:
    try:
        told = json.loads(error.read(1 << 16))["error"]
        path, problem = str(told["path"]), str(told["problem"])
    except (ValueError, KeyError, TypeError, OSError):
        path, problem = "", error.reason
    if error.code in (401, 403):
        return TargetError(f"the control API at {url} wants another token (see {TOKEN_VARIABLE}): {problem}")
    if error.code in (400, 404, 409):
        return InputError(path, f"{problem} (said by the control API at {url})")
    return RunError(f"the control API at {url} answered {error.code}: {problem}")
