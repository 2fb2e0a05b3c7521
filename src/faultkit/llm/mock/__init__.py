"""A mock of LLM APIs: answers from a script, by echo or with filler text, and with the faults of a plan."""
