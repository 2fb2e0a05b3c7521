"""Seeded fuzzing of everything that reads what others write: `make fuzz`."""
