"""Reports: plain data, and one renderer a file."""
