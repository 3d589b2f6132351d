"""Objects inside a JSON row as columns: the member `city` of the member `home` is the column `home_city`.

A dot would have to stand in double quotes in SQL wherever the column is named.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

Row = Mapping[str, Any]


class Flattener:
    """Flattens rows, and counts the members that were objects."""

    def __init__(self, keep: Collection[str], skip: Collection[str]) -> None:
        """Keep objects named in `keep` whole, and leave out members named in `skip`."""
        self._keep = keep
        self._skip = skip
        self.parents: dict[str, str] = {}
        """The object from which a column came, by the column's name."""
        self.objects: Counter[str] = Counter()
        """Number of rows in which a member was an object, by its name."""

    def row(self, row: Row) -> Row:
        """Return a row without objects, except those that stay whole.

        Raises:
            ValueError: two members would become one column, which it names.
        """
        flat: dict[str, Any] = {}
        self._add(row, "", flat)
        return flat

    def ancestors(self, name: str) -> set[str]:
        """Return the names of the objects that contain a column."""
        objects = set()
        while (name := self.parents.get(name, "")) and name not in objects:
            objects.add(name)
        return objects

    def _add(self, members: Row, parent: str, flat: dict[str, Any]) -> None:
        for member, value in members.items():
            name = f"{parent}_{member}" if parent else member
            if name in flat:
                raise ValueError(name)
            if parent:
                self.parents[name] = parent
            whole = name in self._keep or name in self._skip
            if isinstance(value, dict) and not whole:
                self.objects[name] += 1
                self._add(value, name, flat)
            else:
                flat[name] = value


def depth_of(row: Row) -> int:
    """Return the depth of nested objects and arrays in a row; 1: there are none."""
    depth = 0
    layer: list[Any] = [row]
    while layer:
        depth += 1
        children = (node.values() if isinstance(node, dict) else node for node in layer)
        layer = [
            child for members in children for child in members if isinstance(child, dict | list)
        ]
    return depth
