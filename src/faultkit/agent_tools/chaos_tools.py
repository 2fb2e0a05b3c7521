"""The three chaos tools as values: what a model is told of each. What they do is in `servers.tools`."""

from __future__ import annotations

from faultkit.agent_tools.chaos_arguments import (
    ACTION,
    DRY_RUN,
    EXPERIMENT_NAME,
    EXTRAS,
    FAULT_NAME,
    FAULT_TYPE,
    FILTER,
    INCLUDE_RESULTS,
    REGISTERED,
    RUN_SEED,
)
from faultkit.agent_tools.chaos_results import (
    INJECTED,
    RAN,
    STATUS,
    inject_failure,
    run_failure,
    status_failure,
)
from faultkit.agent_tools.tool import READS, Hints, Tool

INSTRUCTIONS = """\
Faultkit breaks things on purpose, in a controlled way, and always cleans up.
chaos_status tells what is registered, what is broken just now, and what came of experiments.
chaos_inject_fault registers a fault, triggers it by chance, and removes it.
chaos_run_experiment checks the steady state, acts, checks again and rolls back; try dry_run first.
Experiments are files that people write. What may be broken, and for how long, is set by whoever started \
this server: no argument raises it."""

_BREAKS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)

CHAOS_TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="chaos_inject_fault",
            title="Register, inject or remove a fault",
            description=(
                "Registers a fault by name, triggers it, or removes it. register makes it known and says "
                "how likely it is (again: overwrites it); inject rolls the dice and, if was_triggered, "
                "carries it out for real: latency and timeout keep this call waiting, error tells what would "
                "be raised, resource_exhaustion holds memory, descriptors, threads, CPU or disk in a child "
                "process, network_partition cuts off `targets`. remove ends its effect; one that is not "
                "there is fine. "
                "Returns JSON: {status, fault_name, fault_type, was_triggered?, effect?}."
            ),
            arguments=(FAULT_NAME, ACTION, FAULT_TYPE, *REGISTERED, *EXTRAS),
            output=INJECTED,
            hints=_BREAKS,
            run="faultkit.agent_tools.tools.chaos:inject_fault",
            rules={
                "if": {"properties": {"action": {"const": "register"}}, "required": ["action"]},
                "then": {"required": ["fault_type"]},
            },
            failure=inject_failure,
        ),
        Tool(
            name="chaos_run_experiment",
            title="Run a chaos experiment",
            description=(
                "Runs a chaos experiment by its name: verifies the steady state, executes the action, "
                "verifies the steady state again, and always rolls back, also if it is cancelled. success "
                "says whether the system kept its steady state; `reasons` name the checks that were not met. "
                "With dry_run=true only the first check is made, and `plan` says what would happen. "
                "Returns JSON: {experiment_name, success, steady_state_before, steady_state_after, "
                "duration_seconds, error, started_at, outcome, …}."
            ),
            arguments=(EXPERIMENT_NAME, DRY_RUN, RUN_SEED),
            output=RAN,
            hints=_BREAKS,
            run="faultkit.agent_tools.tools.chaos:run_experiment",
            failure=run_failure,
        ),
        Tool(
            name="chaos_status",
            title="Show the state of chaos",
            description=(
                "Tells the state of chaos engineering here: registered faults and whether they are at work, "
                "how many experiments there are, how many were run and how many of them kept their steady "
                "state. It changes nothing. Use include_results to see what came of each run, and "
                "experiment_name to see only one. Returns JSON: {active_faults, registered_experiments, "
                "total_runs, success_rate, results?}."
            ),
            arguments=(INCLUDE_RESULTS, FILTER),
            output=STATUS,
            hints=READS,
            run="faultkit.agent_tools.tools.chaos:status",
            failure=status_failure,
        ),
    )
}
