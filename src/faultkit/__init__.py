"""Faultkit breaks things on purpose and proves that they recover.

The packages, from the ground up. A package imports only from lines above its own:

    base/                              errors, seeded numbers, documents, addresses, processes, statistics
    faults/                            the vocabulary: pure values and filters, one file a fault, one table
    plan/   report/                    where and when faults act; a page as data and its writers
    proxy/                             the data plane, its control API, Toxiproxy's API
    load/   llm/   mcp/   demo/        load engine; model clients; MCP mock, gateway, failure tools, probes
    audit/  scenario/                  audit log and access; load scenarios with SLO reports
    agents/  chaos/  code/             agent suites and recovery scores; experiments; code review
    agent_tools/  web/                 MCP tools on the official SDK; HTTP API and portal
    cli/                               one file a command
    testing/                           public helpers for people who write faults or test with them
"""

__version__ = "0.1.0"
