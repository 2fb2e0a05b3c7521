"""Experiments in the format of Chaos Toolkit, run by its own library in a process of their own.

Why a process: the library sets signal handlers, which only a main thread may; it keeps its state in modules;
and what blocks in it (a pause, a request without a time limit) ends by a signal or not at all. So a run can
always be interrupted, and if it does not answer to that, ended; then its rollbacks are played in another.
"""
