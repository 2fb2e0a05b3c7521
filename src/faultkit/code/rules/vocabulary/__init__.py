"""Meaning of library functions: which calls leave the process, wait, lock, or start tasks. Tables first.

Everything here maps facts to small values. It judges nothing; rules do.
"""
