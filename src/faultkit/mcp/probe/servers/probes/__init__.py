"""The probes: what each sends, and how what comes is judged."""
