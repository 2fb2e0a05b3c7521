"""How Bash writes functions."""

from __future__ import annotations

from faultkit.code.dialects.dialect import Dialect

BASH = Dialect(functions={"function_definition": "function"})
