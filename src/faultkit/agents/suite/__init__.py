"""The values of a suite: its definition, the agent interface, budgets, recovery gates and results."""
