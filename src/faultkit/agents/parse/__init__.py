"""Suite files as values: every mistake of a file at once, each with its file, its line and its path. Pure.

What stands in other files (imports, manifests) is read by `faultkit.agents.suite_file`, which gives it to
these.
"""
