"""The kinds of checks and actions, one file each, and the table of them."""
