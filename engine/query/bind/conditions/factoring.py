"""From a WHERE in normal form to its boolean factors."""

from collections.abc import Iterator

from psoup.engine.limits import DERIVED_FACTORS_MAX
from psoup.engine.query.bind.conditions import normal_form as form
from psoup.engine.query.bind.conditions.band import Band, band_factor, band_of
from psoup.engine.query.factor import (
    AttributeFactor,
    BooleanFactor,
    DerivedFactor,
    EquiFactor,
    ResidualFactor,
)
from psoup.engine.query.values.derived import DerivedAttribute, derived_set
from psoup.engine.query.values.expression import (
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    column_refs,
    sources_of,
)
from psoup.engine.query.values.truth_set import true_set
from psoup.engine.query.values.value_set import ValueSet, intersection


def factors_of(where: Expression) -> tuple[BooleanFactor, ...]:
    """Return the boolean factors of a WHERE in normal form.

    First one AttributeFactor per column, by source and name, of all conjuncts that are sets of its values; one
    DerivedFactor per function of a text column, of those that are sets of the function's values, where these are
    DERIVED_FACTORS_MAX at most and no column is compared with single values: such a column leaves few rows, for which
    functions are better computed than for all. Then the equalities between sources, one BandFactor per pair of sides,
    and the other conjuncts, each in canonical order. What every value and NULL satisfies is left out.
    """
    sets: dict[ColumnRef, list[ValueSet]] = {}
    derived: dict[DerivedAttribute, list[tuple[Expression, ValueSet]]] = {}
    equalities: list[BooleanFactor] = []
    bands: dict[tuple[Expression, Expression], list[Band]] = {}
    rest: list[Expression] = []
    for conjunct in form.conjuncts(where):
        ref = _only_column(conjunct)
        if ref is not None:
            values = true_set(conjunct)
            if values is not None:
                sets.setdefault(ref, []).append(values)
                continue
            found = derived_set(conjunct)
            if found is not None:
                derived.setdefault(found[0], []).append((conjunct, found[1]))
        elif isinstance(conjunct, Compare):
            equality = _equality(conjunct)
            if equality is not None:
                equalities.append(equality)
                continue
            band = band_of(conjunct)
            if band is not None:
                bands.setdefault((band.left, band.right), []).append(band)
                continue
        rest.append(conjunct)
    indexed = [
        AttributeFactor(ref, values)
        for ref in sorted(sets, key=lambda ref: (ref.source, ref.name))
        if not (values := intersection(sets[ref])).is_all
    ]
    if len(derived) > DERIVED_FACTORS_MAX or any(_asks_few(one.values) for one in indexed):
        derived = {}
    taken = {condition for parts in derived.values() for condition, _ in parts}
    return (
        *indexed,
        *_derived_factors(derived),
        *equalities,
        *map(band_factor, bands.values()),
        *(ResidualFactor(one) for one in rest if one not in taken),
    )


def _derived_factors(
    asked: dict[DerivedAttribute, list[tuple[Expression, ValueSet]]],
) -> Iterator[DerivedFactor]:
    """Yield what is asked of each derived attribute, but what every value and NULL satisfies."""
    for attribute, parts in asked.items():
        values = intersection([values for _, values in parts])
        if not values.is_all:
            condition = form.conjunction(condition for condition, _ in parts)
            yield DerivedFactor(condition, attribute, values)


def _asks_few(values: ValueSet) -> bool:
    """Return whether a set is of single values, and NULL or not."""
    return bool(values.intervals) and all(
        one.low is not None and one.low == one.high for one in values.intervals
    )


def _only_column(expression: Expression) -> ColumnRef | None:
    """Return the column that the expression reads, where it is one alone."""
    if isinstance(expression, Compare) and isinstance(expression.right, Constant):
        left = expression.left
        if isinstance(left, ColumnRef):
            return left
    refs = column_refs(expression)
    return next(iter(refs)) if len(refs) == 1 else None


def _equality(condition: Compare) -> EquiFactor | None:
    """Return the equality of a value of one source with one of another; None where it is none."""
    if condition.op is not CompareOp.EQ:
        return None
    left, right = condition.left, condition.right
    places = sorted(sources_of(left)), sorted(sources_of(right))
    if len(places[0]) != 1 or len(places[1]) != 1 or places[0] == places[1]:
        return None
    return EquiFactor(left, right) if places[0] < places[1] else EquiFactor(right, left)
