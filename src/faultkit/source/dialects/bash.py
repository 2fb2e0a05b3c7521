"""How Bash writes functions."""

from __future__ import annotations

from faultkit.source.dialects.dialect import Dialect

BASH = Dialect(functions={"function_definition": "function"})
