"""Experiments by name, and game days."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_catalog import GameDayFile, find_runnable, load_day, read_catalog
from faultkit.chaos.experiment.experiment_model import Experiment

FORM = "name: {name}\nsteady_state: [{{process: ['true']}}]\nmethod: []\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(FORM.format(name=name))
    (tmp_path / "c.json").write_text('{"title": "c", "description": "", "method": []}')
    (tmp_path / "day.yml").write_text("gameday: Monday\nexperiments: [a.yaml, b]\ntogether: true\n")
    return tmp_path


def test_a_folder_is_known_by_the_names_of_what_is_in_it(folder: Path) -> None:
    (folder / "again.yaml").write_text(FORM.format(name="a"))
    catalog = read_catalog(folder)
    assert list(catalog.experiments) == ["a", "b", "c"]
    assert catalog.days == {"Monday": folder / "day.yml"}
    [problem] = catalog.problems
    assert "expected a name that no other experiment has" in str(problem)
    assert read_catalog(folder / "nowhere").experiments == {}


def test_one_is_found_by_its_file_or_its_name(folder: Path) -> None:
    for given in (str(folder / "a.yaml"), "a"):
        found = find_runnable(given, folder)
        assert isinstance(found, Experiment)
        assert found.name == "a"
    with pytest.raises(InputError, match='unknown experiment "x"; expected one of a, b, c'):
        find_runnable("x", folder)
    with pytest.raises(InputError, match="expected a file that is there"):
        find_runnable("x.yaml", folder)


def test_a_game_day_names_files_or_experiments(folder: Path) -> None:
    for given in (str(folder / "day.yml"), "Monday"):
        day = find_runnable(given, folder)
        assert isinstance(day, GameDayFile)
        assert ([each.name for each in day.experiments], day.together, day.stop) == (["a", "b"], True, False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gameday: [1]\nexperiments: [a]", "gameday: expected a title, got a list"),
        ("gameday: M\nexperiments: []", "experiments: expected a list of files or names, got a list"),
        ("gameday: M\nexperiments: [a, a.yaml]", 'expected each of them once, got "a" twice'),
        ("gameday: M\nexperiments: [7]", r"experiments\[0\]: expected a file or the name"),
        ("gameday: M\nexperiments: [a]\ntogether: 1", "together: expected true or false, got 1"),
        ("gameday: M\nexperiment: [a]", "experiment: unknown key"),
        ("gameday: M\nexperiments: [z]", 'unknown experiment "z"'),
    ],
)
def test_what_is_wrong_with_a_game_day_is_told(folder: Path, text: str, said: str) -> None:
    (folder / "day.yml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_day(folder / "day.yml")
