"""Suites: declare faults, run agents against them, and gate on how the agents recover.

    recovery/   traces, metrics and scores (pure)
    suite/      values: the definition of a suite, the agent interface, gates, results, options of a run
    matchers/   targets and matchers of expectations (pure)
    kinds/      agents that run inside Faultkit: scripts and models
    parse/      suite files to values
    execute/    toolboxes in virtual and real time, external programs, one test
    report/     results as pages, JSON, JUnit, SARIF, TAP and text

The modules of this folder use all of these: loading files, running suites, ranking, coverage, shrinking, the
first suite of a server, the pytest plugin. A package imports only from those above it in the list.
"""
