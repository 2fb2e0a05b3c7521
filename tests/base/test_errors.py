"""Errors for users: their path, their type and their fields."""

from __future__ import annotations

import copy
import pickle

from faultkit.base.documents.variables import UnsetVariable
from faultkit.base.documents.yaml_text import placed
from faultkit.base.errors import InputError

UNSET = "expected the variable TOKEN to be set, or ${TOKEN:-otherwise}"


def test_an_error_keeps_its_type_and_fields_when_its_path_changes() -> None:
    error = UnsetVariable("token", "TOKEN")
    for moved, path in (
        (error.at("key"), "key"),
        (error.within("proxy"), "proxy.token"),
        (placed(error, "a: 1\ntoken: x\n", "f.yaml"), "f.yaml: line 2: token"),
    ):
        assert isinstance(moved, UnsetVariable)
        assert (moved.path, moved.problem, moved.name, str(moved)) == (
            path,
            UNSET,
            "TOKEN",
            f"{path}: {UNSET}",
        )
    assert str(error) == f"token: {UNSET}"


def test_an_error_is_whole_after_pickle_and_copy() -> None:
    for error in (InputError("a", "wrong"), UnsetVariable("a", "TOKEN")):
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
