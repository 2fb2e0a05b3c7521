"""Scenarios from an OpenAPI 3.0 or 3.1 document: eight for each operation, ready to run."""
