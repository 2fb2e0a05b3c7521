"""Imports of a Go file: the name of a package there, and the place of a new import. Pure."""

from __future__ import annotations

import re

from faultkit.code.changes.change import Edit, Source, insert, newline_of
from faultkit.code.languages.syntax import Node, walk

_NAMES = ("identifier", "type_identifier", "package_identifier")


class GoImports:
    """Collects required packages and returns the edits for all of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._wanted: set[str] = set()
        self._names: dict[str, str] = {}

    def need(self, path: str) -> str:
        """Return the local name of a package; it is imported if it is not yet. Empty if the file or its
        package uses that name for something else."""
        if path not in self._names:
            name = alias_of(self._source, path)
            is_imported = self._source.facts.imports.names.get(name) == path
            is_taken = _is_taken(self._source, name, is_imported=is_imported)
            self._names[path] = "" if is_taken else name
            if not is_imported and not is_taken:
                self._wanted.add(path)
        return self._names[path]

    def edits(self) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
        """Return edits, and statements for which there is no place, because a part of a file has none."""
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
        """Turn `import "a"` into a list."""
        old = self._source.syntax.text(spec)
        specs = sorted((old, *(f'"{each}"' for each in wanted)), key=lambda each: each[each.index('"') :])
        lines = "".join(f"\t{each}{end}" for each in specs)
        return self._source.edit(spec.start_byte, spec.end_byte, f"({end}{lines})")

    def _in_list(self, specs: Node, path: str, end: str) -> Edit:
        """Insert before the next package of the same group by name, else below the last of the first
        group."""
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
    """Return the local name of a package; the last part of its path if it is not imported."""
    names = source.facts.imports.names
    return next((name for name, whole in names.items() if whole == path), path.rpartition("/")[2])


def _is_taken(source: Source, name: str, *, is_imported: bool) -> bool:
    """Return whether a name stands for anything but an imported package somewhere in the file; of one that is
    not imported yet, also whether another file of the package may declare it."""
    for node in walk(source.syntax.root):
        is_same = node.type in _NAMES and source.syntax.text(node) == name
        if is_same and not (is_imported and _names_package(node)):
            return True
    declared = re.compile(rf"^(?:(?:func|var|const|type)\s+|\s+){name}\b(?!\.)", re.MULTILINE)
    return not is_imported and any(declared.search(text) for _, text in source.project.package)


def _names_package(node: Node) -> bool:
    """Return whether an identifier stands where the name of a package does: `time.Now`, `time.Duration`."""
    outer = node.parent
    if outer is None or outer.type not in ("selector_expression", "qualified_type", "import_spec"):
        return False
    return outer.type == "import_spec" or outer.start_byte == node.start_byte


def _path(source: Source, spec: Node) -> str:
    node = spec.child_by_field_name("path")
    return "" if node is None else source.syntax.text(node).strip('"`')
