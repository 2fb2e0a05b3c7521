"""`fault scenario`: run, validate, generate, schema, review. Each is imported only when it is called."""

from __future__ import annotations

from faultkit.cli.lazy import Entry, lazy_group

command = lazy_group(
    "scenario",
    "Call a service while its network is broken, and report what came of it.",
    {
        "run": Entry("faultkit.cli.scenario.run", "Run scenarios and write reports."),
        "validate": Entry("faultkit.cli.scenario.validate", "Check scenario files without running them."),
        "generate": Entry("faultkit.cli.scenario.generate", "Make scenarios from an OpenAPI document."),
        "schema": Entry("faultkit.cli.scenario.schema", "Print the JSON Schema of a scenario, for editors."),
        "review": Entry("faultkit.cli.scenario.review", "Read results aloud: what broke, and what to try."),
    },
)
