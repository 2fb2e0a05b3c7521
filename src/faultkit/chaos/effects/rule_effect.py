"""Faults that a running proxy or gateway carries out: any fault of the vocabulary, as a temporary rule.

The control API gets a time limit with each rule, so that it ends even if no process here can end it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from faultkit.base.address import LOOPBACK_NAMES, Endpoint, parse_endpoint
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA
from faultkit.base.errors import FaultkitError, InputError
from faultkit.chaos.effects.lasting_effect import Measured, NoUndoLog, UndoLog, endpoints, optional_text
from faultkit.chaos.safety.chaos_limits import Limits
from faultkit.chaos.safety.undo import Undo, UndoResult, carry_out
from faultkit.faults import CALL_FAULTS
from faultkit.plan import Rule, escape_glob, parse_rule
from faultkit.proxy.control.control_client import ControlClient, hits_of

CONTROL_KEYS = (
    Key(
        "control",
        optional_text("the address of a control API such as 127.0.0.1:7900"),
        TEXT_SCHEMA,
        help="HOST:PORT of the control API of a proxy or gateway on this machine.",
    ),
    Key("token", optional_text("the token of that API"), TEXT_SCHEMA, help="The token of that API."),
)
RULE_METADATA = KeyTable(
    *CONTROL_KEYS,
    Key("with", help="Settings of the fault, as in a plan."),
    Key("match", help="What the rule applies to, as in a plan."),
    Key("trigger", help="When the rule acts, as in a plan."),
    has_nulls=False,
)
_COUNT_S = 2.0
"""Time for the other process to say how often the rules have acted."""
_BOTH_WAYS = {"side": "server", "direction": "both"}
_PARTITIONS: dict[str, tuple[dict[str, Any], ...]] = {
    # New connections are refused, existing ones are reset.
    "refuse": ({"fault": "refuse"}, {"fault": "reset", "match": _BOTH_WAYS}),
    # No data is lost: it passes when the partition ends, as after a retransmission.
    "blackhole": ({"fault": "blackhole", "with": {"mode": "stall"}, "match": _BOTH_WAYS},),
}


@dataclass(frozen=True, slots=True)
class ProxyRules:
    """Rules to add at a control API, not named yet: a StartableEffect."""

    api: ControlClient
    documents: tuple[Mapping[str, Any], ...]
    targets: tuple[Endpoint, ...] = ()
    """Upstreams. Each rule is added only for the proxies that lead to them; empty: for all proxies."""

    def check(self, limits: Limits, *, targets_too: bool) -> None:
        for index, target in enumerate(self.targets if targets_too else ()):
            limits.check_target(target.host, target.port, f"targets[{index}]")

    def begin(self, name: str, lasts_s: float, lease: UndoLog | None) -> RuleEffect:
        """Add the rules. Raises InputError, TargetError or RunError if one cannot be added."""
        documents = self._documents_for_targets() if self.targets else self.documents
        added = RuleEffect(self.api, name, lease or NoUndoLog())
        try:
            for document in documents:
                added.add(document, lasts_s)
        except BaseException:
            added.end()
            raise
        return added

    def _documents_for_targets(self) -> list[dict[str, Any]]:
        proxies = [proxy for proxy in self.api.status().get("proxies", ()) if proxy["upstream"]]
        names: list[str] = []
        for index, target in enumerate(self.targets):
            leading = [
                proxy["name"] for proxy in proxies if _canonical(proxy["upstream"]) == _canonical(str(target))
            ]
            if not leading:
                upstreams = ", ".join(proxy["upstream"] for proxy in proxies) or "none"
                problem = f"no proxy of {self.api.url} leads to {target} (there are: {upstreams})"
                raise InputError(f"targets[{index}]", problem)
            names += leading
        return [
            {**document, "match": {**document.get("match", {}), "proxy": escape_glob(name)}}
            for name in dict.fromkeys(names)
            for document in self.documents
        ]


def _canonical(upstream: str) -> Endpoint:
    """Return one spelling for all spellings of the same address."""
    endpoint = parse_endpoint(upstream)
    host = endpoint.host.lower().removesuffix(".")
    return Endpoint("localhost" if host in LOOPBACK_NAMES else host, endpoint.port)


class RuleEffect:
    """Rules that act in another process: a LastingEffect."""

    def __init__(self, api: ControlClient, name: str, log: UndoLog) -> None:
        self._api = api
        self._name = name
        self._log = log
        self._lock = threading.Lock()
        self._undos: list[tuple[str, Undo]] = []
        """Intent and undo of each rule that is not removed yet."""
        self._rules: list[Rule] = []
        self._last_hits = 0
        self._is_over = False

    def add(self, document: Mapping[str, Any], lasts_s: float) -> None:
        """Write down how to remove a rule, and add it for `lasts_s` seconds."""
        # A unique name: a rule that a crashed process left must not be taken for this one.
        name = f"chaos-{self._name}-{document['fault']}-{secrets.token_hex(4)}"
        undo = Undo(
            "rule",
            {"control": self._api.url, "token": self._api.bearer, "rule": name},
            f"remove rule {name} from {self._api.url}",
        )
        self._undos.append((self._log.intend(undo), undo))
        named = {**document, "name": name}
        self._rules.append(parse_rule(named))
        self._api.add_rule(named, lasts_s)

    @property
    def says(self) -> str:
        return f"{', '.join(rule.name for rule in self._rules)} at {self._api.url}"

    @property
    def is_active(self) -> bool:
        return not self._is_over

    def measure(self) -> Measured:
        """Return how often the rules have acted, as the other process counts it."""
        if self._is_over:
            return {}
        try:
            return {"injected": self.hits()}
        except FaultkitError:
            return {}

    def hits(self) -> int:
        if not self._is_over:
            status = self._api.status(_COUNT_S)
            self._last_hits = sum(hits_of(status, rule) for rule in self._rules)
        return self._last_hits

    def end(self) -> UndoResult:
        with self._lock:
            if not self._is_over:
                # A last time: the other process need not remember rules that are gone.
                with suppress(FaultkitError):
                    self.hits()
            failed: list[tuple[str, Undo]] = []
            problem: UndoResult | None = None
            for intent, undo in reversed(self._undos):
                result = carry_out(undo)
                self._log.record_undo(intent, result)
                if not result.ok:
                    failed.insert(0, (intent, undo))
                    problem = problem or result
            self._undos = failed
            # Rules that could not be removed still act.
            self._is_over = not failed
            return problem or UndoResult(True, "the rules are removed")


def read_rules(kind: str, targets: tuple[str, ...], metadata: Mapping[str, object]) -> ProxyRules:
    """Return the rule of a fault of the vocabulary. RULE_METADATA are the keys of the metadata."""
    reader = MappingReader(metadata, RULE_METADATA, "metadata")
    parts = {key: metadata[key] for key in ("with", "match", "trigger") if key in metadata}
    try:
        rule = parse_rule({"name": "chaos", "fault": kind, **parts})
    except InputError as error:
        raise error.within("metadata") from None
    if targets and kind in CALL_FAULTS:
        raise InputError("targets", f"expected none with {kind}: say which calls in metadata.match")
    if targets and rule.match.proxy != "*":
        raise InputError("targets", "expected either targets or metadata.match.proxy, got both")
    return ProxyRules(_control_of(kind, reader), ({"fault": kind, **parts},), endpoints(targets))


def partition_at_proxy(mode: str, targets: tuple[Endpoint, ...], reader: MappingReader) -> ProxyRules:
    """Return the rules that cut the targets off at a proxy."""
    return ProxyRules(_control_of("network_partition", reader), _PARTITIONS[mode], targets)


def _control_of(kind: str, reader: MappingReader) -> ControlClient:
    given = reader.take("control")
    if given is None:
        command = "gateway" if kind in CALL_FAULTS else "run"
        expected = f"expected the address of the control API of a `fault {command}` that carries out {kind}"
        raise InputError("metadata.control", f"{expected}, got none")
    endpoint = parse_endpoint(given.removeprefix("http://").removesuffix("/"), path="metadata.control")
    if endpoint.host not in LOOPBACK_NAMES:
        # Control APIs listen on loopback only, and no other host may receive the token.
        raise InputError("metadata.control", f"expected a loopback address, got {endpoint}")
    return ControlClient(f"http://{endpoint}", reader.take("token"))
