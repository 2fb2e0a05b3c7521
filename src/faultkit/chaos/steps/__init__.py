"""The kinds of checks and actions of an experiment: how each is written, checked, run and undone."""
