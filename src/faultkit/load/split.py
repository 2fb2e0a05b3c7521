"""A plan split into parts, one for each worker, as values that go to other machines. Pure.

A part says which plan it belongs to (a digest), which share of it it is, and carries a token that is used
once. A worker of another version refuses it, and so does one whose copy of the plan has another digest.
A segment is a part of a load; the tests of suites have a plan of their own (`faultkit.agents.shards`).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from faultkit import __version__
from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.load.expectation import Expectation
from faultkit.load.load import AnyTarget, Load, McpTarget, StreamUntil, Target

FORMAT = 2
"""Raised with each change of what coordinator and workers say to each other."""
VERSION = f"{__version__}/{FORMAT}"


class SplitPlan(Protocol):
    """Everything that a worker must know to do its part of some work."""

    kind: ClassVar[str]
    """A key of `faultkit.load.work.KINDS`."""

    @property
    def document(self) -> dict[str, Any]:
        """The plan as plain data."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan."""

    @property
    def seed(self) -> int | str: ...

    @property
    def most_parts(self) -> int:
        """Into how many parts it can be split."""

    @property
    def longest_s(self) -> float:
        """Seconds from the start to the latest possible end."""


P = TypeVar("P", bound=SplitPlan)


def digest_of(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan, given as plain data."""
    return hashlib.sha256(_canonical(document)).hexdigest()


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Everything that a worker must know to send its part of a load."""

    target: AnyTarget
    load: Load
    expect: Expectation = Expectation()  # noqa: RUF009
    kind: ClassVar[str] = "load"

    @property
    def document(self) -> dict[str, Any]:
        """The plan as plain data."""
        return _plan_document(self)

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan."""
        return digest_of(self.document)

    @property
    def seed(self) -> int | str:
        return self.load.seed

    @property
    def longest_s(self) -> float:
        """Seconds from the start of the load to the end of its last request."""
        return self.load.duration_s + self.target.timeout_s

    @property
    def most_parts(self) -> int:
        """Into how many segments it can be split: each must have a request in flight, or a client."""
        by_clients = self.load.model == "closed" or isinstance(self.target, McpTarget)
        return self.load.clients if by_clients else self.load.most_in_flight


@dataclass(frozen=True, slots=True)
class Part(Generic[P]):
    """One part of a plan, for one worker, to be run once."""

    plan: P = field(repr=False)
    digest: str
    share: int
    """From 0 to `of` - 1."""
    of: int
    token: str = field(repr=False)
    version: str = VERSION

    @property
    def seed(self) -> int | str:
        return self.plan.seed

    def check(self) -> None:
        """Raise InputError unless this version can run the segment, and it is whole."""
        if self.version != VERSION:
            raise _other_version(self.version)
        if self.digest != self.plan.digest:
            raise InputError("digest", f"expected {self.plan.digest}, that of its plan, got {self.digest}")
        if not 0 <= self.share < self.of:
            raise InputError("share", f"expected 0 or more and less than {self.of}, got {self.share}")


Segment: TypeAlias = Part[LoadPlan]
"""A part of a load."""


def _other_version(version: object) -> InputError:
    return InputError("version", f"expected a segment of faultkit {VERSION}, got one of {version}")


def already_run() -> InputError:
    """Return the error for a segment that is to be run a second time."""
    return InputError("token", "expected a segment that has not been run, got one that has")


def split(plan: P, tokens: Iterable[str]) -> list[Part[P]]:
    """Return as many parts as there are tokens; together they do each thing of the plan once."""
    given = list(tokens)
    if not given or len(set(given)) < len(given):
        raise InputError("tokens", f"expected different ones, at least 1, got {len(given)}")
    digest = plan.digest
    return [Part(plan, digest, share, len(given), token) for share, token in enumerate(given)]


# --- as JSON ----------------------------------------------------------------------------------


def segment_to_json(segment: Part[Any]) -> str:
    """Return a part as one line of JSON. It holds the secrets that the plan has, such as headers."""
    document = {
        "version": segment.version,
        "kind": segment.plan.kind,
        "digest": segment.digest,
        "share": segment.share,
        "of": segment.of,
        "token": segment.token,
        "plan": segment.plan.document,
    }
    return _canonical(document).decode()


def segment_from_json(line: str) -> Segment:
    """Return the segment of a line of JSON. Raises InputError for one that is damaged or of another
    version."""
    return part_from_json(line, {LoadPlan.kind: load_plan_of}.__getitem__)


def part_from_json(line: str, reader_of: Callable[[str], Callable[[Mapping[str, Any]], P]]) -> Part[P]:
    """Return the part of a line of JSON; `reader_of` returns what reads plans of a kind.

    Raises InputError for one that is damaged or of another version."""
    try:
        document = json.loads(line)
    except ValueError:
        raise InputError("segment", "expected a segment as JSON, got a text that is no JSON") from None
    if not isinstance(document, dict) or "version" not in document:
        raise InputError(
            "segment", "expected a segment as JSON, got JSON that is no segment: it has no version"
        )
    version = document["version"]
    if version != VERSION:  # Read nothing else of it: names and forms may differ.
        raise _other_version(version)
    try:
        share, of = int(document["share"]), int(document["of"])
        token, digest = str(document["token"]), str(document["digest"])
        plan = reader_of(str(document["kind"]))(document["plan"])
        segment = Part(plan, digest, share, of, token, version)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"expected a whole segment, got a damaged one ({type(error).__name__}: {error})"
        raise InputError("segment", problem) from None
    segment.check()
    return segment


def _canonical(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _plan_document(plan: LoadPlan) -> dict[str, Any]:
    if isinstance(plan.target, McpTarget):
        http = plan.target.http
        mcp = {**asdict(plan.target), "http": None if http is None else _target_document(http)}
        target = {"mcp": mcp}
    else:
        target = _target_document(plan.target)
    return {"target": target, "load": asdict(plan.load), "expect": asdict(plan.expect)}


def _target_document(target: Target) -> dict[str, Any]:
    return {**asdict(target), "body": base64.b64encode(target.body).decode()}


def load_plan_of(document: Mapping[str, Any]) -> LoadPlan:
    """Return the load of plain data. Raises an error of Python's own for data of another form."""
    target = document["target"]
    found = _mcp_target_of(target["mcp"]) if "mcp" in target else _target_of(target)
    return LoadPlan(found, Load(**document["load"]), Expectation(**document["expect"]))


def _mcp_target_of(document: Mapping[str, Any]) -> McpTarget:
    http = document["http"]
    env = tuple((str(name), str(value)) for name, value in document["env"])
    more = {"http": None if http is None else _target_of(http), "env": env}
    return McpTarget(**{**document, **more, "command": tuple(map(str, document["command"]))})


def _target_of(document: Mapping[str, Any]) -> Target:
    target = dict(document)
    target["body"] = base64.b64decode(target["body"], validate=True)
    target["headers"] = tuple((str(name), str(value)) for name, value in target["headers"])
    for way in ("proxy", "connect_to"):
        target[way] = None if target[way] is None else Endpoint(**target[way])
    target["stream"] = None if target["stream"] is None else StreamUntil(**target["stream"])
    return Target(**target)
