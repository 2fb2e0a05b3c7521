"""Names of a text: which are free, which are known at the top of the file, which are read in a part. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from faultkit.code.changes.python.tree import Tree, nodes_in

_BUILT_IN = frozenset(
    {"True", "False", "None", "str", "int", "float", "dict", "list", "set", "tuple", "bool"}
)


def free_name(tree: Tree, wanted: str, near: cst.CSTNode | None = None) -> str:
    """The name, or one with a number, that nothing in the function around `near`, or in the file, has."""
    where = (tree.function(near) if near is not None else None) or tree.module
    taken = {each.value for each in nodes_in(where, cst.Name)}
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def variables_in(tree: Tree, top: cst.CSTNode) -> Iterator[cst.Name]:
    """Names that stand for values: neither attributes nor keywords of calls."""
    for name in nodes_in(top, cst.Name):
        above = tree.parent(name)
        if isinstance(above, cst.Attribute) and above.attr is name:
            continue
        if isinstance(above, cst.Arg) and above.keyword is name:
            continue
        yield name


def is_known_before(tree: Tree, part: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether all that a part reads is bound at the top of the file before this statement of it."""
    known = {*_BUILT_IN}
    for line in tree.module.body:
        if line is statement:
            break
        if isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                known |= _bound_by(small)
    return all(name.value in known for name in variables_in(tree, part))


def _bound_by(small: cst.BaseSmallStatement) -> set[str]:
    if isinstance(small, cst.Assign):
        return {each.target.value for each in small.targets if isinstance(each.target, cst.Name)}
    if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
        return {small.target.value}
    if isinstance(small, (cst.Import, cst.ImportFrom)) and not isinstance(small.names, cst.ImportStar):
        return {(each.evaluated_alias or each.evaluated_name).partition(".")[0] for each in small.names}
    return set()
