"""Advice about code: scores, changes, SLOs and risk analyses, by offline rules or by a language model."""
