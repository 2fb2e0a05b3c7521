"""Client libraries take seconds to import, so they are imported at the first call only."""

from __future__ import annotations

import subprocess
import sys


def test_heavy_packages_are_imported_at_the_first_call_only() -> None:
    code = (
        "import sys, faultkit.llm.ask, faultkit.code.advice.prompts\n"
        "print(sorted({'openai', 'anthropic', 'jsonschema', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
