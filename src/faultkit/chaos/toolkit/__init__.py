"""Experiments in the format of Chaos Toolkit, run by its own library in a process of their own.

Why a process: the library sets signal handlers, which only a main thread may do; it keeps state in modules;
and a blocking call in it (a pause, a request without a time limit) ends by a signal or not at all. In a
process of its own, a run can always be interrupted, and killed if it does not react; its rollbacks are then
played in another process.
"""
