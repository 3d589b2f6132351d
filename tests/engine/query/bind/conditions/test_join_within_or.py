"""Streams compared within OR alone: refused, with a hint that says why the comparison does not count."""

import pytest

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query.bind.binder import bind
from tests.engine.joins.folds import Tables


def test_streams_compared_within_or_alone_are_refused_and_told_so():
    """Beside a comparison of its own the same OR is taken."""
    streams, either = Tables("r", "s").streams, "(x.i = y.i OR x.f = y.f)"
    sql = f"SELECT x.i FROM r AS x, s AS y WHERE {either}"
    with pytest.raises(UnsupportedSqlError, match="Nothing joins this stream") as refused:
        bind(sql, streams)
    assert "Nothing joins 'y' to 'x'." == refused.value.quoting
    assert "compare columns of both, not within OR: WHERE x.column = y.column" in str(
        refused.value.hint
    ).replace("Compare", "compare")
    assert 1 < len(bind(f"{sql} AND x.t = y.t", streams).clause.factors)
