"""Where an import goes."""

from __future__ import annotations

import libcst as cst
import pytest

from faultkit.code.changes.python.rewriting import Wanted, known_name, with_imports

PLACES: dict[str, tuple[str, tuple[Wanted, ...], str]] = {
    "below the docstring": (
        '"""Doc."""\n\nx = 1\n',
        (Wanted("time"),),
        '"""Doc."""\n\nimport time\n\nx = 1\n',
    ),
    "below a comment at the top": (
        "#!/usr/bin/env python\nx = 1\n",
        (Wanted("time"),),
        "#!/usr/bin/env python\nimport time\n\nx = 1\n",
    ),
    "after __future__": (
        "from __future__ import annotations\n\nx = 1\n",
        (Wanted("time"),),
        "from __future__ import annotations\n\nimport time\n\nx = 1\n",
    ),
    "by name among its like": (
        "import os\nimport sys\n",
        (Wanted("re"),),
        "import os\nimport re\nimport sys\n",
    ),
    "plain ones first": (
        "import os\nfrom abc import ABC\n",
        (Wanted("sys"),),
        "import os\nimport sys\nfrom abc import ABC\n",
    ),
    "the standard library before packages": (
        "import httpx\n\nx = 1\n",
        (Wanted("os"),),
        "import os\n\nimport httpx\n\nx = 1\n",
    ),
    "packages after the standard library": (
        "import os\n\nx = 1\n",
        (Wanted("httpx"),),
        "import os\n\nimport httpx\n\nx = 1\n",
    ),
    "before the file's own": (
        "import os\n\nfrom . import mine\n",
        (Wanted("httpx"),),
        "import os\n\nimport httpx\n\nfrom . import mine\n",
    ),
    "into a line that is there": (
        "from fastapi import FastAPI\n",
        (Wanted("fastapi", "HTTPException"),),
        "from fastapi import FastAPI, HTTPException\n",
    ),
    "into the middle of it": (
        "from a import B, d  # why\n",
        (Wanted("a", "c"),),
        "from a import B, c, d  # why\n",
    ),
    "into lines of their own": (
        "from a import (\n    b,\n    d,\n)\n",
        (Wanted("a", "c"), Wanted("a", "e")),
        "from a import (\n    b,\n    c,\n    d,\n    e,\n)\n",
    ),
    "once": ("import os\n", (Wanted("os"), Wanted("os")), "import os\n"),
}


@pytest.mark.parametrize(("before", "wanted", "after"), PLACES.values(), ids=PLACES)
def test_an_import_goes(before: str, wanted: tuple[Wanted, ...], after: str) -> None:
    assert with_imports(cst.parse_module(before), wanted).code == after


NAMES = {
    ("import httpx", "httpx", "Timeout"): "httpx.Timeout",
    ("import httpx as h", "httpx", "Timeout"): "h.Timeout",
    ("from httpx import Timeout as T", "httpx", "Timeout"): "T",
    ("from urllib import error", "urllib.error", "URLError"): "error.URLError",
    ("import urllib.error", "urllib.error", ""): "urllib.error",
    ("from .httpx import Timeout", "httpx", "Timeout"): None,
    ("from httpx import *", "httpx", "Timeout"): None,
    ("def f():\n    import httpx", "httpx", ""): None,
}


@pytest.mark.parametrize(("asked", "name"), NAMES.items(), ids=lambda each: str(each))
def test_a_name_is_what_the_file_calls_it(asked: tuple[str, str, str], name: str | None) -> None:
    text, module, wanted = asked
    assert known_name(cst.parse_module(text), module, wanted) == name
