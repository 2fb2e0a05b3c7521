"""What registered faults do: one file an effect. `effects.table` knows them all.

An instant effect is over when the call that it befell goes on. A lasting one is begun, goes on by itself, and
is ended: its undoing is written down before it begins.
"""
