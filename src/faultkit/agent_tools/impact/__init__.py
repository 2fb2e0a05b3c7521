"""The tools that measure what a network fault does to a running app."""
