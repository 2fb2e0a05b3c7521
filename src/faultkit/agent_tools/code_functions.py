"""The functions of the tools about code. Imported when a tool is called first."""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.secrets import environment_without_secrets
from faultkit.code import find_function, list_functions, read_source
from faultkit.code.advice.answers import ChangeAnswer
from faultkit.code.advice.project_context import embedder_of
from faultkit.code.advice.selection import Selection
from faultkit.code.index import Progress, index_project, open_store
from faultkit.code.proof.proof import Proof
from faultkit.code.proof.prove import ProofSettings, prove
from faultkit.code.source_files import folder_of


def list_names(call: ToolCall) -> ToolResult:
    """Return the names of the functions of a file."""
    path = call.values["file"]
    with blame_argument("file", path):
        source = read_source(path, call.values["lang"])
    names = [each.qualified_name for each in list_functions(source.parse())]
    return ToolResult(as_json(names), {"names": names, "language": source.language.name})


def extract_block(call: ToolCall) -> ToolResult:
    """Return the code of one function."""
    path = call.values["file"]
    with blame_argument("file", path):
        source = read_source(path, call.values["lang"])
        syntax = source.parse()
        found = find_function(list_functions(syntax), call.values["func"])
    code = {"full": syntax.text(found.full), "body": syntax.text(found.body)}
    place = {
        "name": found.qualified_name,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "language": source.language.name,
    }
    return ToolResult(as_json(code), {**code, **place})


# --- waiting for a model ---------------------------------------------------------------------------


_REPORT_EVERY_S = 1.0


@contextmanager
def report_waiting(call: ToolCall) -> Iterator[None]:
    """Report the seconds that a language model takes; nothing for the rules, which answer at once."""
    settings = call.services.llm
    if settings is None:
        yield
        return
    what = f"asking {settings.model} ({settings.provider.name})"
    over = threading.Event()

    def tick() -> None:
        seconds = 0
        call.progress(seconds, None, what)
        while not over.wait(_REPORT_EVERY_S):
            seconds += 1
            call.progress(seconds, None, f"{what}: {seconds} s")

    thread = threading.Thread(target=tick, name="faultkit-asking", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# --- errors ----------------------------------------------------------------------------------------


_FUNCTION = "function"


@contextmanager
def blame_argument(argument: str, path: str) -> Iterator[None]:
    """Turn errors about a path or a function into errors that name the argument which gave it."""
    try:
        yield
    except InputError as error:
        if error.path.rpartition(": ")[2] == _FUNCTION:
            raise InputError("func", f"{error.problem} (in {path})") from None
        if error.path in (path, argument, "folder"):
            raise InputError(argument, f"{error.problem} ({path})") from None
        raise


# --- texts -----------------------------------------------------------------------------------------


def without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a document without some of its members."""
    return {name: value for name, value in document.items() if name not in names}


_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def as_json(document: Any) -> str:
    """Return a document as readable JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_diff_block(diff: str, notes: Sequence[str] = ()) -> str:
    """Return a diff in a Markdown code block. Notes come before the first `---`, where `git apply` skips
    them."""
    lines = "".join(f"# {' '.join(note.split())}\n" for note in notes)
    body = lines + diff + ("" if diff.endswith("\n") or not diff else "\n")
    longest = max((len(found) for found in _FENCE.findall(body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{body}{fence}"


# --- scores ----------------------------------------------------------------------------------------


def score_performance(call: ToolCall) -> ToolResult:
    """Score the performance of a snippet."""
    return _score(call, "performance")


def score_reliability(call: ToolCall) -> ToolResult:
    """Score the reliability of a snippet."""
    return _score(call, "reliability")


def _score(call: ToolCall, kind: Literal["performance", "reliability"]) -> ToolResult:
    with report_waiting(call):
        answer = call.services.advisor().score(
            call.values["snippet"], call.values["lang"], kind, cancel=call.cancelled
        )
    document = {
        "explanation": answer.explanation,
        "score": answer.score,
        "engine": answer.engine,
        "model": answer.model,
    }
    return ToolResult(as_json(document), document)


# --- suggestions -----------------------------------------------------------------------------------


def suggest_performance(call: ToolCall) -> ToolResult:
    """Return a diff that makes a snippet faster."""
    return _suggest(call, "performance")


def suggest_reliability(call: ToolCall) -> ToolResult:
    """Return a diff that makes a snippet more reliable."""
    return _suggest(call, "reliability")


def _suggest(call: ToolCall, kind: Literal["performance", "reliability"]) -> ToolResult:
    values = call.values
    score, target = values["score"], values["target_score"]
    with report_waiting(call):
        # A score above the target is accepted: the advisor may score the code lower.
        answer = call.services.advisor().suggest(
            values["snippet"],
            values["lang"],
            kind,
            score=score if score is None or score <= target else None,
            target_score=target,
            selection=Selection(unsafe=not values["safe"]),
            cancel=call.cancelled,
        )
    document = without(answer.document(), "old")  # The caller has just sent it.
    asked = [f"{'check' if each.is_applied else 'not made'}: {each.text()}" for each in answer.questions]
    if not answer.diff:
        return ToolResult(f"Nothing to change: {answer.reason}.\n\n{as_diff_block('', asked)}", document)
    missed = [answer.reason] if answer.score_after < target else []
    notes = [*missed, *asked, *(f"also needed at the top of the file: {each}" for each in answer.imports)]
    notes += [f"uses the package {each}: install it if it is not there" for each in answer.dependencies]
    return ToolResult(as_diff_block(answer.diff, notes), document)


# --- SLOs ------------------------------------------------------------------------------------------


def suggest_slos(call: ToolCall) -> ToolResult:
    """Return service level objectives for a snippet."""
    with report_waiting(call):
        answer = call.services.advisor().slos(
            call.values["snippet"], call.values["lang"], cancel=call.cancelled
        )
    document = answer.document()
    return ToolResult(as_json(document["slos"]), document)


# --- analysis --------------------------------------------------------------------------------------


def analyse(call: ToolCall) -> ToolResult:
    """Analyse one function of a file in depth."""
    values = call.values
    with report_waiting(call), blame_argument("file", values["file"]):
        answer = call.services.advisor(values["file"]).analyse(
            values["file"],
            values["func"],
            language=values["lang"],
            concerns=values["concerns"],
            cancel=call.cancelled,
        )
    document = answer.document()
    return ToolResult(as_json(document), document)


# --- changes ---------------------------------------------------------------------------------------


def change_file(call: ToolCall) -> ToolResult:
    """Return changes to a whole file, and a proof of them if asked. The file is not written."""
    values, began = call.values, time.monotonic()
    if values["verify"] and not call.services.may_run_code:
        problem = "expected false: this server runs no code, because it was started without --allow-run"
        raise InputError("verify", f"{problem}, got true")
    route = values["route"]
    if route is not None and not route.startswith("/"):
        raise InputError("route", f"expected a path such as /items, got {shown(route)}")
    with blame_argument("file", values["file"]):
        with report_waiting(call):
            answer = call.services.advisor(values["file"]).change_file(
                values["file"],
                target_score=values["target_score"],
                language=values["lang"],
                selection=Selection(unsafe=not values["safe"]),
                cancel=call.cancelled,
            )
        document = answer.document()
        if values["verify"] and answer.diff:
            document["proof"] = _proof(call, answer, time.monotonic() - began).document()
    # The text has the documented members. Both texts of the file need not come twice.
    brief = without(document, "old", "new")
    return ToolResult(as_json(document if values["contents"] else brief), brief)


def _proof(call: ToolCall, answer: ChangeAnswer, asked_s: float) -> Proof:
    """Run both versions under faults. If the call is cancelled, all their processes end."""
    # Progress may only grow, and it has counted the seconds of the model so far.
    before = math.ceil(asked_s)

    def watch(what: str, step: int, of: int) -> None:
        call.progress(before + step, before + of + 1, what)

    environment = environment_without_secrets(os.environ, call.services.passed_variables)
    settings = ProofSettings(
        route=call.values["route"], python=call.values["python"], environment=environment
    )
    return prove(call.values["file"], answer.old, answer.new, settings, watch, call.cancelled)


# --- index -----------------------------------------------------------------------------------------


_MOST_SKIPPED = 100
_SCANNED = 0.1
"""Progress at the end of the scan, whose length is unknown: less than that of the first indexed file."""


def index_source_code(call: ToolCall) -> ToolResult:
    """Index the code of a project."""
    root = folder_of(call.values["source_dir"])

    def watch(step: Progress) -> None:
        # Raising here is safe: the indexer leaves a consistent index, as after an interrupted run.
        if call.cancelled.is_set():
            raise RunError(f"stopped before {root} was indexed: the call was cancelled")
        if step.phase == "scan":
            call.progress(_SCANNED * (1 - 1 / (1 + step.done)), None, f"{step.done} source files found")
        else:
            call.progress(step.done, step.of, f"{step.done} of {step.of} files indexed")

    call.progress(0, None, f"looking for source files in {root}")
    with open_store(root, write=True, index_dir=call.services.index_dir) as store:
        summary = index_project(root, call.values["lang"], store, embedder_of(call.services.model()), watch)
    call.services.indexed = str(root)
    document = asdict(summary)
    del document["embedded"], document["seconds"], document["size_bytes"]
    document["skipped"] = document["skipped"][:_MOST_SKIPPED]
    return ToolResult("done", {"status": "done", **document})
