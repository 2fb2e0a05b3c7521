"""A failure of a program that is run becomes an error."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.calls import with_keyword
from faultkit.code.changes.python.codemod import Work, python_codemod


def _collect(work: Work) -> None:
    for _, call, node in work.calls():
        if call.name == "subprocess.run":
            work.new.replace(node, lambda each: with_keyword(cst.ensure_type(each, cst.Call), "check", _TRUE))
        elif call.name == "subprocess.call" and isinstance(node.func, cst.Attribute):
            # It takes the same arguments, and nobody looks at its result.
            work.new.swap(node.func.attr, cst.Name("check_call"))


_TRUE = cst.Name("True")

CODEMOD = python_codemod(
    "exit-status", ("exit-status-ignored",), "raise an error when a program that is run fails", _collect
)
