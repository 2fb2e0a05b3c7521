"""How good `fault review` is on code that its authors never saw: precision, recall and speed."""
