"""Faultkit breaks things on purpose and proves that they recover.

The map, from the ground up (imports go upward only):

    errors, clock, rng, units    nothing above these
    faults/                      the vocabulary: pure values and filters, one file a fault, one table
    plan/                        where and when: match, trigger, schedule, rule, plan
    proxy/                       the data plane: relay, listeners, TLS, HTTP, live control
    cli/                         one file a command
    testing/                     public helpers for people who write faults or test with them
"""

__version__ = "0.1.0"
