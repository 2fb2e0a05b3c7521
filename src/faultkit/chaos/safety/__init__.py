"""Safety of chaos: limits, the kill switch, a ledger of what has to be undone, and its recovery.

Every effect is written to the ledger, with the way to undo it, before it starts. The process that started it,
its guardian process and `fault chaos recover` can each undo it. Nothing here knows faults or experiments.
"""
