"""Pairs of the same small piece of a service: NAME.before as it is often written, NAME.after as it should be.

One folder a language. They were written from experience with services, not from the rules, so that they show
what the rules miss.
"""
