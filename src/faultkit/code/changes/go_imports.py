"""Imports of a Go file: what a package is called there, and where a new one goes. Pure."""

from __future__ import annotations

from faultkit.code.changes.change import Edit, Source
from faultkit.code.changes.layout import insert, newline_of
from faultkit.code.syntax import Node


class GoImports:
    """Collects what is wanted and gives the edits for all of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._wanted: set[str] = set()

    def need(self, path: str) -> str:
        """What the text calls a package; it is imported if it is not yet."""
        if not self._source.facts.imports_any(path):
            self._wanted.add(path)
        return alias_of(self._source, path)

    def edits(self) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
        """And statements for which there is no place: a function without its file has none."""
        root, end = self._source.syntax.root, newline_of(self._source)
        declared = [each for each in root.named_children if each.type == "import_declaration"]
        lists = [each for one in declared for each in one.named_children if each.type == "import_spec_list"]
        package = next((each for each in root.named_children if each.type == "package_clause"), None)
        wanted = sorted(self._wanted)
        if lists:
            return tuple(self._in_list(lists[0], path, end) for path in wanted), ()
        if declared:
            return (self._listed(declared[0].named_children[0], wanted, end),) if wanted else (), ()
        if package is not None:
            lines = "".join(f'{end}import "{each}"' for each in wanted)
            return (insert(self._source, package.end_byte, f"{end}{lines}"),) if wanted else (), ()
        return (), tuple(f'import "{each}"' for each in wanted)

    def _listed(self, spec: Node, wanted: list[str], end: str) -> Edit:
        """`import "a"` as a list with more in it."""
        old = self._source.syntax.text(spec)
        specs = sorted((old, *(f'"{each}"' for each in wanted)), key=lambda each: each[each.index('"') :])
        lines = "".join(f"\t{each}{end}" for each in specs)
        return self._source.edit(spec.start_byte, spec.end_byte, f"({end}{lines})")

    def _in_list(self, specs: Node, path: str, end: str) -> Edit:
        """Before the first of the same group that follows by name, else below the last of the first group."""
        group = list[Node]()
        for each in specs.named_children:
            if each.type != "import_spec":
                continue
            if group and each.start_point.row > group[-1].end_point.row + 1:
                break
            group.append(each)
        if not group:
            return insert(self._source, specs.start_byte + 1, f'{end}\t"{path}"{end}')
        follower = next((each for each in group if _path(self._source, each) > path), None)
        if follower is not None:
            return insert(self._source, follower.start_byte, f'"{path}"{end}\t')
        return insert(self._source, group[-1].end_byte, f'{end}\t"{path}"')


def alias_of(source: Source, path: str) -> str:
    names = source.facts.imports.names
    return next((name for name, whole in names.items() if whole == path), path.rpartition("/")[2])


def _path(source: Source, spec: Node) -> str:
    node = spec.child_by_field_name("path")
    return "" if node is None else source.syntax.text(node).strip('"`')
