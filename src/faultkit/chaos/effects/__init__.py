"""The lasting effects of registered faults, one file each. `named_faults.chaos_fault` lists the types.

An instant effect is over when the affected call continues. A lasting effect is started, goes on by itself,
and is ended; how to undo it is written down before it starts.
"""
