"""The tools about code: their arguments, results and descriptions. `code_functions` holds their functions.

Declarations only, so that a server starts fast. Every text here is part of the interface: models read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.argument_kinds import (
    RULE_LANGUAGES,
    choice,
    either,
    file,
    file_or_folder,
    flag,
    folder,
    language,
    number,
    several,
    text,
    whole,
)
from faultkit.agent_tools.tool import READS, Argument, Hints, Tool

TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "array", "items": TEXT}
SCORE: Mapping[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0}
ENGINE: Mapping[str, Mapping[str, Any]] = {
    "engine": {
        "type": "string",
        "description": "rules (offline), or the provider of the model that answered",
    },
    "model": {**either("string", "null"), "description": "The model that answered; null for the rules"},
}


def object_of(properties: Mapping[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of an object whose properties are required, except the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


SCORED = object_of({"explanation": TEXT, "score": SCORE, **ENGINE})
CHANGED = object_of(
    {
        "score": {**SCORE, "description": "Of the code as it is"},
        "explanation": TEXT,
        "dependencies": {**TEXTS, "description": "Packages that the new code needs"},
        "diff": {**TEXT, "description": "Unified, for `git apply`; empty if nothing is to be changed"},
        "target_score": SCORE,
        "score_after": {**SCORE, "description": "Of the code after the change"},
        "imports": {**TEXTS, "description": "Statements to add at the top of the file"},
        "changes": {**TEXTS, "description": "What was done, one sentence each"},
        "reason": {**TEXT, "description": "Why it goes no further, or why there is no change"},
        "questions": {
            "type": "array",
            "description": "To be answered before a change is kept or made",
        },
        **ENGINE,
    }
)


PROOF: Mapping[str, Any] = {
    "type": "object",
    "description": "With verify: what both versions did under each fault, and which did better",
    "properties": {
        "verdict": {"enum": ["better", "worse", "no difference", "not shown"]},
        "trade_off": {"type": "boolean"},
        "route": TEXT,
        "upstreams": TEXTS,
        "notes": {**TEXTS, "description": "Routes that were not called, and what was not tried"},
        "faults": {"type": "array", "items": {"type": "object"}},
        "parts": {"type": "array", "items": {"type": "object"}},
        "not_exercised": {
            **TEXTS,
            "description": "Changed lines that never ran",
        },
    },
    "required": ["verdict", "trade_off", "route", "upstreams", "notes", "faults", "parts", "not_exercised"],
}


# --- tools -----------------------------------------------------------------------------------------


_FUNCTIONS = "faultkit.agent_tools.code_functions"
_WRITES_AN_INDEX = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
_MAY_RUN_CODE = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
"""Hints of a tool that may run the user's code, which may change anything and call any host."""
CONCERNS = ("performance", "reliability", "threat")
"""The concerns of `code.advice`, repeated because that takes long to import; a test compares them."""
SEVERITIES = ("low", "medium", "high", "critical")
"""Those of `code.rules`, repeated likewise."""

_FILE = file("file", "Absolute path or file:// URI of a source file.")
_FILE_LANGUAGE = language("lang", "Language, if the file's ending does not tell it.", default=None)
_FUNCTION = text(
    "func",
    "Name as fault_list_function_names gives it, or the end of it; `name:12` is the one on line 12.",
    example='"Store.save"',
    longest=1000,
)
_SNIPPET = text(
    "snippet",
    "The code, best a whole function, such as `full` of fault_extract_code_block.",
    example='"def load(url): ..."',
)
_SNIPPET_LANGUAGE = language("lang", "Its language.")
_JUDGED_LANGUAGE = language("lang", f"{RULE_LANGUAGES}; others need a language model.")


def _target(default: float) -> Argument:
    return number(
        "target_score",
        "Changes stop once this score is reached.",
        default=default,
        minimum=0,
        maximum=1,
        example=f"{default:g}",
    )


_SAFE = flag(
    "safe",
    "Only changes that ask nothing.",
    default=False,
)


def _score_tool(kind: str, looks_at: str) -> Tool:
    return Tool(
        name=f"fault_score_{kind}",
        title=f"Score {kind}",
        description=(
            f"Scores the {kind} of a function or snippet from 0.0 (poor) to 1.0 (nothing found), and "
            f"explains it by lines. It looks at {looks_at}. Use it to decide whether code needs attention, "
            "and again after a change. Returns JSON."
        ),
        arguments=(_SNIPPET, _JUDGED_LANGUAGE),
        output=SCORED,
        hints=READS,
        run=f"{_FUNCTIONS}:score_{kind}",
        may_reach_out=True,
    )


def _suggest_tool(kind: str, changes: str) -> Tool:
    return Tool(
        name=f"fault_suggest_better_function_{kind}",
        title=f"Suggest better {kind}",
        description=(
            f"Suggests changes that raise the {kind} of one function or snippet: {changes}. "
            f"Use it after a low fault_score_{kind}. Returns a unified diff in a Markdown code block; "
            "nothing is written. Answer its `# check:` lines, or ask the user."
        ),
        arguments=(
            _SNIPPET,
            _JUDGED_LANGUAGE,
            number(
                "score",
                f"What fault_score_{kind} gave; left out, it is found out.",
                default=None,
                minimum=0,
                maximum=1,
                example="0.3",
            ),
            _target(0.8),
            _SAFE,
        ),
        output=object_of({**CHANGED["properties"], "new": {**TEXT, "description": "The changed snippet"}}),
        hints=READS,
        run=f"{_FUNCTIONS}:suggest_{kind}",
        may_reach_out=True,
    )


CODE_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="fault_index_source_code",
        title="Index source code",
        description=(
            "Makes the code of a project searchable, so that advice takes related code into account. Use it "
            "once at the start of work on a project, and after larger changes: only changed files are read "
            'again. It writes to an index folder, never to the project. Returns "done".'
        ),
        arguments=(
            folder("source_dir", "Absolute path or file:// URI of the project's top folder."),
            language("lang", "Only files of this language; left out: of all.", default=None),
        ),
        output=object_of(
            {
                "status": {"type": "string", "const": "done"},
                "root": TEXT,
                "place": {**TEXT, "description": "Where the index is kept"},
                "embedder": TEXT,
                "files": {**WHOLE, "description": "In the index now"},
                "chunks": WHOLE,
                "indexed": {**WHOLE, "description": "Files that were new or changed"},
                "unchanged": WHOLE,
                "removed": WHOLE,
                "skipped": {
                    "type": "array",
                    "items": object_of({"path": TEXT, "why": TEXT}),
                    "description": "Source files that could not be read; at most 100 are listed",
                },
            }
        ),
        hints=_WRITES_AN_INDEX,
        run=f"{_FUNCTIONS}:index_source_code",
        may_reach_out=True,
    ),
    Tool(
        name="fault_list_function_names",
        title="List function names",
        description=(
            "Lists the functions and methods of a source file, in the file's order, with what they stand in: "
            '["load", "Store.save"]. Use it to find the name that fault_extract_code_block and '
            "fault_function_reliability_deep_analysis need. Returns a JSON array of names."
        ),
        arguments=(_FILE, _FILE_LANGUAGE),
        output=object_of({"names": TEXTS, "language": TEXT}),
        hints=READS,
        run=f"{_FUNCTIONS}:list_names",
    ),
    Tool(
        name="fault_extract_code_block",
        title="Extract a function",
        description=(
            "Gives the code of one function exactly as it stands in the file. Returns JSON with two keys: "
            "full (the whole block with decorators and signature) and body (without the signature). Use "
            "`full` as the snippet of the score and suggest tools."
        ),
        arguments=(
            _FILE,
            _FUNCTION,
            _FILE_LANGUAGE,
        ),
        output=object_of(
            {
                "full": TEXT,
                "body": TEXT,
                "name": TEXT,
                "start_line": WHOLE,
                "end_line": WHOLE,
                "language": TEXT,
            }
        ),
        hints=READS,
        run=f"{_FUNCTIONS}:extract_block",
    ),
    _score_tool(
        "performance",
        "what costs time under load: calls in loops, blocking calls in async code, connections and clients "
        "made anew for each call, unbounded work",
    ),
    _score_tool(
        "reliability",
        "what fails in production: calls without timeouts, missing or unbounded retries, unhandled errors, "
        "leaked resources, work that is not safe to repeat",
    ),
    _suggest_tool("performance", "clients that are used again, calls side by side instead of one by one"),
    _suggest_tool("reliability", "timeouts, retries with back-off, error handling, clean-up"),
    Tool(
        name="fault_suggest_service_level_objectives_slo",
        title="Suggest SLOs",
        description=(
            "Suggests service level objectives for an endpoint or function: latency, availability and "
            "errors, each with a target, a threshold, a window, a Prometheus query and a Google Cloud Run "
            "definition. Use it on the code of a request handler to set up monitoring. Returns a JSON array "
            "of SLO objects."
        ),
        arguments=(_SNIPPET, _SNIPPET_LANGUAGE),
        output=object_of(
            {
                "slos": {
                    "type": "array",
                    "items": object_of(
                        {
                            "type": TEXT,
                            "title": TEXT,
                            "objective": {"type": "number", "minimum": 0, "exclusiveMaximum": 100},
                            "explanation": TEXT,
                            "threshold": {"type": "number"},
                            "unit": TEXT,
                            "window": {**TEXT, "description": "The range of the query"},
                            "sli": {"type": "object"},
                            "period": {**TEXT, "description": "The period of the objective"},
                            "error_budget": TEXT,
                            "exporter": {**TEXT, "description": "Whose metric names the query has"},
                            "needs": {**TEXT, "description": "What the query needs to have a result"},
                            "function": TEXT,
                            "route": TEXT,
                            "line": {"type": "integer"},
                        },
                        ("period", "error_budget", "exporter", "needs", "function", "route", "line"),
                    ),
                },
                "reason": {**TEXT, "description": "Why there are no objectives; else empty"},
                **ENGINE,
            }
        ),
        hints=READS,
        run=f"{_FUNCTIONS}:suggest_slos",
        may_reach_out=True,
    ),
    Tool(
        name="fault_make_reliability_and_perf_changes",
        title="Change a file for reliability and performance",
        description=(
            "Works out changes that make a source file more reliable and faster, as a "
            "diff for `git apply` at the top of its repository. It writes nothing: answer `questions` or ask "
            "the user, apply it, install `dependencies`, test, and prove it with verify=true "
            "or a fault_run_*_impact_scenario. "
            "Returns JSON; an empty diff comes with a reason."
        ),
        arguments=(
            _FILE,
            _FILE_LANGUAGE,
            _target(1.0),
            flag(
                "verify",
                "Also run a web service in Python or JavaScript before and after the change under faults "
                "(2 min). Only `better` without `not_exercised` is a proof.",
                default=False,
            ),
            text(
                "python",
                "With verify: interpreter of a Python service. Left out: the project's.",
                default=None,
                example='"/srv/.venv/bin/python"',
                longest=4096,
            ),
            text(
                "route",
                "With verify: path to call.",
                default=None,
                example='"/items"',
                longest=2048,
            ),
            flag("contents", "Include old and new, the file before and after.", default=True),
            _SAFE,
        ),
        output=object_of({**CHANGED["properties"], "proof": PROOF}, optional=("proof",)),
        hints=_MAY_RUN_CODE,
        run=f"{_FUNCTIONS}:change_file",
        may_reach_out=True,
    ),
    Tool(
        name="fault_function_reliability_deep_analysis",
        title="Analyse a function in depth",
        description=(
            "Looks closely at one function of a file for performance, reliability and threats: what may go "
            "wrong, how bad it would be, what to do about it, with lines of the file; and prompts that ask "
            "for each repair. Use it before a change to code that matters. Returns JSON."
        ),
        arguments=(
            _FILE,
            _FUNCTION,
            _FILE_LANGUAGE,
            several(
                "concerns",
                "What to look for. Empty or left out: all.",
                choice("concern", "One of them.", CONCERNS),
                default=(),
                most=10,
                example='["reliability"]',
            ),
        ),
        output=object_of(
            {"evaluations": {"type": "array", "items": {"type": "object"}}, "prompts": TEXTS, **ENGINE}
        ),
        hints=READS,
        run=f"{_FUNCTIONS}:analyse",
        may_reach_out=True,
    ),
    Tool(
        name="fault_review_code",
        title="Review code",
        description=(
            "Lists what may fail, hang, leak or be slow in production in a file, a folder or a change, the "
            "most severe first, with when to ignore it. Use it on your own changes, too. Rules read one file "
            "at a time, so check each finding before you act on it: read the code and its callers, try to "
            "refute the claim (a limit, a handler, an owner that closes it, a bound on the data), and drop "
            "what is wrong or has no consequence. Returns JSON."
        ),
        arguments=(
            file_or_folder("path", "Absolute path or file:// URI of a source file or a folder."),
            text(
                "since",
                "Git ref: only what is new since it.",
                default=None,
                example='"origin/main"',
                longest=1000,
            ),
            choice("min_severity", "Leave out what is less severe.", SEVERITIES, default=None),
            language("lang", "Only files of this language.", default=None),
            whole("most", "Findings to list.", default=30, minimum=1, maximum=500, example="30"),
        ),
        output=object_of(
            {
                "findings": {
                    "type": "array",
                    "items": object_of(
                        {
                            "rule": TEXT,
                            "severity": {"enum": list(SEVERITIES)},
                            "confidence": {**SCORE, "description": "0.95 certain, 0.8 likely, 0.5 possible"},
                            "file": TEXT,
                            "line": WHOLE,
                            "function": TEXT,
                            "message": TEXT,
                        }
                    ),
                },
                "rules": {
                    "type": "object",
                    "description": "By id: what the rule is about, the fix, and when to ignore it",
                    "additionalProperties": object_of(
                        {"title": TEXT, "why": TEXT, "fix": TEXT, "when_to_ignore": TEXT}
                    ),
                },
                "more": {**WHOLE, "description": "Findings that are not listed"},
                "files": {**WHOLE, "description": "Files that were reviewed"},
                "left_out": {**WHOLE, "description": "Tests, scripts, generated and excluded files"},
                "skipped": {
                    "type": "array",
                    "description": "Files that were not reviewed, or not all of them; 20 at most",
                    "items": object_of({"path": TEXT, "why": TEXT}),
                },
            }
        ),
        hints=READS,
        run="faultkit.agent_tools.review_functions:review_code",
    ),
)
