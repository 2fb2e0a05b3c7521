"""Experiments in our short form: what is written, what it does, and what comes of it."""
