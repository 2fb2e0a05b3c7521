"""The key `breakpoint` of a test of an agent: how strong an injected fault may get until the test fails.

It is read when the faults of all files of a suite are known, because the setting belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from faultkit.agents.parse.suite_source import LocatedPart
from faultkit.agents.suite.definition import AgentTest, SuiteFault
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.errors import InputError
from faultkit.base.text import and_list
from faultkit.scenario.trial_keys import require_range, trial_search_keys

BREAKPOINT = KeyTable(
    *trial_search_keys(
        "FAULT.SETTING: a setting that is a number, or `probability`, of one of the injected faults.",
        "The share of the runs that must pass, where runs differ.",
        "How many runs the search may take, where runs differ.",
        "The test fails unless it is shown to hold up to this value.",
    )
)
_NOT_BESIDE = ("runs", "min_pass_rate")


def with_breakpoint(found: LocatedPart[AgentTest], faults: Sequence[SuiteFault]) -> LocatedPart[AgentTest]:
    """Return the test with its breakpoint, if the file has one. Mistakes are added to those of the file."""
    written = found.written if isinstance(found.written, Mapping) else {}
    if written.get("breakpoint") is None:
        return found
    for key in _NOT_BESIDE:
        if key in written:
            found.note(key, "expected none beside `breakpoint`, which runs the test as often as it must")
    path = join_path(found.path, "breakpoint")
    reader = MappingReader(written["breakpoint"], BREAKPOINT, path, found.source.problems)
    before = len(reader.problems)
    vary = reader.take("vary")
    name, _, setting = vary.rpartition(".")
    rules = {fault.name: fault.rule for fault in faults}
    injected = [each for each in found.value.inject if each in rules]
    if reader.sound and vary and name not in injected:
        one_of = f"a setting of {and_list(injected)}" if injected else "a fault under `inject`"
        problem = f"expected FAULT.SETTING, {one_of}, got {shown(vary)}"
        reader.note("vary", InputError("", problem))
    if len(reader.problems) > before or name not in injected:
        require_range(reader)
        return found
    from faultkit.scenario.trial_search import read_trial_search  # Few suites need it, and it is large.

    search = read_trial_search(
        reader, [rules[each] for each in injected], injected.index(name), setting, "runs"
    )
    return found if search is None else replace(found, value=replace(found.value, breakpoint=search))
