"""Reports of suites, one builder or renderer a format; `reporters` is the table of all."""
