"""Suites that are run by several workers: `fault test --on …`.

suite_plan    a plan of suites as a value that goes to other machines
plan_suites   the plan of selected tests, with all files and variables that decide them
case_lines    results of tests as lines of text
case_runner   the worker's side: a process that runs its share of the tests
shard_run     the coordinator's side: starts workers, and merges their results into one report

Places, and how parts reach their workers, are those of loads (`faultkit.load.places`).
"""
