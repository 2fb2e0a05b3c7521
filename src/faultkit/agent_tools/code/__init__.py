"""The tools that read, score and change source code."""
