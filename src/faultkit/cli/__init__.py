"""The `fault` command: `main` has the table of commands; a module holds one command, or a few related ones.

A command turns flags into values, calls one function of the package below, prints, and returns an exit code.
Slow modules are imported inside commands, so that `--help` is fast. No other package imports this one.
"""
