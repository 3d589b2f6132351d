"""Pages cut until they fit: which rows are left, where the next page begins, and how often rows are written."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from psoup.app.wire.answers.encoding import RowSet, meta_columns
from psoup.app.wire.answers.fit import EncodedPage, fit_page
from psoup.engine.invoke import Answer, PagePosition, PartPosition
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Column, Seq
from psoup.engine.tuples.schema import ColumnType

OFFSET = 5
SIZES = [3, 1_000, 7, 250, 0, 0, 4_000, 12, 90, 600, 1, 30]
AT = PagePosition(Gen(1), Seq(9), 77, (PartPosition(20, 0, None),), None, (2,), OFFSET)


def answer_of(sizes: list[int], *, at: PagePosition | None = AT) -> Answer:
    """Return an answer with one row for each size: the bytes of its text."""
    texts = tuple("x" * size for size in dict.fromkeys(sizes)) or ("",)
    codes = np.array([texts.index("x" * size) for size in sizes], dtype=np.int32)
    unread: Any = None
    return Answer(
        cut=unread,
        query=unread,
        now_us=77,
        begin_us=None,
        end_us=None,
        count=OFFSET + len(sizes),
        complete_from_us=None,
        columns=(("t", Column(ColumnType.STRING, codes, None, texts)),),
        tuple_ids=np.arange(1, len(sizes) + 1),
        leaves_us=np.arange(len(sizes)),
        at=at,
        next=None,
    )


def rows_of(answer: Answer) -> RowSet:
    """Return all of an answer's rows with their meta columns."""
    (_, column), *_ = answer.columns
    meta = meta_columns(answer.tuple_ids, answer.leaves_us)
    return RowSet((*meta, *answer.columns), len(column))


class Writing:
    """Writes the texts of a page, and keeps what it was given."""

    def __init__(self) -> None:
        self.written: list[Answer] = []

    def __call__(self, answer: Answer, rows: RowSet) -> EncodedPage:
        assert rows.length == answer.tuple_ids.shape[-1]
        self.written.append(answer)
        (_, column), *_ = answer.columns
        link = None if answer.next is None else str(answer.next.offset)
        return EncodedPage("".join(map(str, column.to_list())).encode(), link)


def test_page_that_fits_is_written_once_as_it_is():
    """Nothing is cut, and the next page is where it was."""
    writing, answer = Writing(), answer_of(SIZES)
    bytes_max = 2 * sum(SIZES)
    page = fit_page(answer, rows_of=rows_of, encode=writing, bytes_max=bytes_max, rows_min=1)
    assert (sum(SIZES), None) == (len(page.body), page.link)
    assert len(writing.written) == 1
    assert writing.written[0] is answer


@pytest.mark.parametrize("rows_min", [0, 1])
@pytest.mark.parametrize("bytes_max", [0, 2, 3, 4, 999, 1_003, 1_010, 1_260, 5_000, 5_992])
def test_page_is_a_prefix_that_fits_and_the_next_one_goes_on_behind_it(
    bytes_max: int, rows_min: int
):
    """Ids, instants and texts are of the same rows; no fewer than may be, no more bytes than fit but for those."""
    writing = Writing()
    page = fit_page(
        answer_of(SIZES), rows_of=rows_of, encode=writing, bytes_max=bytes_max, rows_min=rows_min
    )
    told = writing.written[-1]
    rows = len(told.tuple_ids)
    assert sum(SIZES[:rows]) == len(page.body)
    assert len(page.body) <= bytes_max or rows == rows_min
    assert list(range(1, rows + 1)) == told.tuple_ids.tolist()
    assert told.leaves_us is not None
    assert list(range(rows)) == told.leaves_us.tolist()
    assert told.next is not None
    assert AT.behind(OFFSET + rows, AT.oldest_rows) == told.next
    assert str(OFFSET + rows) == page.link


def test_page_of_rows_estimated_far_too_large_is_cut_before_it_is_written():
    """What is written is seldom too large, and never by far."""
    writing, sizes = Writing(), [100] * 1_000
    page = fit_page(answer_of(sizes), rows_of=rows_of, encode=writing, bytes_max=1_000, rows_min=1)
    assert 0 < len(page.body) <= 1_000
    assert max(len(one.tuple_ids) for one in writing.written) <= 20


def test_page_of_a_join_is_cut_in_all_its_sources():
    """Ids of composites are cut by their rows, not by their sources."""
    writing, whole = Writing(), answer_of([500, 500, 500])
    ids = np.arange(6).reshape(2, 3)
    joined = dataclasses.replace(whole, tuple_ids=ids)
    fit_page(joined, rows_of=rows_of, encode=writing, bytes_max=700, rows_min=1)
    assert [[0], [3]] == writing.written[-1].tuple_ids.tolist()


def test_page_without_a_position_has_no_next_one():
    """A page out of the archive has positions of its own: nothing is made up."""
    writing = Writing()
    page = fit_page(
        answer_of(SIZES, at=None), rows_of=rows_of, encode=writing, bytes_max=1_100, rows_min=1
    )
    assert page.link is None
    assert len(page.body) <= 1_100
    assert writing.written[-1].next is None
