"""ChaosFault: valid settings, and the errors of invalid ones."""

from __future__ import annotations

import math
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.chaos.named_faults.chaos_fault import (
    FAULT_TYPES,
    SPECIFIED_TYPES,
    ChaosFault,
    parse_chaos_fault,
)
from faultkit.faults import FAULTS

GOOD: dict[str, Any] = {"name": "slow-database", "fault_type": "latency"}
CUT: dict[str, Any] = {"name": "cut", "fault_type": "network_partition"}
HOG: dict[str, Any] = {"name": "hog", "fault_type": "resource_exhaustion"}


def test_the_defaults_are_those_of_the_original_tool() -> None:
    fault = ChaosFault("slow-database", "latency")
    assert (fault.probability, fault.duration_s, fault.error_message) == (0.1, 0.0, "Injected fault")
    assert (fault.seed, fault.targets, fault.metadata) == (None, (), {})


def test_the_five_original_types_come_first_and_the_whole_vocabulary_follows() -> None:
    five = ("latency", "error", "timeout", "resource_exhaustion", "network_partition")
    assert FAULT_TYPES[:5] == SPECIFIED_TYPES == five
    assert set(FAULT_TYPES) == {*five, *FAULTS}


@pytest.mark.parametrize(
    ("given", "path", "problem"),
    [
        ({"probability": 1.1}, "probability", "expected a number from 0 to 1, got 1.1"),
        ({"probability": -0.1}, "probability", "expected a number from 0 to 1, got -0.1"),
        ({"probability": math.nan}, "probability", "expected a number from 0 to 1, got nan"),
        ({"probability": True}, "probability", "expected a number from 0 to 1, got true"),
        ({"probability": "0.5"}, "probability", 'expected a number from 0 to 1, got "0.5"'),
        ({"probability": None}, "probability", "expected a number from 0 to 1, got nothing"),
        ({"duration_s": -1}, "duration_s", "expected a number from 0 to 86400, got -1"),
        ({"duration_s": math.inf}, "duration_s", "expected a number from 0 to 86400, got inf"),
        ({"duration_s": math.nan}, "duration_s", "expected a number from 0 to 86400, got nan"),
        ({"duration_s": "2"}, "duration_s", 'expected a number from 0 to 86400, got "2"'),
        ({"duration_s": False}, "duration_s", "expected a number from 0 to 86400, got false"),
        ({"name": ""}, "name", 'expected printable text without blanks around it, got ""'),
        ({"name": " db"}, "name", 'expected printable text without blanks around it, got " db"'),
        ({"name": "a\nb"}, "name", 'expected printable text without blanks around it, got "a\\nb"'),
        ({"name": 3}, "name", "expected a text, got 3"),
        ({"name": "x" * 201}, "name", "expected at most 200 characters, got 201"),
        ({"fault_type": None}, "fault_type", "expected a type of fault, got nothing"),
        ({"error_message": 5}, "error_message", "expected a text, got 5"),
        ({"seed": True}, "seed", "expected a whole number or a text, got true"),
        ({"seed": 1.5}, "seed", "expected a whole number or a text, got 1.5"),
        ({"targets": "db:1"}, "targets", 'expected a list of HOST:PORT, got "db:1"'),
        ({"metadata": [1]}, "metadata", "expected a mapping of texts, got a list"),
        ({**CUT}, "targets", "expected at least one HOST:PORT to cut off, got none"),
        ({**CUT, "targets": ["db"]}, "targets[0]", 'expected HOST:PORT, got no port in "db"'),
        ({**CUT, "targets": ["db:0"]}, "targets[0]", 'expected a port from 1 to 65535, got "db:0"'),
        ({**CUT, "targets": ["db:1", 7]}, "targets[1]", "expected HOST:PORT, got 7"),
        (
            {**CUT, "targets": ["db:1"], "metadata": {"mode": "drop"}},
            "metadata.mode",
            'expected one of refuse, blackhole, got "drop"',
        ),
        (
            {**CUT, "targets": ["db:1"], "metadata": {"mod": "refuse"}},
            "metadata.mod",
            'unknown key; did you mean "mode"?',
        ),
        (
            {**HOG, "metadata": {"resource": "gold"}},
            "metadata.resource",
            'expected one of memory, descriptors, threads, cpu, disk, got "gold"',
        ),
        (
            {**HOG, "metadata": {"amount": -1}},
            "metadata.amount",
            "expected a whole number from 1 to 65536, got -1",
        ),
        (
            {**HOG, "metadata": {"amount": 1.5}},
            "metadata.amount",
            "expected a whole number from 1 to 65536, got 1.5",
        ),
        ({**HOG, "targets": ["db:1"]}, "targets", "expected none: resource_exhaustion is of this machine"),
        (
            {**HOG, "metadata": {"folder": "/tmp"}},
            "metadata.folder",
            "expected only with disk, got it with memory",
        ),
        (
            {"fault_type": "error", "metadata": {"raises": "SystemExit"}},
            "metadata.raises",
            'expected the name of a built-in exception such as ConnectionError, got "SystemExit"',
        ),
        (
            {"fault_type": "bandwidth"},
            "metadata.control",
            "expected the address of the control API of a `fault run` that carries out bandwidth, got none",
        ),
        (
            {"fault_type": "hang", "metadata": {"control": "example.com:7900"}},
            "metadata.control",
            "expected a loopback address, got example.com:7900",
        ),
        (
            {"fault_type": "hang"},
            "metadata.control",
            "expected the address of the control API of a `fault gateway` that carries out hang, got none",
        ),
        (
            {"fault_type": "bandwidth", "metadata": {"control": "127.0.0.1:7900", "with": {"rate": -1}}},
            "metadata.with.rate",
            "expected a number above 0, got -1.0",
        ),
        (
            {"targets": ["db:1"]},
            "targets",
            "expected none with latency unless metadata.control names a proxy",
        ),
    ],
)
def test_bad_input_is_named(given: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        ChaosFault(**{**GOOD, **given})
    assert (caught.value.path, caught.value.problem) == (path, problem)


def test_the_error_of_an_unknown_type_lists_the_types_and_suggests_one() -> None:
    with pytest.raises(InputError) as caught:
        ChaosFault("x", "latencie")
    assert caught.value.path == "fault_type"
    assert caught.value.problem == (
        "expected one of latency, error, timeout, resource_exhaustion, network_partition, or a fault of "
        '`fault faults`, got "latencie"; did you mean "latency"?'
    )


@pytest.mark.parametrize("probability", [0, 1, 0.0, 1.0])
def test_the_ends_of_the_range_are_legal(probability: float) -> None:
    assert ChaosFault("x", "error", probability).probability == probability


def test_changing_the_given_objects_afterwards_does_no_harm() -> None:
    metadata = {"resource": "memory"}
    fault = ChaosFault("x", "resource_exhaustion", metadata=metadata)
    metadata["resource"] = "gold"
    assert fault.metadata == {"resource": "memory"}


def test_a_token_is_not_shown() -> None:
    metadata = {"control": "127.0.0.1:7900", "token": "very-secret"}
    fault = ChaosFault("x", "bandwidth", metadata=metadata)
    assert "very-secret" not in repr(fault)
    assert "very-secret" not in repr(fault.effect())


def test_a_document_is_read_with_the_words_of_the_seed() -> None:
    document = {
        "name": "slow-database",
        "fault_type": "latency",
        "probability": 0.3,
        "duration_seconds": 2.0,
    }
    assert parse_chaos_fault(document) == ChaosFault("slow-database", "latency", 0.3, 2.0)


@pytest.mark.parametrize(
    ("document", "path", "problem"),
    [
        ({"name": "x"}, "fault_type", "expected a text, got nothing"),
        ({"fault_type": "error"}, "name", "expected a text, got nothing"),
        ({**GOOD, "duration_seconds": "2"}, "duration_seconds", 'expected a number from 0 to 86400, got "2"'),
        (
            {**GOOD, "duration_seconds": 1, "duration_s": 1},
            "duration_seconds",
            "expected it or duration_s, got both",
        ),
        ({**GOOD, "probabilty": 1}, "probabilty", 'unknown key; did you mean "probability"?'),
        ([], "", "expected a mapping, got a list"),
    ],
)
def test_a_wrong_document_is_named(document: object, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_chaos_fault(document)
    assert (caught.value.path, caught.value.problem) == (path, problem)
