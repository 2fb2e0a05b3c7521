"""The tools about code, as the original documents them: by the offline rules, and with a language model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from jsonschema import Draft202012Validator

from faultkit.agent_tools.code_functions import as_diff_block, without
from faultkit.agent_tools.code_tools import CODE_TOOLS, CONCERNS
from faultkit.agent_tools.tool import Services, ToolResult
from faultkit.agent_tools.tool_catalog import TOOLS
from faultkit.agent_tools.tool_runner import ToolFailure, ToolRunner
from faultkit.base.errors import InputError
from faultkit.code.advice.answers import CONCERNS as KNOWN_CONCERNS
from faultkit.code.proof.prove import ProofSettings
from faultkit.code.proof.python_service import python_service
from tests.agent_tools.sample_tools import PATIENCE_S
from tests.llm.conftest import settings_for
from tests.llm.scripted_provider import Hang, ScriptedServer, Send, said

APP = '''\
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


class Store:
    def save(self, é):
        """Keeps nothing."""
        return é
'''
INDEX = APP[APP.index("@app.get") : APP.index("\n\n\nclass")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "app.py").write_text(APP, "utf-8")
    return folder


def outcome(name: str, given: dict[str, Any], services: Services | None = None) -> ToolResult | ToolFailure:
    reported: list[float] = []

    async def send(done: float, of: float | None, message: str) -> None:
        reported.append(done)

    async def scene() -> ToolResult | ToolFailure:
        return await ToolRunner(services or Services()).run(TOOLS[name], given, send)

    found = anyio.run(scene)
    assert reported == sorted(set(reported)), "progress only ever grows"
    return found


def done(name: str, given: dict[str, Any], services: Services | None = None) -> ToolResult:
    found = outcome(name, given, services)
    assert isinstance(found, ToolResult), found.text
    Draft202012Validator(TOOLS[name].output).validate(found.structured)
    return found


def failed(name: str, given: dict[str, Any], services: Services | None = None) -> str:
    found = outcome(name, given, services)
    assert isinstance(found, ToolFailure)
    return found.text


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_the_schemas_of_a_tool_are_schemas_and_hold_for_its_examples(tool: Any) -> None:
    Draft202012Validator.check_schema(tool.output)
    for each in tool.arguments:
        Draft202012Validator.check_schema(each.schema)
        if each.example:
            Draft202012Validator(each.schema).validate(json.loads(each.example))


def test_the_listed_concerns_are_those_of_the_package() -> None:
    assert set(CONCERNS) == set(KNOWN_CONCERNS)


def test_names_are_listed_as_a_json_array(project: Path) -> None:
    found = done("fault_list_function_names", {"file": str(project / "app.py")})
    assert json.loads(found.text) == ["index", "Store.save"]
    assert found.structured == {"names": ["index", "Store.save"], "language": "python"}


def test_a_language_can_be_given_where_the_ending_does_not_tell_it(project: Path) -> None:
    place = project / "app.txt"
    place.write_text("def f(): pass\n")
    assert failed("fault_list_function_names", {"file": str(place)}).startswith(
        "file: expected a file that ends with one of .py "
    )
    found = done("fault_list_function_names", {"file": place.as_uri(), "lang": "PY"})
    assert found.text == '[\n  "f"\n]'


def test_a_block_is_extracted_whole_and_without_its_signature(project: Path) -> None:
    found = done("fault_extract_code_block", {"file": str(project / "app.py"), "func": "index"})
    code = json.loads(found.text)
    assert list(code) == ["full", "body"]
    assert code["full"] == INDEX
    assert code["body"].startswith("return httpx.get(")
    assert found.structured == {
        **code,
        "name": "index",
        "start_line": 11,
        "end_line": 15,
        "language": "python",
    }


def test_an_unknown_function_is_an_error_that_names_the_argument_and_guesses(project: Path) -> None:
    said = failed("fault_extract_code_block", {"file": str(project / "app.py"), "func": "indx"})
    assert said.startswith('func: unknown name "indx"; did you mean "index"?')
    said = failed("fault_function_reliability_deep_analysis", {"file": str(project / "app.py"), "func": "x"})
    assert said.startswith('func: unknown name "x"')


def test_a_file_that_is_no_source_is_an_error_that_names_the_argument(project: Path) -> None:
    place = project / "data.py"
    place.write_bytes(b"\0\1\2")
    for name in ("fault_list_function_names", "fault_make_reliability_and_perf_changes"):
        assert failed(name, {"file": str(place)}).startswith("file: expected source text, got a binary file")


@pytest.mark.parametrize("kind", ["performance", "reliability"])
def test_a_score_has_an_explanation_and_names_its_engine(kind: str) -> None:
    found = done(f"fault_score_{kind}", {"snippet": INDEX, "lang": "python"})
    document = json.loads(found.text)
    assert document == found.structured
    assert list(document) == ["explanation", "score", "engine", "model"]
    assert (document["engine"], document["model"]) == ("rules", None)
    assert 0 <= document["score"] < 1


def test_a_suggestion_is_a_diff_in_a_code_block_that_applies(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(INDEX)
    given = {"snippet": INDEX, "lang": "python", "score": "0.3", "target_score": "0.8"}
    found = done("fault_suggest_better_function_reliability", given)
    assert found.text.startswith("```diff\n")
    assert found.text.endswith("\n```")
    diff = found.text.removeprefix("```diff\n").removesuffix("```")
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], input=diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "snippet.py").read_text() == found.structured["new"]
    assert "HTTPException(status_code=502" in found.structured["new"]
    assert "old" not in found.structured, "the caller has it"


def test_a_suggestion_names_the_packages_that_it_uses() -> None:
    given = {"snippet": INDEX, "lang": "python", "target_score": 1}
    found = done("fault_suggest_better_function_reliability", given)
    assert found.structured["dependencies"]
    for name in found.structured["dependencies"]:
        assert f"# uses the package {name}: install it if it is not there\n" in found.text


def test_a_score_is_that_of_the_suggestion() -> None:
    scored = done("fault_score_reliability", {"snippet": INDEX, "lang": "python"}).structured["score"]
    given = {"snippet": INDEX, "lang": "python", "target_score": scored}
    found = done("fault_suggest_better_function_reliability", given)
    assert (found.structured["score"], found.structured["diff"]) == (scored, "")


def test_a_suggestion_that_misses_the_target_says_so() -> None:
    text = (
        "async def notify(url):\n    try:\n        requests.post(url, json={})\n"
        "    except Exception:\n        pass\n"
    )
    given = {"snippet": text, "lang": "python", "target_score": 0.95}
    found = done("fault_suggest_better_function_reliability", given)
    score = found.structured["score_after"]
    assert found.text.startswith(f"```diff\n# the score is {score:.2f}, and 0.95 was asked for: ")


def test_a_suggestion_without_a_change_has_a_reason_and_an_empty_block() -> None:
    given = {"snippet": "def add(a, b):\n    return a + b\n", "lang": "python"}
    for kind in ("performance", "reliability"):
        found = done(f"fault_suggest_better_function_{kind}", given)
        assert found.text.startswith("Nothing to change: ")
        assert found.text.endswith(".\n\n```diff\n```")
        assert found.structured["diff"] == ""


def test_a_score_above_the_target_is_no_mistake() -> None:
    given = {"snippet": "x = 1\n", "lang": "python", "score": 0.9, "target_score": 0.8}
    assert done("fault_suggest_better_function_performance", given).structured["diff"] == ""


def test_a_fence_is_longer_than_those_inside_and_notes_stand_before_the_diff() -> None:
    assert as_diff_block("--- a\n+++ b\n") == "```diff\n--- a\n+++ b\n```"
    assert as_diff_block("x", ["import\ntime"]) == "```diff\n# import time\nx\n```"
    assert as_diff_block("````\n") == "`````diff\n````\n`````"


def test_objectives_are_a_json_array_of_the_documented_objects() -> None:
    found = done("fault_suggest_service_level_objectives_slo", {"snippet": INDEX, "lang": "python"})
    slos = json.loads(found.text)
    assert slos == found.structured["slos"]
    keys = ["type", "title", "objective", "explanation", "threshold", "unit", "window", "sli"]
    assert slos
    assert all(list(each)[: len(keys)] == keys for each in slos)
    assert all(set(each["sli"]) == {"prometheus", "gcp/cloudrun"} for each in slos)


def test_changes_to_a_file_are_returned_and_not_written(project: Path) -> None:
    found = done("fault_make_reliability_and_perf_changes", {"file": str(project / "app.py")})
    document = json.loads(found.text)
    assert without(document, "old", "new") == found.structured, "the file comes once, in the text"
    assert {"score", "explanation", "old", "new", "dependencies", "diff", "reason"} <= set(document)
    assert document["old"] == (project / "app.py").read_text("utf-8") == APP
    subprocess.run(["git", "apply", "-"], input=document["diff"].encode(), cwd=project, check=True)
    assert (project / "app.py").read_text("utf-8") == document["new"] != APP


def test_the_texts_of_a_file_can_be_left_out_of_its_changes(project: Path) -> None:
    given = {"file": str(project / "app.py"), "contents": False}
    found = done("fault_make_reliability_and_perf_changes", given)
    assert json.loads(found.text) == found.structured
    assert "diff" in found.structured
    assert not {"old", "new"} & set(found.structured)


def test_the_error_of_an_impossible_proof_names_its_requirements(project: Path) -> None:
    place = project / "script.py"
    place.write_text("import requests\n\ndef load(url):\n    return requests.get(url).json()\n")
    given = {"file": str(place), "verify": True}
    assert "expected a service to run" in failed("fault_make_reliability_and_perf_changes", given)


def test_a_proof_calls_the_route_that_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def prove(file: str, old: str, new: str, settings: ProofSettings, *rest: object) -> None:
        asked.append(settings.route)
        python_service(file, old, route=settings.route)
        raise InputError("", "that is enough")

    monkeypatch.setattr("faultkit.agent_tools.code_functions.prove", prove)
    place = project / "app.py"
    place.write_text(
        "import os\nimport requests\nfrom starlette.applications import Starlette\n\n"
        "app = Starlette(routes=some())\n\n\ndef load():\n    return requests.get(os.environ['A_URL'])\n"
    )
    given = {"file": str(place), "verify": True}
    told = failed("fault_make_reliability_and_perf_changes", given)
    assert "name one with --route /PATH (for a tool call, its argument route)" in told
    assert "that is enough" in failed("fault_make_reliability_and_perf_changes", {**given, "route": "/items"})
    told = failed("fault_make_reliability_and_perf_changes", {**given, "route": "items"})
    assert 'route: expected a path such as /items, got "items"' in told
    assert asked == [None, "/items"]


def test_code_that_is_run_gets_no_secrets_of_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("OPENAI_API_KEY", "FAULT_AGENT_TOKEN", "SHOP_API_KEY", "COLOUR")
    for name in names:
        monkeypatch.setenv(name, "set")
    shown = f"raise SystemExit([name for name in {names} if name in os.environ])\n"
    (project / "app.py").write_text(f"{APP}\n{shown}", "utf-8")
    given = {"file": str(project / "app.py"), "verify": True}
    services = Services(passed_variables=frozenset({"SHOP_API_KEY"}))
    said = failed("fault_make_reliability_and_perf_changes", given, services)
    assert "['SHOP_API_KEY', 'COLOUR']" in said


def proved(file: Path) -> list[str]:
    """Return the faults of a proof; check that the changed app answers every client under each of them."""
    given = {"file": str(file), "verify": True}
    faults = done("fault_make_reliability_and_perf_changes", given).structured["proof"]["faults"]
    assert all(each["after"]["answered"] == each["after"]["requests"] > 0 for each in faults)
    return [each["fault"] for each in faults]


@pytest.mark.thorough
def test_a_change_is_proved_on_running_services(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make proofs short: an app with a short time-out, under one fault. Proofs have tests of their own."""
    quick = partial(ProofSettings, faults=("healthy", "blackhole"))
    monkeypatch.setattr("faultkit.agent_tools.code_functions.ProofSettings", quick)
    (project / "app.py").write_text(APP.replace("}).json()", "}, timeout=0.5).json()"), "utf-8")
    assert proved(project / "app.py") == ["healthy", "blackhole"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_change_is_proved_under_every_fault(project: Path) -> None:
    assert len(proved(project / "app.py")) == 7


def test_an_analysis_has_an_evaluation_for_each_concern(project: Path) -> None:
    given = {"file": str(project / "app.py"), "func": "index", "lang": "python", "concerns": []}
    document = json.loads(done("fault_function_reliability_deep_analysis", given).text)
    assert {each["concern"] for each in document["evaluations"]} == set(CONCERNS)
    one = done("fault_function_reliability_deep_analysis", {**given, "concerns": ["threat"]})
    assert [each["concern"] for each in one.structured["evaluations"]] == ["threat"]


def test_indexing_returns_done_and_does_not_change_the_project(project: Path, tmp_path: Path) -> None:
    services = Services(index_dir=str(tmp_path / "index"))
    before = sorted(project.rglob("*"))
    found = done("fault_index_source_code", {"source_dir": project.as_uri(), "lang": "python"}, services)
    assert found.text == "done"
    assert (found.structured["status"], found.structured["files"], found.structured["indexed"]) == (
        "done",
        1,
        1,
    )
    assert sorted(project.rglob("*")) == before
    again = done("fault_index_source_code", {"source_dir": str(project)}, services)
    assert (again.structured["indexed"], again.structured["unchanged"]) == (0, 1)
    assert services.indexed == str(project)


@pytest.mark.parametrize("tool", CODE_TOOLS, ids=lambda tool: tool.name)
def test_a_tool_that_is_given_nothing_names_what_it_needs(tool: Any) -> None:
    needed = [
        each.name for each in tool.arguments if "default" not in each.schema and each.default is not None
    ]
    said = failed(tool.name, {})
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        name for name in needed if name != "concerns"
    ]
    assert "for example" in said


SNIPPET = {"snippet": "def f():\n    return 1\n", "lang": "python"}


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


async def silent(done: float, of: float | None, message: str) -> None:
    pass


def services_of(provider: ScriptedServer) -> Services:
    return Services(settings_for("openai", provider.url))


def test_the_answer_of_a_model_names_it(provider: ScriptedServer) -> None:
    heard: list[tuple[float, str]] = []

    async def send(done: float, of: float | None, message: str) -> None:
        heard.append((done, message))

    async def scene() -> Any:
        services = services_of(provider)
        try:
            return await ToolRunner(services).run(TOOLS["fault_score_reliability"], SNIPPET, send)
        finally:
            services.close()

    provider.play(said("openai", json.dumps({"score": 0.4, "explanation": "No timeout."})))
    found = anyio.run(scene)
    assert isinstance(found, ToolResult)
    assert json.loads(found.text) == found.structured
    assert (found.structured["score"], found.structured["engine"]) == (0.4, "openai")
    assert heard[0][0] == 0
    assert heard[0][1].startswith("asking ")


def test_a_failure_of_the_provider_is_an_error_and_not_an_answer_of_the_rules(
    provider: ScriptedServer,
) -> None:
    async def scene() -> Any:
        services = services_of(provider)
        try:
            return await ToolRunner(services).run(TOOLS["fault_score_reliability"], SNIPPET, silent)
        finally:
            services.close()

    provider.play(Send({"error": {"message": "bad key"}}, status=401))
    found = anyio.run(scene)
    assert isinstance(found, ToolFailure)
    assert "OPENAI_API_KEY" in found.text
    assert "\n" not in found.text


def test_a_call_that_is_cancelled_does_not_wait_for_the_model(provider: ScriptedServer) -> None:
    async def scene() -> None:
        services = services_of(provider)
        calls = ToolRunner(services)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(calls.run, TOOLS["fault_score_reliability"], SNIPPET, silent)
                assert await anyio.to_thread.run_sync(provider.arrived.wait, PATIENCE_S)
                group.cancel_scope.cancel()

    provider.play(Hang())
    anyio.run(scene)
    assert len(provider.requests) == 1
