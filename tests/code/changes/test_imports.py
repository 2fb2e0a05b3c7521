"""Places of new imports."""

from __future__ import annotations

import libcst as cst
import pytest

from faultkit.code.changes.python.rewriting import ImportRequest, known_name, with_imports

PLACES: dict[str, tuple[str, tuple[ImportRequest, ...], str]] = {
    "below the docstring": (
        '"""Doc."""\n\nx = 1\n',
        (ImportRequest("time"),),
        '"""Doc."""\n\nimport time\n\nx = 1\n',
    ),
    "below a comment at the top": (
        "#!/usr/bin/env python\nx = 1\n",
        (ImportRequest("time"),),
        "#!/usr/bin/env python\nimport time\n\nx = 1\n",
    ),
    "after __future__": (
        "from __future__ import annotations\n\nx = 1\n",
        (ImportRequest("time"),),
        "from __future__ import annotations\n\nimport time\n\nx = 1\n",
    ),
    "by name among its like": (
        "import os\nimport sys\n",
        (ImportRequest("re"),),
        "import os\nimport re\nimport sys\n",
    ),
    "plain ones first": (
        "import os\nfrom abc import ABC\n",
        (ImportRequest("sys"),),
        "import os\nimport sys\nfrom abc import ABC\n",
    ),
    "the standard library before packages": (
        "import httpx\n\nx = 1\n",
        (ImportRequest("os"),),
        "import os\n\nimport httpx\n\nx = 1\n",
    ),
    "packages after the standard library": (
        "import os\n\nx = 1\n",
        (ImportRequest("httpx"),),
        "import os\n\nimport httpx\n\nx = 1\n",
    ),
    "before the file's own": (
        "import os\n\nfrom . import mine\n",
        (ImportRequest("httpx"),),
        "import os\n\nimport httpx\n\nfrom . import mine\n",
    ),
    "into a line that is there": (
        "from fastapi import FastAPI\n",
        (ImportRequest("fastapi", "HTTPException"),),
        "from fastapi import FastAPI, HTTPException\n",
    ),
    "into the middle of it": (
        "from a import B, d  # why\n",
        (ImportRequest("a", "c"),),
        "from a import B, c, d  # why\n",
    ),
    "into lines of their own": (
        "from a import (\n    b,\n    d,\n)\n",
        (ImportRequest("a", "c"), ImportRequest("a", "e")),
        "from a import (\n    b,\n    c,\n    d,\n    e,\n)\n",
    ),
    "beside names with comments": (
        "from a import (\n    b,  # one\n    d  # two\n)\n",
        (ImportRequest("a", "a"), ImportRequest("a", "c"), ImportRequest("a", "e")),
        "from a import (\n    a,\n    b,  # one\n    c,\n    d,  # two\n    e\n)\n",
    ),
    "after a comma with a comment": (
        "from a import (\n    b,  # one\n)\n",
        (ImportRequest("a", "c"),),
        "from a import (\n    b,  # one\n    c,\n)\n",
    ),
    "once": ("import os\n", (ImportRequest("os"), ImportRequest("os")), "import os\n"),
}


@pytest.mark.parametrize(("before", "wanted", "after"), PLACES.values(), ids=PLACES)
def test_an_import_is_inserted_at_its_place(
    before: str, wanted: tuple[ImportRequest, ...], after: str
) -> None:
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


@pytest.mark.parametrize(("case", "name"), NAMES.items(), ids=lambda each: str(each))
def test_an_imported_name_has_the_alias_of_the_file(case: tuple[str, str, str], name: str | None) -> None:
    text, module, wanted = case
    assert known_name(cst.parse_module(text), module, wanted) == name
