"""An answer beside what is expected of it: the differences, and both as text."""

import difflib
import json
from typing import Any

from conformance.service import Json

SHOWN_MEMBERS = ("reset", "now", "window", "count")


class Names:
    """Which opaque `_id` is which row: one for what the row is known by, for as long as the world lasts."""

    def __init__(self, columns: list[str]) -> None:
        """Take the columns that rows are known by."""
        self.columns = columns
        self.values: dict[str, tuple[Any, ...]] = {}
        self.ids: dict[tuple[Any, ...], str] = {}

    def of(self, row: Json) -> tuple[Any, ...]:
        """Return what a row is known by."""
        return tuple(row.get(column) for column in self.columns)

    def learn(self, rows: list[Json]) -> list[str]:
        """Note the `_id` of each row; return what contradicts those of before."""
        wrong = []
        for row in rows:
            values, found = self.of(row), row.get("_id")
            if not isinstance(found, str):
                wrong.append(f"_id of {values} is {found!r}: a text was expected")
            elif self.ids.setdefault(values, found) != found:
                wrong.append(f"_id of {values} was {self.ids[values]!r} and is {found!r}")
            elif self.values.setdefault(found, values) != values:
                wrong.append(f"_id {found!r} was {self.values[found]} and is {values}")
        return wrong


class Differences:
    """What is wrong with one answer.

    `names` knows rows by their ids, and learns those that are new; `kind` is the world's.
    """

    def __init__(
        self, expected: Json, given: Json, names: Names, *, kind: str, in_order: bool = True
    ) -> None:
        self._expected = expected
        self._given = given
        self._names = names
        self._kind = kind
        self._in_order = in_order
        self._rows = given.get("rows")

    def found(self) -> list[str]:
        """Return a sentence for each."""
        if not isinstance(self._rows, list):
            return [f"rows are {self._rows!r}: a list was expected"]
        is_reset = self._given.get("reset") is True
        may_reset = "if_reset" in self._expected
        wrong = [
            f"{name} is {self._given.get(name)!r}, {self._expected[name]!r} was expected"
            for name in SHOWN_MEMBERS
            if name in self._expected and self._expected[name] != self._given.get(name)
            if not (name == "reset" and is_reset and may_reset)
        ]
        wrong += self._names.learn(self._rows)
        expected_rows = self._expected["if_reset" if is_reset and may_reset else "rows"]
        if not self._are_those(expected_rows, exactly=self._kind == "rows" or is_reset):
            wrong.append("rows differ")
        return wrong + self._end() + self._forgotten(is_reset=is_reset)

    def _are_those(self, expected: list[Json], *, exactly: bool) -> bool:
        """Return whether the rows are those, in their order: all of them, or (`exactly` False) some."""
        given, names = self._rows or [], self._names
        order = [names.of(row) for row in expected]
        values = [names.of(row) for row in given]
        if not self._in_order:
            order, values = sorted(order), sorted(values)
        if exactly and values != order:
            return False
        if len(set(values)) != len(values) or values != [v for v in order if v in set(values)]:
            return False
        of_names = {names.of(row): row for row in expected}
        if self._kind != "distinct":
            return all(
                of_names[names.of(row)] == {name: row[name] for name in row if name != "_id"}
                for row in given
            )
        leaves = {name: row["_x"] for name, row in of_names.items()}
        # Of duplicates the last decides; an earlier instant is right where the row is then sent again.
        now = self._given.get("now") or ""
        return all(
            leaves[names.of(row)] is None
            or (row.get("_x") is not None and now < row["_x"] <= leaves[names.of(row)])
            for row in given
        )

    def _end(self) -> list[str]:
        """Return what is wrong with `next` and `cursor`."""
        more, given = self._expected.get("more", False), self._given
        wrong = []
        if (given.get("next") is not None) != more:
            wrong.append(
                f"next is {given.get('next')!r}, {'a page' if more else 'null'} was expected"
            )
        if more and given.get("cursor") is not None:
            wrong.append("a page that is not the last has a cursor")
        if not more and self._expected["now"] and not isinstance(given.get("cursor"), str):
            wrong.append(f"cursor is {given.get('cursor')!r}: a text was expected")
        return wrong

    def _forgotten(self, *, is_reset: bool) -> list[str]:
        """Return what is wrong with `removed` and `keep`, which are for rows that retention has dropped alone."""
        removed, keep = self._given.get("removed") or [], self._given.get("keep")
        if self._kind == "groups" and "dropped" not in self._expected and not is_reset:
            shown = {self._names.of(row) for row in self._rows or []}
            named = {self._names.values.get(one) for one in removed}  # HAVING may have taken them
            return ["removed names a row that is sent"] if named & shown else []
        if "dropped" not in self._expected or is_reset:
            return [
                f"{name} is {value!r}, and nothing was dropped"
                for name, value in (("removed", removed), ("keep", keep))
                if value not in ([], None)
            ]
        names = self._names
        visible = {names.of(row) for row in self._expected["if_reset"]}
        sent = {names.of(row) for row in self._rows or []}
        wrong = []
        if {names.values.get(one) for one in removed} & (visible - sent):
            wrong.append("removed names a row that is visible")
        if keep is not None:
            kept = {names.values.get(one) for one in keep}
            if kept - visible:
                wrong.append("keep names a row that is not visible")
            if {v for v in visible if v in names.ids} - sent - kept:
                wrong.append("keep leaves out a row that is visible")
        for values in map(tuple, self._expected["dropped"]):
            one = names.ids.get(values)
            if one is not None and one not in removed and (keep is None or one in keep):
                wrong.append(f"nothing says that {values} was dropped")
        return wrong


def side_by_side(expected: Json, given: Json) -> str:
    """Return a plain diff of what was expected (-) and given (+), one row a line."""
    return "\n".join(
        line
        for line in difflib.unified_diff(
            _lines(expected), _lines(given), "expected", "given", lineterm="", n=1
        )
    )


def _lines(answer: Json) -> list[str]:
    members = (*SHOWN_MEMBERS, "removed", "keep", "dropped")
    lines = [f"{name}: {json.dumps(answer[name])}" for name in members if answer.get(name)]
    lines += [
        json.dumps({name: row[name] for name in sorted(row) if name != "_id"})
        for row in answer.get("rows") or []
    ]
    return lines
