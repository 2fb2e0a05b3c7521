"""Chaos Toolkit experiments: providers, tolerances, strategies, controls, configuration."""

from __future__ import annotations

from typing import Any

PYTHON = "{python}"
"""Placeholder for the path of the interpreter."""
SERVER = "{server}"


def python(func: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "python", "module": "shop", "func": func, "arguments": arguments}


def probe(name: str, provider: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "probe", "name": name, "provider": provider, **more}


def action(name: str, provider: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "action", "name": name, "provider": provider, **more}


HEALTHY = probe("healthy", python("read", key="healthy"), tolerance=True)
BREAK = action("break", python("write", key="healthy", value=False))
MEND = action("mend", python("write", key="healthy", value=True))
LOOK = action("look", python("log", text="look"))
"""An action that works and changes nothing that is checked."""


def experiment(
    title: str, method: list[Any], probes: list[Any] | None = None, rollbacks: Any = (MEND,), **more: Any
) -> dict[str, Any]:
    hypothesis = {"title": "the shop is well", "probes": [HEALTHY] if probes is None else probes}
    return {
        "version": "1.0.0",
        "title": title,
        "description": "one of our own",
        "steady-state-hypothesis": hypothesis,
        "method": method,
        "rollbacks": list(rollbacks),
        **more,
    }


def runtime(hypothesis: str = "default", rollbacks: str = "default") -> dict[str, Any]:
    return {"hypothesis": {"strategy": hypothesis}, "rollbacks": {"strategy": rollbacks}}


TOLERANCES = [
    probe("boolean", python("read", key="healthy"), tolerance=True),
    probe("text", python("text"), tolerance="all is well"),
    probe("integer", python("number"), tolerance=3),
    probe("status", python("document"), tolerance=200),
    probe("one of statuses", python("document"), tolerance=[200, 204]),
    probe("pair", python("number"), tolerance=[2, 4]),
    probe("list", python("text"), tolerance=["fine", "all is well", "so so"]),
    probe("range", python("number"), tolerance={"type": "range", "range": [2.5, 3.5]}),
    probe(
        "range of a part",
        python("document"),
        tolerance={"type": "range", "range": [1, 999], "target": "status"},
    ),
    probe("regex", python("text"), tolerance={"type": "regex", "pattern": "wel+"}),
    probe(
        "jsonpath",
        python("document"),
        tolerance={"type": "jsonpath", "path": "$.items[*].n", "expect": [1, 2]},
    ),
    probe(
        "jsonpath count",
        python("document"),
        tolerance={"type": "jsonpath", "path": "$.items[*].n", "count": 2},
    ),
    probe(
        "probe",
        python("number"),
        tolerance=probe("is three", python("is_three")),
    ),
]

CASES: dict[str, dict[str, Any]] = {
    "held": experiment("held", [LOOK]),
    "deviated": experiment("deviated", [BREAK]),
    "every-tolerance": experiment("every tolerance", [LOOK], TOLERANCES),
    "gate-out-of-tolerance": experiment("gate", [BREAK], [probe("three", python("number"), tolerance=4)]),
    "gate-raises": experiment("gate raises", [BREAK], [probe("fails", python("fail"), tolerance=True)], ()),
    "after-raises": experiment(
        "after raises",
        [action("lose", python("write", key="gone", value=1))],
        [
            HEALTHY,
            probe(
                "process",
                {
                    "type": "process",
                    "path": PYTHON,
                    "arguments": ["-c", "import shop; assert not shop.read('gone')"],
                },
                tolerance=0,
            ),
        ],
        (),
    ),
    "failed-action": experiment("failed action", [action("boom", python("fail")), MEND]),
    "only-failed-actions": experiment(
        "only failed actions",
        [
            action("boom", python("fail")),
            action("exits", {"type": "process", "path": PYTHON, "arguments": ["-c", "raise SystemExit(3)"]}),
        ],
    ),
    "empty-method": experiment("empty method", []),
    "only-probes": experiment("only probes", [probe("look", python("log", text="look"))]),
    "failed-rollback": experiment(
        "failed rollback", [], rollbacks=[action("boom", python("fail", why="no way back")), MEND]
    ),
    "processes": experiment(
        "processes",
        [
            action("as list", {"type": "process", "path": PYTHON, "arguments": ["-c", "print('listed')"]}),
            action(
                "as mapping", {"type": "process", "path": PYTHON, "arguments": {"-c": "raise SystemExit(3)"}}
            ),
            action(
                "too slow",
                {
                    "type": "process",
                    "path": PYTHON,
                    "arguments": ["-c", "import time; time.sleep(9)"],
                    "timeout": 0.2,
                },
            ),
        ],
        [probe("runs", {"type": "process", "path": PYTHON, "arguments": ["-c", "pass"]}, tolerance=0)],
    ),
    "http": experiment(
        "http",
        [
            action(
                "post", {"type": "http", "url": SERVER + "/500", "method": "POST", "arguments": {"a": "1"}}
            ),
            action("absent", {"type": "http", "url": "http://127.0.0.1:1/", "timeout": [0.5, 0.5]}),
        ],
        [
            probe("status", {"type": "http", "url": SERVER + "/200", "timeout": 5}, tolerance=200),
            probe(
                "body",
                {"type": "http", "url": SERVER + "/json", "headers": {"Accept": "application/json"}},
                tolerance={"type": "jsonpath", "path": "$.queue.depth", "expect": 3, "target": "body"},
            ),
        ],
    ),
    "configuration-and-secrets": experiment(
        "configured ${place}",
        [
            action(
                "reads them",
                {**python("with_configuration", given="${place} and ${missing}"), "secrets": ["vault"]},
            ),
            probe("of the environment", python("log", text="${from_env} ${counted}")),
        ],
        configuration={
            "place": "here",
            "from_env": {"type": "env", "key": "SHOP_WORD", "default": "none"},
            "counted": {"type": "env", "key": "SHOP_COUNT", "default": "5", "env_var_type": "int"},
            "dynamic": {"type": "probe", "name": "dynamic", "provider": python("text")},
        },
        secrets={"vault": {"token": "hush"}, "other": {"word": {"type": "env", "key": "SHOP_WORD"}}},
    ),
    "controls": experiment(
        "controls",
        [action("look", python("log", text="look")), {"ref": "healthy"}],
        controls=[{"name": "recorder", "provider": {"type": "python", "module": "recorder"}}],
    ),
    "controls-that-add": experiment(
        "controls that add",
        [action("look", python("log", text="look"))],
        controls=[{"name": "adder", "provider": {"type": "python", "module": "adder"}}],
    ),
    "rollbacks-that-say-no": experiment(
        "rollbacks that say no",
        [],
        rollbacks=[
            action(
                "process", {"type": "process", "path": PYTHON, "arguments": ["-c", "raise SystemExit(3)"]}
            ),
            action("post", {"type": "http", "url": SERVER + "/500", "method": "POST"}),
            MEND,
        ],
    ),
    "background-and-pauses": experiment(
        "background",
        [
            action("behind", python("linger", seconds=0.2), background=True),
            action("in front", python("log", text="front"), pauses={"before": 0.05, "after": 0.05}),
        ],
    ),
    "no-hypothesis": {
        "title": "exploring",
        "description": "without a hypothesis",
        "method": [action("look", python("log", text="look"))],
        "extensions": [{"name": "ours", "anything": [1, 2]}],
        "tags": ["a", "b"],
        "contributions": {"availability": "high"},
    },
    "before-method-only": experiment("before", [BREAK], runtime=runtime("before-method-only")),
    "after-method-only": experiment("after", [BREAK], runtime=runtime("after-method-only")),
    "during-method-only": experiment(
        "during",
        [action("wait", python("linger", seconds=0.3))],
        [probe("never met", python("number"), tolerance=4)],
        runtime=runtime("during-method-only"),
    ),
    "continuously": experiment(
        "continuously", [action("wait", python("linger", seconds=0.3))], runtime=runtime("continuously")
    ),
    "skip": experiment("skip", [BREAK], runtime=runtime("skip")),
    "rollbacks-always": experiment("always", [BREAK], runtime=runtime(rollbacks="always")),
    "rollbacks-never": experiment("never", [BREAK], runtime=runtime(rollbacks="never")),
    "rollbacks-deviated": experiment("only deviated", [BREAK], runtime=runtime(rollbacks="deviated")),
    "rollbacks-deviated-but-held": experiment("not deviated", [LOOK], runtime=runtime(rollbacks="deviated")),
}
