"""Golden texts: what an accepted query becomes, and where a refused one is wrong."""

import pytest

from psoup.engine.query.bind.binder import bind
from tests.golden.query_files import (
    ACCEPTED,
    REFUSED,
    STREAMS,
    Case,
    accepted,
    given,
    read_all_cases,
    refused,
)
from tests.golden.shape_forms import all_shape_forms, shape_forms_of


@pytest.mark.parametrize("case", read_all_cases(ACCEPTED), ids=lambda case: case.text[:60])
def test_golden_accepted_query_becomes_what_is_written_down(case: Case):
    """Canonical text, kind of window, columns, factors, warnings and answer are those of the file."""
    assert case.expected == accepted(case.text)


@pytest.mark.parametrize("case", read_all_cases(ACCEPTED), ids=lambda case: case.text[:60])
def test_golden_canonical_text_of_an_accepted_query_is_the_same_query(case: Case):
    """Binding the canonical text gives an equal query."""
    query = bind(case.text, STREAMS, given(case.text))
    assert query == bind(query.canonical, STREAMS)


@pytest.mark.parametrize("case", read_all_cases(REFUSED), ids=lambda case: case.text[:60])
def test_golden_refused_query_points_at_what_is_written_down(case: Case):
    """Code, line, column, length and sentence are those of the file."""
    assert case.expected == refused(case.text)


def test_golden_files_have_every_form_of_shapes():
    """Each aggregate, plain, DISTINCT where it may be, with FILTER; each way to group, order, limit, count and join."""
    found = [shape_forms_of(case.text, given(case.text)) for case in read_all_cases(ACCEPTED)]
    assert all_shape_forms() == set[str]().union(*found)


def test_golden_files_hold_enough_cases_each_once():
    """At least 60 accepted and 80 refused texts, none twice."""
    for path, least in ((ACCEPTED, 60), (REFUSED, 80)):
        texts = [case.text for case in read_all_cases(path)]
        assert len(set(texts)) == len(texts) >= least
