"""Reports of suites, a renderer for each format; `reporters` is the table of all."""
