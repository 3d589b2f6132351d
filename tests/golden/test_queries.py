"""Golden texts: what an accepted query becomes, and where a refused one is wrong."""

import pytest

from psoup.engine.query.bind.binder import bind
from tests.golden.query_files import (
    ACCEPTED,
    ACCEPTED_FUNCTIONS,
    ACCEPTED_PARAMETERS,
    REFUSED,
    REFUSED_FUNCTIONS,
    REFUSED_PARAMETERS,
    STREAMS,
    Case,
    accepted,
    given,
    read_cases,
    refused,
)

ACCEPTED_FILES = (ACCEPTED, ACCEPTED_FUNCTIONS, ACCEPTED_PARAMETERS)
REFUSED_FILES = (REFUSED, REFUSED_FUNCTIONS, REFUSED_PARAMETERS)
ACCEPTED_CASES = [case for path in ACCEPTED_FILES for case in read_cases(path)]
REFUSED_CASES = [case for path in REFUSED_FILES for case in read_cases(path)]


@pytest.mark.parametrize("case", ACCEPTED_CASES, ids=lambda case: case.text[:60])
def test_golden_accepted_query_becomes_what_is_written_down(case: Case):
    """Canonical text, kind of window, columns, factors and warnings are those of the file."""
    assert case.expected == accepted(case.text)


@pytest.mark.parametrize("case", ACCEPTED_CASES, ids=lambda case: case.text[:60])
def test_golden_canonical_text_of_an_accepted_query_is_the_same_query(case: Case):
    """Binding the canonical text gives an equal query."""
    query = bind(case.text, STREAMS, given(case.text))
    assert query == bind(query.canonical, STREAMS)


@pytest.mark.parametrize("case", REFUSED_CASES, ids=lambda case: case.text[:60])
def test_golden_refused_query_points_at_what_is_written_down(case: Case):
    """Code, line, column, length and sentence are those of the file."""
    assert case.expected == refused(case.text)


def test_golden_files_hold_enough_cases_each_once():
    """At least 60 accepted and 80 refused texts, none twice."""
    for cases, least in ((ACCEPTED_CASES, 60), (REFUSED_CASES, 80)):
        texts = [case.text for case in cases]
        assert len(set(texts)) == len(texts) >= least
