"""Agents that run inside Faultkit: scripted ones and models. External programs are in `execute`."""
