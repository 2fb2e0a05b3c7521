"""Documents that users write: YAML and JSON text with line numbers, checks, and tables of keys."""
