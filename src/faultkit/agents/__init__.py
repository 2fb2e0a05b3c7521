"""Suites: declare faults, run agents against them, and gate on how the agents recover.

    recovery/   traces, metrics and scores (pure)
    suite/      values: the definition of a suite, the agent interface, budgets, gates, results
    matchers/   targets and matchers of expectations (pure)
    parse/      suite files to values
    kinds/      agents that run inside Faultkit: scripts and models
    execute/    toolboxes in virtual and real time, external programs, one test
    report/     results as pages, JSON, JUnit, SARIF, TAP and text

The modules here stand on top: loading files, running suites, selection, ranking, coverage, shrinking, the
pytest plugin. Imports go down this list's order, never back.
"""
