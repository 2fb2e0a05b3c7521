"""Controls that change entries of the journal: the run ends as it would, with its journal and its reports."""

from __future__ import annotations

import pytest

from faultkit.chaos.experiment.experiment_model import FAULTKIT_KEY
from faultkit.chaos.report.experiment_formats import RENDERERS, journal_json
from faultkit.chaos.report.journal_report import chaos_report
from tests.chaos.stage import Stage
from tests.chaos.toolkit.conftest import Shop
from tests.chaos.toolkit.documents import LOOK, experiment

DOCUMENT = experiment(
    "changed",
    [LOOK],
    controls=[{"name": "changer", "provider": {"type": "python", "module": "changer"}}],
)
GONE = "a control has removed or replaced {} in the journal: what was there does not count"
OUTCOMES: dict[str, tuple[str, list[str]]] = {
    "name": ("held", []),
    "duration": ("held", []),
    "exception": ("held", []),
    "loop": ("held", []),
    "keys": ("held", []),
    "probes": ("not_checked", []),
    "clear": ("not_checked", ["steady_states", "run", "rollbacks"]),
    "rollbacks": ("held", ["rollbacks"]),
    "steady_states": ("not_checked", ["steady_states"]),
    "run": ("not_exercised", ["run"]),
    "experiment": ("held", []),
    "deviated": ("held", []),
    "before": ("held", []),
    "during": ("held", []),
}


@pytest.mark.parametrize(("change", "outcome", "gone"), [(key, *value) for key, value in OUTCOMES.items()])
def test_what_a_control_changes_costs_neither_the_end_of_the_run_nor_its_reports(
    shop: Shop, stage: Stage, monkeypatch: pytest.MonkeyPatch, change: str, outcome: str, gone: list[str]
) -> None:
    monkeypatch.setenv("CHANGE", change)
    journal = stage.run(shop.experiment(DOCUMENT))
    ours = journal.document[FAULTKIT_KEY]
    assert (journal.result.outcome, journal.result.rollback_ok) == (outcome, True), journal.result.error
    assert ours["warnings"] == [GONE.format(key) for key in gone]
    report = chaos_report("changed", [journal.document], "faultkit")
    assert all(render(report) for render in RENDERERS.values())
    assert journal_json(report, [journal.document])
