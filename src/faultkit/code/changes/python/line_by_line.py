"""Files that are gone through line by line, without a list of all lines first."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import Work, python_codemod


def _collect(work: Work) -> None:
    for _, call, node in work.calls():
        above = work.tree.parent(node)
        if call.method != "readlines" or node.args or not isinstance(node.func, cst.Attribute):
            continue
        # A list that has a name may be gone through twice.
        if isinstance(above, (cst.For, cst.CompFor)) and above.iter is node:
            work.new.swap(node, node.func.value)


CODEMOD = python_codemod(
    "line-by-line", ("whole-file-loaded",), "read a file line by line, and not all of it at once", _collect
)
