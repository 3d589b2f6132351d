"""What a stream read knows of the batches that are there, and when it says that some may be gone."""

import dataclasses

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from pyspark.sql.types import StructType

from psoup.client.calls import check_generation
from psoup.client.errors import GenerationChangedError, ServiceProblem
from psoup.pipeline.errors import OptionError, ReadRefusedError, SchemaMismatchError
from psoup.pipeline.spark.read.arrivals import Arrivals, ListedBatch, ReadThrough
from psoup.pipeline.spark.read.reader import schema_to_read
from psoup.pipeline.spark.read.stream_reader import (
    PARTITION_BYTES,
    BatchesPartition,
    PsoupStreamReader,
    grouped,
)
from tests.spark.read.read_world import FLIGHTS, append, declare, flights, rows_of

GEN = 7


class Shelf:
    """A service that has batches at some positions; retention is what takes one away."""

    def __init__(self, *seqs: int, forgotten: int = 0) -> None:
        self.seqs = list(seqs)
        self.forgotten = forgotten
        self.through: int | None = None
        self.gen = GEN

    def forget(self, *seqs: int) -> None:
        self.seqs = [seq for seq in self.seqs if seq not in seqs]
        self.forgotten = max(self.forgotten, *seqs)

    def batch_list(self, stream, *, after=0, limit=1_000):
        past = [seq for seq in self.seqs if seq > after]
        return {
            "gen": self.gen,
            "seq": max(self.seqs, default=0),
            "forgotten_through": self.forgotten,
            "batches": [{"seq": seq, "bytes": 10} for seq in past[:limit]],
            "next": "more" if len(past) > limit else None,
        }

    def held(self, stream):
        return None if self.through is None else {"through": self.through}

    def hold(self, stream, through, *, gen=None):
        check_generation(gen, self.gen)
        self.through = max(through, self.through or 0)


def arrivals(shelf, **options):
    return Arrivals(shelf, "trades", **options)


def seqs(found):
    return [one.seq for one in found]


BEGIN, AT_5 = ReadThrough(GEN, 1), ReadThrough(GEN, 5, 1)


def test_past_lists_what_is_asked_for():
    """From behind the start up to an end, or a number of batches; over as many pages as it takes."""
    shelf = Shelf(*range(2, 2_502))
    of_shelf = arrivals(shelf)
    assert list(range(2, 2_502)) == seqs(of_shelf.past(BEGIN))
    assert list(range(6, 1_501)) == seqs(of_shelf.past(AT_5, up_to=1_500))
    assert [6, 7, 8] == seqs(of_shelf.past(AT_5, most=3))
    assert [6, 7] == seqs(of_shelf.past(AT_5, most=3, up_to=7))
    assert [] == seqs(of_shelf.past(ReadThrough(GEN, 2_501, 1)))


def test_past_with_batches_gone_unread_fails():
    """A batch behind the last one that was read is gone: that is said, and passed over only where nobody minds."""
    for gone in (Shelf(8, 9, forgotten=7), Shelf(forgotten=6), Shelf(5, 8, 9, forgotten=7)):
        with pytest.raises(ReadRefusedError, match=r"position 5.*failOnDataLoss.*hold"):
            arrivals(gone).past(AT_5)
    assert [8, 9] == seqs(arrivals(Shelf(8, 9, forgotten=7), fail_on_loss=False).past(AT_5))


def test_past_with_nothing_gone_but_what_was_read_does_not_fail():
    """Also where the last batch that was read is gone itself, and nothing was there when it went."""
    shelf = Shelf(8, 9, forgotten=5)
    assert [8, 9] == seqs(arrivals(shelf).past(AT_5))
    quiet = Shelf(5)
    reader = arrivals(quiet)
    assert [] == reader.past(AT_5)
    quiet.forget(5)
    quiet.seqs = [8]
    assert [8] == seqs(reader.past(AT_5))


def test_past_with_losses_that_are_known_of_goes_on():
    """Up to the position that is told; what is gone past it is a new loss."""
    shelf = Shelf(8, 9, forgotten=7)
    assert [8, 9] == seqs(arrivals(shelf, loss_known_through=7).past(AT_5))
    with pytest.raises(ReadRefusedError, match='"lossKnownThrough", "7"'):
        arrivals(shelf, loss_known_through=6).past(AT_5)


def test_past_sees_what_goes_while_it_lists(monkeypatch):
    """A batch that is gone before its page was listed is not passed over."""
    shelf = Shelf(*range(2, 2_502))
    listed = shelf.batch_list

    def forgetful(stream, *, after=0, limit=1_000):
        page = listed(stream, after=after, limit=limit)
        shelf.forget(1_500)
        return page

    monkeypatch.setattr(shelf, "batch_list", forgetful)
    with pytest.raises(ReadRefusedError, match="gone unread"):
        arrivals(shelf).past(BEGIN)


def test_hold_is_taken_up_again_by_the_next_process():
    """From where the last one stood, whether its hold is still there or not: what is gone is known all the same."""
    shelf = Shelf(5, 6)
    first = arrivals(shelf)
    first.hold_all()
    assert 0 == shelf.through
    first.release(AT_5)
    shelf.through = None
    arrivals(shelf).hold_on(AT_5)
    assert 5 == shelf.through


def test_release_of_a_hold_that_was_ended_fails():
    """Somebody else ended it, or the stream was dropped with it: what came since may be gone."""
    shelf = Shelf(5)
    of_shelf = arrivals(shelf)
    of_shelf.hold_all()
    shelf.through = None
    with pytest.raises(ReadRefusedError, match="not held any more"):
        of_shelf.release(AT_5)


def test_past_in_another_history_fails():
    """Positions of one history name nothing in another."""
    shelf = Shelf(5, 6)
    shelf.gen = 8
    with pytest.raises(GenerationChangedError, match=r"history is 8.*is of 7.*new checkpoint"):
        arrivals(shelf).past(AT_5)


def test_hold_is_not_moved_by_positions_of_another_history():
    """It would let go of batches that nobody has read."""
    shelf = Shelf(5, 6)
    reader = arrivals(shelf)
    reader.hold_all()
    shelf.gen = 8
    for move in (reader.release, arrivals(shelf).hold_on):
        with pytest.raises(GenerationChangedError):
            move(AT_5)
    assert 0 == shelf.through


# --- The reader, over a service -------------------------------------------------------------------


@pytest.fixture
def stream(request, service):
    """Return the name of a stream of flights of the test's own, without rows."""
    name = request.node.name.partition("[")[0][:64]
    declare(service, name, FLIGHTS)
    return name


def reader_of(url, stream, **options):
    given = {"url": url, "stream": stream, **{name.lower(): one for name, one in options.items()}}
    return PsoupStreamReader(given, schema_to_read(given))


def test_arrivals_are_read_between_offsets_as_often_as_asked(psoup_url, service, stream):
    """The same offsets give the same rows, in this process and the next, whatever arrives in between."""
    for first in range(0, 50, 10):
        append(service, stream, flights(first, first + 10))
    reader = reader_of(psoup_url, stream)
    start = reader.initialOffset()
    middle = reader.latestOffset(start, ReadMaxFiles(2))
    end = reader.latestOffset(middle, ReadAllAvailable())
    append(service, stream, flights(50, 60))
    later = reader_of(psoup_url, stream)
    batches: list[pa.RecordBatch] = []
    for one in (reader, later):
        parts = [*one.partitions(start, middle), *one.partitions(middle, end)]
        batches = [batch for part in parts for batch in one.read(part)]
        found = [batch.drop_columns(["_id", "_seq", "_arrival"]) for batch in batches]
        assert rows_of(flights(0, 50).to_batches()) == rows_of(found)
        assert [] == one.partitions(end, end)
        one.stop()
    assert [0, 2, 3] == [offset["batches"] for offset in (start, middle, end)]
    ids = [number for batch in batches for number in batch.column("_id").to_pylist()]
    assert list(range(ids[0], ids[0] + 50)) == ids
    assert {end["seq"]} == set(batches[-1].column("_seq").to_pylist())
    assert [10] * 5 == [batch.num_rows for batch in batches]


def test_arrivals_begin_where_they_are_told_to(psoup_url, between, service, stream):
    """At the first batch that is there, at a position, or with what comes next; nothing forgotten is passed over."""
    seqs = [append(service, stream, flights(first, first + 10)) for first in (0, 10)]
    begins = {"earliest": seqs, "latest": [], str(seqs[1]): seqs[1:]}
    for told, expected in begins.items():
        assert expected == seqs_read(psoup_url, stream, startingSeq=told)
    between.forget(stream, seqs[0])
    for told in ("earliest", str(seqs[1])):
        assert seqs[1:] == seqs_read(between.url, stream, startingSeq=told)
    with pytest.raises(ReadRefusedError, match="gone unread"):
        seqs_read(between.url, stream, startingSeq=str(seqs[0]))
    known = {"startingSeq": str(seqs[0]), "lossKnownThrough": str(seqs[0])}
    assert seqs[1:] == seqs_read(between.url, stream, **known)


def seqs_read(url, stream, **options):
    """Return the positions that a new query would read first."""
    reader = reader_of(url, stream, **options)
    try:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        return [seq for part in reader.partitions(start, end) for seq in part.seqs]
    finally:
        reader.stop()


def test_arrivals_available_now_end_where_they_began_to(psoup_url, service, stream):
    """What arrives after the beginning of such a query is left to the next one."""
    append(service, stream, flights(0, 10))
    reader = reader_of(psoup_url, stream, maxBatchesPerTrigger="5")
    assert ReadMaxFiles(5) == reader.getDefaultReadLimit()
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    append(service, stream, flights(10, 20))
    end = reader.latestOffset(start, ReadMaxFiles(5))
    assert 1 == end["batches"]
    assert end == reader.latestOffset(end, ReadMaxFiles(5))
    reader.stop()


def test_arrivals_held_move_the_hold_with_each_commit(psoup_url, service, stream):
    """The hold is there before anything is listed, and follows what was processed, never ahead of it."""
    reader = reader_of(psoup_url, stream, hold="true")
    start = reader.initialOffset()
    assert 0 == service.held(stream)["through"]
    for first in (0, 10, 20):
        append(service, stream, flights(first, first + 10))
    middle = reader.latestOffset(start, ReadMaxFiles(2))
    assert 3 == service.held(stream)["held_batches"]
    reader.commit(middle)
    held = service.held(stream)
    assert (middle["seq"], 1) == (held["through"], held["held_batches"])
    reader.stop()
    assert middle["seq"] == service.held(stream)["through"]
    service.unhold(stream)


def test_arrivals_of_many_bytes_are_shared_out():
    """Batches that follow each other make one partition up to about its size; a larger one stands alone."""
    most = PARTITION_BYTES
    sizes = [most // 2, most // 2, 1, most + 1, 1, 1]
    listed = [ListedBatch(seq, nbytes) for seq, nbytes in enumerate(sizes)]
    assert [(0, 1), (2,), (3,), (4, 5)] == list(grouped(listed))
    small = [ListedBatch(seq, 1) for seq in range(2_500)]
    assert [1_000, 1_000, 500] == [len(group) for group in grouped(small)]


def test_arrivals_that_are_gone_fail_the_task_and_the_plan(between, service, stream):
    """A batch that was planned and is gone is an error: neither a task nor a replayed plan passes it over."""
    seqs = [append(service, stream, flights(first, first + 10)) for first in (0, 10)]
    reader = reader_of(between.url, stream)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    (part,) = reader.partitions(start, end)
    gone = f"/v1/streams/{stream}/batches/{seqs[1]}"
    between.refuse("GET", gone, 404, times=1, code="not-found", retryable=False)
    with pytest.raises(ReadRefusedError, match=rf"at position {seqs[1]} is gone"):
        list(reader.read(part))
    reader.stop()
    replayed = reader_of(between.url, stream)
    with pytest.raises(ReadRefusedError, match=r"Of the 3 batches .* only 2 are there"):
        replayed.partitions(start, end | {"batches": 3})
    with pytest.raises(GenerationChangedError):
        replayed.partitions(start | {"gen": start["gen"] + 1}, end)
    with pytest.raises(GenerationChangedError):
        list(replayed.read(dataclasses.replace(part, gen=part.gen + 1)))
    replayed.stop()


def test_arrivals_that_may_be_gone_are_passed_over_where_they_were_planned(
    between, service, stream
):
    """Nobody minds, or that one is known: the task reads what is there, and so does the plan when it is repeated."""
    seqs = [append(service, stream, flights(first, first + 10)) for first in (0, 10)]
    gone = f"/v1/streams/{stream}/batches/{seqs[0]}"
    for told in ({"failOnDataLoss": "false"}, {"lossKnownThrough": str(seqs[0])}):
        between.rules.clear()
        reader = reader_of(between.url, stream, **told)
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        (part,) = reader.partitions(start, end)
        between.refuse("GET", gone, 404, times=1, code="not-found", retryable=False)
        assert [seqs[1]] == [batch["_seq"][0].as_py() for batch in reader.read(part)]
        reader.stop()
        between.forget(stream, seqs[0])
        repeated = reader_of(between.url, stream, **told)
        assert [(seqs[1],)] == [one.seqs for one in repeated.partitions(start, end)]
        repeated.stop()


def test_arrivals_that_may_be_gone_are_of_the_stream_as_it_was(psoup_url, service, stream):
    """Another history, other columns or no stream at all are no loss to retention, whatever may be missing."""
    part = BatchesPartition(int(service.batch_list(stream)["gen"]), (10**9,))
    reader = reader_of(psoup_url, stream, failOnDataLoss="false")
    assert [] == list(reader.read(part))
    with pytest.raises(GenerationChangedError):
        list(reader.read(dataclasses.replace(part, gen=part.gen + 1)))
    service.drop(stream)
    with pytest.raises(ServiceProblem, match="404"):
        list(reader.read(part))
    service.declare(stream, {"columns": [{"name": "flight", "type": "string"}]})
    with pytest.raises(SchemaMismatchError):
        list(reader.read(part))
    reader.stop()


def test_first_micro_batch_is_planned_from_where_it_was(between, service, stream):
    """Spark asks anew for its begin when it is repeated; what is gone since is missed, unless that is known."""
    seqs = [append(service, stream, flights(first, first + 10)) for first in (0, 10)]
    reader = reader_of(between.url, stream)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    reader.stop()
    for gone in (seqs[:1], seqs):
        between.forget(stream, *gone)
        replayed = reader_of(between.url, stream)
        with pytest.raises(ReadRefusedError, match=r"past position 0, .* are gone unread"):
            replayed.partitions(replayed.initialOffset(), end)
        replayed.stop()
        known = reader_of(between.url, stream, lossKnownThrough=str(gone[-1]))
        parts = known.partitions(known.initialOffset(), end)
        assert seqs[len(gone) :] == [seq for part in parts for seq in part.seqs]
        known.stop()


def test_arrivals_of_a_stream_declared_anew_are_not_cast(psoup_url, service, stream):
    """Other columns under the same name are refused by name, not read as those of before."""
    reader = reader_of(psoup_url, stream)
    service.drop(stream)
    service.declare(stream, {"columns": [{"name": "flight", "type": "string"}]})
    with pytest.raises(SchemaMismatchError, match="flight: declared as bigint, in psoup string"):
        reader.initialOffset()
    reader.stop()


REFUSED = [
    ({"startingseq": "first"}, "'startingSeq' is 'first': expected earliest, latest"),
    ({"startingseq": "0"}, "'startingSeq' is '0'"),
    ({"maxbatchespertrigger": "0"}, "'maxBatchesPerTrigger' is '0'"),
    ({"query": "a"}, "The option 'query' belongs to a query's answer"),
    ({"stream": ""}, "needs the option 'stream'"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_arrival_options_that_cannot_be_are_refused(given, said):
    """Each says which option, what it was, and what it may be."""
    with pytest.raises(OptionError) as caught:
        PsoupStreamReader({"url": "http://127.0.0.1:9", "stream": "a", **given}, StructType())
    assert said in str(caught.value)
