"""What is wrong with an expression, and where it stands. Raised inside this package only."""

from __future__ import annotations


class Problem(Exception):
    def __init__(self, at: int, text: str) -> None:
        super().__init__(text)
        self.at = at
        """Characters before the place."""
        self.text = text

    def placed_in(self, expression: str) -> str:
        before = expression[: self.at]
        line, column = before.count("\n") + 1, self.at - (before.rfind("\n") + 1) + 1
        where = f"line {line}, column {column}" if "\n" in expression else f"column {column}"
        return f"{where}: {self.text}"
