"""The audit log: rows of calls, where they are kept, and how they get there behind the calls."""
