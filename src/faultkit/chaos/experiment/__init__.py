"""Experiments, in the short form or in the format of Chaos Toolkit: files, runners, results.

The `toolkit_` modules run the second form: the library of Chaos Toolkit runs it in a process of its own."""
