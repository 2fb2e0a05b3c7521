"""Codemods for Python: one small file each, and what they share. They alone import libcst."""
