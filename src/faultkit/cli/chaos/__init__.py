"""`fault chaos`: experiments and what keeps them safe. Sub-commands are imported when they are called."""

from __future__ import annotations

from faultkit.cli.lazy import Entry, LazyGroup

_HELP = """Break what a service depends on, see whether its steady state holds, and always clean up.

Limits: what may be broken, where and for how long is said by a file (--limits, FAULT_CHAOS_LIMITS) with
environments, targets, most_duration_s and the like, and FAULT_ENVIRONMENT names the environment of this
machine; production is refused unless that file allows it. No experiment and no tool can raise a limit.
"""

command = LazyGroup(
    "chaos",
    help=_HELP,
    epilog="`fault chaos init` writes an experiment to begin with. docs/chaos.md explains all of it.",
    entries={
        "init": Entry("faultkit.cli.chaos.init", "Write a commented experiment for your service."),
        "run": Entry("faultkit.cli.chaos.run", "Run an experiment, or several as a game day."),
        "validate": Entry("faultkit.cli.chaos.validate", "Check experiments without running them."),
        "list": Entry("faultkit.cli.chaos.list", "List the experiments there are."),
        "status": Entry("faultkit.cli.chaos.status", "Show what is broken now, and what came of runs."),
        "stop": Entry("faultkit.cli.chaos.stop", "Halt everything, and let nothing new begin."),
        "recover": Entry("faultkit.cli.chaos.recover", "Undo what a crash has left, and report it."),
        "serve": Entry("faultkit.cli.chaos.serve", "Serve the chaos tools over MCP."),
    },
)
