"""Objects inside a JSON row as columns: the member `city` of the member `home` is the column `home_city`.

A dot would have to stand in double quotes in SQL wherever the column is named.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

Row = Mapping[str, Any]


class Flattener:
    """Makes rows flat, and remembers which members were objects."""

    def __init__(self, keep: Collection[str], skip: Collection[str]) -> None:
        """Leave objects called as in `keep` whole, and leave out members called as in `skip`."""
        self._keep = keep
        self._skip = skip
        self.parents: dict[str, str] = {}
        """Of each column that came out of an object: the object's name."""
        self.objects: Counter[str] = Counter()
        """In how many rows each of them was an object."""

    def row(self, row: Row) -> Row:
        """Return a row without objects, but for those that stay whole.

        Raises:
            ValueError: two members would be one column; names it.
        """
        found: dict[str, Any] = {}
        self._add(row, "", found)
        return found

    def ancestors(self, name: str) -> set[str]:
        """Return the names of the objects that a column came out of."""
        found = set()
        while (name := self.parents.get(name, "")) and name not in found:
            found.add(name)
        return found

    def _add(self, members: Row, parent: str, found: dict[str, Any]) -> None:
        for member, value in members.items():
            name = f"{parent}_{member}" if parent else member
            if name in found:
                raise ValueError(name)
            if parent:
                self.parents[name] = parent
            whole = name in self._keep or name in self._skip
            if isinstance(value, dict) and not whole:
                self.objects[name] += 1
                self._add(value, name, found)
            else:
                found[name] = value


def depth_of(row: Row) -> int:
    """Return how deep objects and arrays are nested in a row: 1 where there are none."""
    depth = 0
    layer: list[Any] = [row]
    while layer:
        depth += 1
        children = (one.values() if isinstance(one, dict) else one for one in layer)
        layer = [child for some in children for child in some if isinstance(child, dict | list)]
    return depth
