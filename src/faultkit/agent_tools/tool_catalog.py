"""The tools that `fault agent tool` serves, in the order in which clients list them, and its instructions.

Declarations only: the function of a tool is imported when it is called first, so that a server starts fast.
"""

from __future__ import annotations

from faultkit.agent_tools.argument_kinds import LANGUAGE_NAMES, RULE_LANGUAGES
from faultkit.agent_tools.chaos_tools import CHAOS_TOOLS
from faultkit.agent_tools.code_tools import CODE_TOOLS
from faultkit.agent_tools.impact_tools import IMPACT_TOOLS
from faultkit.agent_tools.search_tools import SEARCH_TOOL
from faultkit.agent_tools.tool import Services, Tool

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*CODE_TOOLS, *IMPACT_TOOLS, SEARCH_TOOL)}
"""The tools that read code and measure services."""
AGENT_TOOLS: dict[str, Tool] = {**TOOLS, **CHAOS_TOOLS}

_INSTRUCTIONS = f"""\
Faultkit finds out how code holds up when its network misbehaves, and how to make it hold.
Look: fault_list_function_names and fault_extract_code_block read a source file; fault_score_reliability, \
fault_score_performance and fault_function_reliability_deep_analysis judge code; fault_review_code lists \
what to look at in a file, a project or a change, for you to check.
Change: fault_suggest_better_function_* answer with a diff for a function, \
fault_make_reliability_and_perf_changes with one for a file. They write nothing: apply the diff yourself.
Measure: fault_run_*_impact_scenario sends traffic to a running service while its network is broken, and \
reports against SLOs; fault_find_breaking_point raises a fault or the load until one is missed. Start the \
service first. Give `proxies` to break the calls that the service makes.
Break by name: chaos_status, chaos_inject_fault and chaos_run_experiment run the chaos experiments that \
people wrote for this project, and always roll back.
Index a project once with fault_index_source_code if a language model is configured: it is shown related code.
Languages: {LANGUAGE_NAMES}; py, js, ts or golang work too.
Paths are absolute, on the machine of this server. Traffic goes to that machine and private networks, unless \
the server was started with --allow-target. The error for a wrong argument says what was expected, with an \
example."""
_BY_RULES = (
    "\nNo language model is configured: advice comes from Faultkit's own rules, offline, for "
    f"{RULE_LANGUAGES}."
)
_BY_MODEL = "\nAdvice comes from {model} by {engine}; what is sent there has its secrets taken out."


def instructions_for(services: Services) -> str:
    """Return the instructions of the server, which clients show to their model."""
    if services.llm is None:
        return _INSTRUCTIONS + _BY_RULES
    return _INSTRUCTIONS + _BY_MODEL.format(model=services.llm.model, engine=services.llm.provider.name)
