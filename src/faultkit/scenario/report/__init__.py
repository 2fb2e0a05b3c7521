"""Reports of scenario runs: the values, and one renderer for each format."""
