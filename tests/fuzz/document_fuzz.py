"""Fuzzes the readers of documents: whatever the text, there is a value or an error for the user."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import yaml

from faultkit.agents.suite_file import load_suite
from faultkit.base.documents.yaml_text import read_document
from faultkit.base.errors import FaultkitError
from faultkit.chaos.experiment.experiment_file import load_day, read_experiment
from faultkit.chaos.experiment.experiment_model import Experiment
from faultkit.chaos.experiment.preflight import problems_of
from faultkit.chaos.safety.chaos_limits import Limits, limits_of
from faultkit.cli.main import invoke
from faultkit.mcp.mock.manifest import load_source
from faultkit.plan.plan_file import load_plan
from faultkit.scenario.openapi.openapi_document import source_of
from faultkit.scenario.openapi.scenario_generator import generate
from faultkit.scenario.report.report_files import read_report
from faultkit.scenario.report.results_document import to_json
from faultkit.scenario.scenario_file import load_scenarios
from tests.agents.parse.test_suite_fuzz import WHOLE
from tests.fuzz.document_mutator import mutated_document
from tests.fuzz.fuzz_budget import Budget
from tests.mcp.fuzz.fuzzed_process import ROOT, Broken
from tests.scenario.report.examples import LOAD

LIMIT_S = 20
"""CPU seconds for one document."""
_DEFECT = re.compile(r"unexpected \w+(Error|Exception)|Traceback")
_EXAMPLES = ROOT / "examples"


def _read_experiment(path: Path) -> None:
    experiment, _ = read_experiment(path.read_text(), str(path), {})
    if isinstance(experiment, Experiment):
        problems_of(experiment, Limits())


def _command(*words: str, codes: tuple[int, ...] = (0, 2)) -> Callable[[Path], None]:
    """Return a reader that is a command: it must exit with one of the codes, and without a defect."""

    def read(path: Path) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = invoke([*words, str(path)])
        if code not in codes or _DEFECT.search(said.getvalue()):
            raise Broken(f"exit code {code}: {said.getvalue()[-1000:]}")

    return read


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "plan": ("plan.yaml", load_plan),
    "scenario": ("scenario.yaml", load_scenarios),
    "scenario validate": ("scenario.yaml", _command("scenario", "validate")),
    "suite": ("suite.yaml", lambda path: load_suite(path, env={})),
    "test --collect-only": ("suite.yaml", _command("test", "--collect-only", codes=(0, 2, 7))),
    "experiment": ("experiment.yaml", _read_experiment),
    "game day": ("day.yaml", lambda path: load_day(path, {})),
    "chaos validate": ("experiment.yaml", _command("chaos", "validate")),
    "chaos limits": ("limits.yaml", lambda path: limits_of(read_document(path.read_text(), "limits"), {})),
    "manifest": ("tools.yaml", load_source),
    "openapi": ("openapi.yaml", lambda path: generate(source_of(str(path)), writes=True)),
    "results": ("results.json", read_report),
}
"""The readers by name, each with the name of its sample."""


def samples() -> dict[str, list[str]]:
    """Return legal documents, by the names in READERS."""
    experiments = sorted((_EXAMPLES / "chaos" / "experiments").glob("*.yaml"))
    scenarios = sorted((_EXAMPLES / "scenarios").glob("*.yaml"))
    return {
        "plan.yaml": [_PLAN],
        "scenario.yaml": [path.read_text() for path in scenarios],
        "suite.yaml": [yaml.safe_dump(WHOLE), (_EXAMPLES / "shipped-agents.yml").read_text()],
        "experiment.yaml": [text for path in experiments if "gameday:" not in (text := path.read_text())],
        "day.yaml": ["gameday: Black Friday\nexperiments: [one.yaml, two]\ntogether: true\nstop: false\n"],
        "limits.yaml": [_LIMITS],
        "tools.yaml": [(_EXAMPLES / "tools.yml").read_text()],
        "openapi.yaml": [_OPENAPI],
        "results.json": [to_json(LOAD)],
    }


def fuzz_documents(budget: Budget) -> None:
    """Give mutated documents to every reader in turn, until the time is over."""
    texts = samples()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        while budget.is_left:
            for name, (file, read) in READERS.items():
                text = mutated_document(budget.rng, budget.rng.choice(texts[file]))
                data = text.encode("utf-8", "surrogatepass")
                budget.note(f"# {name}\n".encode() + data)
                path = Path(folder) / file
                path.write_bytes(data)
                _read(name, read, path)


def _read(name: str, read: Callable[[Path], object], path: Path) -> None:
    try:
        with _cpu_limit():
            read(path)
    except FaultkitError:
        return  # Its sentence is for the user.
    except UnicodeDecodeError:
        return  # `Path.read_text` above; the readers that read files themselves do not raise it.
    except Broken as error:
        raise Broken(f"{name}: {error}") from None
    except Exception as error:
        raise Broken(f"{name}: unexpected {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _cpu_limit() -> Iterator[None]:
    """Raise Broken if a document takes too much CPU time; waiting for other processes does not count."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Broken(f"it took more than {LIMIT_S} s of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_PLAN = """\
seed: 7
rules:
  - name: slow
    fault: latency
    with: {mean_ms: 300, stddev_ms: 30, distribution: normal}
    match: {proxy: "*", side: server, direction: ingress}
    trigger: {probability: 0.3, after: 10, first: 5, every: 2}
    schedule:
      - {start: 10s, duration: 30s, every: 2m, times: 3}
      - "start:80%"
  - {fault: http_error, with: {status: 503}, match: {method: GET, path: "/a*", headers: {x-id: "1*"}}}
  - {fault: tool_error, match: {tool: "s*"}, trigger: {burst: 3}}
"""
_LIMITS = """\
environments: [local, test]
environment: local
targets: ["127.*.*.*", "db:5432"]
most_duration_s: 60
most_memory_bytes: 1000000
"""
_OPENAPI = """\
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "http://127.0.0.1:{port}/v1", variables: {port: {default: "9", enum: ["9", "10"]}}}]
security: [{key: []}]
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 1, maximum: 9, multipleOf: 2}}
    get:
      operationId: pet
      parameters:
        - {name: q, in: query, style: form, explode: true, schema: {type: array, items: {type: string}}}
        - {name: d, in: query, schema: {type: string, pattern: "^[a-c]{2,3}$", minLength: 2, maxLength: 3}}
        - {name: X-Id, in: header, schema: {type: string, format: uuid}, example: a}
      responses: {"200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}
      responses: {default: {description: ok}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Pet:
      type: object
      required: [name, kind]
      properties:
        name: {type: string, minLength: 3}
        kind: {enum: [cat, dog]}
        parent: {$ref: "#/components/schemas/Pet"}
        tags: {type: array, minItems: 1, maxItems: 3, items: {oneOf: [{type: number}, {type: boolean}]}}
        more: {allOf: [{type: object}, {additionalProperties: {type: string, format: date-time}}]}
"""  # noqa: E501
