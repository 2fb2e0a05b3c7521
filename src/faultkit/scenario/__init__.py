"""Scenarios: files that declare calls, faults and expectations; reading and running them."""
