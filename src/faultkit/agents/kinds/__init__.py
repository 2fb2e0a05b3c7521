"""Agents that a suite can run: scripted ones, models, and programs of others."""
