"""A producer's batches: at most once for each version, whatever is repeated."""

import pytest

from tests.app.support import Api, assert_problem, row

pytestmark = pytest.mark.anyio


def txn(version: object, app: str = "spark-1") -> dict[str, str]:
    return {"Psoup_Txn_App": app, "Psoup_Txn_Version": str(version)}


@pytest.mark.services
async def test_txn_same_version_is_a_duplicate_of_the_first(api: Api):
    """A repeated version is answered 200 with the position of the original, and stores nothing."""
    await api.declare()
    first = (await api.rows([row(1), row(2, px=1)], **txn(4))).json()
    again = (await api.rows([row(2, px=1.0, sym=None), row(1)], **txn(4))).json()
    assert (0, True, first["seq"]) == (again["accepted"], again["duplicate"], again["seq"])
    assert 2 == await api.count()


@pytest.mark.services
async def test_txn_older_version_is_a_duplicate_whatever_it_holds(api: Api):
    """A version below the last one was committed or skipped: it is not stored."""
    await api.declare()
    await api.rows(row(), **txn(4))
    answer = await api.rows(row(9), **txn(3))
    assert (200, True) == (answer.status_code, answer.json()["duplicate"])
    assert 1 == await api.count()


@pytest.mark.services
async def test_txn_same_version_with_other_content_is_refused(api: Api):
    """Other rows under a used version are 409 and say where the first were stored."""
    await api.declare()
    seq = (await api.rows(row(), **txn(4))).json()["seq"]
    assert_problem(await api.rows(row(1), **txn(4)), "txn-content-differs", seq=seq)
    assert 1 == await api.count()


async def test_txn_rejected_batch_does_not_use_its_version_up(api: Api):
    """A version that was refused for its rows can be sent again with better ones."""
    await api.declare()
    assert_problem(await api.rows(row(px="x"), **txn(4)), "rows-rejected")
    assert 1 == (await api.rows(row(px=1), **txn(4))).json()["accepted"]


@pytest.mark.services
async def test_txn_apps_and_streams_count_for_themselves(api: Api):
    """Versions are counted for each stream and app."""
    await api.declare()
    await api.declare("other")
    await api.rows(row(), **txn(4))
    assert 1 == (await api.rows(row(), **txn(4, "spark-2"))).json()["accepted"]
    assert 1 == (await api.rows(row(), name="other", **txn(4))).json()["accepted"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Psoup_Txn_App": "a"},
        {"Psoup_Txn_Version": "1"},
        txn("-1"),
        txn("1.0"),
        txn(2**53),
        txn(""),
        txn(1, "a" * 201),
        txn(1, ""),
    ],
)
async def test_txn_headers_incomplete_or_malformed_are_refused(api: Api, headers):
    """One header without the other, or a version out of range, is 400 and stores nothing."""
    await api.declare()
    assert_problem(await api.rows(row(), **headers), "txn-headers")
    assert 0 == await api.count()
    assert 200 == (await api.rows(row(), **txn(2**53 - 1, "a" * 200))).status_code
