"""What keeps chaos safe: limits, the kill switch, and a ledger of what has to be undone.

Every effect is written to the ledger, with the way to undo it, before it starts. The process that started it,
its guardian process and `fault chaos recover` can each undo it. Nothing here knows faults or experiments.
"""
