"""The tools that register faults and run chaos experiments."""
