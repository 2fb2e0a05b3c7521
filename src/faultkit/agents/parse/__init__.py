"""Suite files as values: every mistake of a file at once, each with its file, its line and its path. Pure.

`faultkit.agents.suite_file` reads other files (imports, manifests) and passes their contents to this package.
"""
