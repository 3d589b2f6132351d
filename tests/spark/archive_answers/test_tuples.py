"""Where a history finds the tuples of a stream, and what it says of those that it does not find."""

import dataclasses
import shutil

import pytest

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError, GenerationChangedError
from psoup.engine.query.window import Bound, Window
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import ArchiveAnswerRefusedError, JobFailedError
from psoup.pipeline.spark.archive_answers.archive import (
    archived_rows,
    archived_through,
    last_position,
    within,
)
from psoup.pipeline.spark.archive_answers.archive_note import (
    CHECKPOINT_FOLDER,
    FOLDER,
    read_note,
    write_note,
)
from psoup.pipeline.spark.archive_answers.archive_query import (
    ArchiveQuery,
    TimeSpan,
    complete_from_us,
    instant_us,
    span_of,
)
from psoup.pipeline.spark.archive_answers.tuples import (
    find_tuples,
    is_gone,
    part_complete_from_us,
    rows_of,
)
from psoup.pipeline.spark.jobs.archive import archive
from psoup.pipeline.spark.launch.requests import ArchiveRequest
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.sql.standing_query import agreeing
from tests.spark.archive_answers.archive_world import archive_of, never
from tests.spark.read.read_world import FLIGHTS, append, declare, flights

DROPPED, FORGOTTEN = 40, "2024-05-01T12:00:40.000000Z"
"""What a stream says that has dropped so many rows, dated before that instant."""
OPEN = (Window(),)


class Gap:
    """A stream of three batches of which its archive has two, seen through a proxy that can let some be gone."""

    def __init__(self, spark, between, service, archives):
        self.spark, self.between, self.path = agreeing(spark), between, str(archives / "gap")
        self.service = service
        declare(self.service, "gap", FLIGHTS)
        self.seqs = [append(self.service, "gap", flights(first, first + 20)) for first in (0, 20)]
        archive_of(spark, between.url, "gap", archives)
        self.seqs.append(append(self.service, "gap", flights(40, 60)))
        page = self.service.batch_list("gap")
        self.archive_query = ArchiveQuery(
            "h_1", "SELECT * FROM gap", page["gen"], page["seq"], instant_us("2024-05-02")
        )

    def find(self, *, path=None, may_lack=False, **changed):
        """Return what is found of the stream, with the archive or without it."""
        archive_query = dataclasses.replace(self.archive_query, **changed)
        return find_tuples(self.spark, self.service, archive_query, "gap", path, may_lack=may_lack)

    def drop(self, *seqs):
        """Let the service look as if it had dropped these batches, and never had those of the archive held back."""
        self.between.rules.clear()
        if seqs:
            dropped = {"dropped": DROPPED, "complete_from": FORGOTTEN}
            self.between.change("/v1/streams/gap", lambda description: description | dropped)
            self.between.forget("gap", *seqs)

    def rows(self, found, **changed):
        """Return the numbers of the flights that are read."""
        archive_query = dataclasses.replace(self.archive_query, **changed)
        connection = Connection(url=self.between.url, retry_s=5.0)
        rows = rows_of(self.spark, connection, archive_query, found, OPEN)
        return sorted(row["_id"] for row in rows.select("_id").collect())


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="module")
def gap(spark, psoup_url, archives):
    """Return the stream, all of it there."""
    from tests.spark.between import Between

    with Between(psoup_url).open() as between, PsoupClient(between.url) as service:
        yield Gap(spark, between, service, archives)


@pytest.fixture(autouse=True)
def _nothing_is_gone(request):
    if "gap" in request.fixturenames:
        request.getfixturevalue("gap").drop()


def test_tuples_are_those_of_the_archive_and_of_the_log_behind_it(gap):
    """Each once, up to the position that is asked for, wherever that is; without an archive all from the log."""
    found = gap.find(path=gap.path)
    assert [gap.seqs[2]] == [one.seq for one in found.live]
    assert found.known_from_us is None
    read = gap.rows(found)
    first = read[0]
    assert list(range(first, first + 60)) == read
    found = gap.find(path=gap.path, seq=gap.seqs[0])
    assert list(range(first, first + 20)) == gap.rows(found, seq=gap.seqs[0])
    alone = gap.find()
    assert gap.seqs == [one.seq for one in alone.live]
    assert list(range(first, first + 60)) == gap.rows(alone)
    assert alone.known_from_us is None


def test_archive_that_the_log_goes_on_from_lacks_what_it_has_noted(gap):
    """Batches that are archived may be gone from the log: its hold has kept the later ones."""
    gap.drop(*gap.seqs[:2])
    assert gap.find(path=gap.path).known_from_us is None
    note_anew(gap, complete_from="2024-05-01T12:00:05Z")
    try:
        assert instant_us("2024-05-01T12:00:05Z") == gap.find(path=gap.path).known_from_us
    finally:
        note_anew(gap, complete_from=None)


def gap_note(gap):
    return read_note(gap.spark, gap.path)


def note_anew(gap, **changed):
    note = gap_note(gap)
    write_note(gap.spark, gap.path, dataclasses.replace(note, number=note.number + 1, **changed))


def test_archive_that_the_log_does_not_go_on_from_says_so(gap):
    """A batch behind it is gone, whoever may hold the stream now: what is missing has left retention."""
    for gone in (gap.seqs, gap.seqs[2:]):
        gap.drop(*gone)
        assert gap.service.held("gap") is not None
        found = gap.find(path=gap.path)
        assert instant_us(FORGOTTEN) == found.known_from_us
    gap.drop(*gap.seqs)
    assert gap.find(path=gap.path, seq=gap.seqs[1]).known_from_us is None, "no more is asked for"


def test_stream_without_an_archive_is_refused_where_the_log_does_not_reach(gap):
    """With what to do; where its window begins later, it is answered."""
    gap.drop(gap.seqs[0])
    found = gap.find()
    with pytest.raises(
        ArchiveAnswerRefusedError, match=r"archive --stream gap --path DIR.*--archive gap=DIR"
    ):
        part_complete_from_us(gap.archive_query, found, OPEN)
    later = Window(Bound(instant_us(FORGOTTEN), moving=False), Bound(0, moving=True))
    assert part_complete_from_us(gap.archive_query, found, [later]) is None


def test_answer_of_an_instant_before_all_that_is_known_is_complete_from_just_past_it(gap):
    """What the service takes for it: nothing of the answer is complete."""
    found = dataclasses.replace(gap.find(path=gap.path), known_from_us=instant_us(FORGOTTEN))
    for now_us, expected in ((1, 2), (instant_us(FORGOTTEN), instant_us(FORGOTTEN))):
        archive_query = dataclasses.replace(gap.archive_query, now_us=now_us)
        assert expected == part_complete_from_us(archive_query, found, OPEN)


def test_batches_that_go_while_they_are_to_be_read_are_noticed(gap):
    """Then the job looks for the tuples once more; it does so for nothing else."""
    found = gap.find(path=gap.path)
    assert not is_gone(gap.service, found)
    gap.drop(gap.seqs[2])
    assert is_gone(gap.service, found)
    assert not is_gone(gap.service, dataclasses.replace(found, live=[]))


def test_archives_of_something_else_are_refused(gap, spark, tmp_path):
    """Of another history, of a stream that was dropped, of other columns; and a folder that is none."""
    note = gap_note(gap)
    refusals = {
        "is of generation": dataclasses.replace(note, gen=note.gen + 1),
        "that was dropped": dataclasses.replace(note, declared=note.declared - 1),
    }
    for said, other in refusals.items():
        path = str(tmp_path / str(other.gen) / str(other.declared))
        write_note(gap.spark, path, other)
        with pytest.raises(ArchiveAnswerRefusedError, match=rf"{said}.*--archive gap=DIR"):
            gap.find(path=path)
    with pytest.raises(ArchiveAnswerRefusedError, match="There is no archive of stream 'gap' at"):
        gap.find(path=str(tmp_path / "nowhere"))
    assert gap.find(path=str(tmp_path / "nowhere"), may_lack=True).archived is None
    other = (ColumnSchema("flight", ColumnType.STRING),)
    with pytest.raises(ArchiveAnswerRefusedError, match=r"has the columns .*flight:string"):
        archived_rows(gap.spark, gap.path, other)
    with pytest.raises(GenerationChangedError):
        gap.find(gen=note.gen + 1)


def test_archive_that_has_begun_and_has_no_rows_is_one(gap, tmp_path):
    """All of the stream is in the log then, from where the archive began."""
    path = str(tmp_path / "empty")
    write_note(gap.spark, path, gap_note(gap))
    found = gap.find(path=path)
    assert gap.seqs == [one.seq for one in found.live]
    assert 0 == last_position(gap.spark, path)


def test_archive_that_does_not_say_what_it_is_of_is_none(gap, tmp_path):
    """Its rows may be those of any stream of that name; nor is it gone on with. A note has to be one."""
    path = tmp_path / "gap"
    shutil.copytree(gap.path, path)
    shutil.rmtree(path / FOLDER)
    with pytest.raises(ArchiveAnswerRefusedError, match="does not say of which stream"):
        gap.find(path=str(path))
    with pytest.raises(DefinitionError, match="does not say of which stream it is"):
        archive_of(gap.spark, gap.between.url, "gap", tmp_path)
    write_text(gap, path, '{"gen": 1, "decl')
    with pytest.raises(DefinitionError, match=r"cannot be read.*Archive the stream anew"):
        gap.find(path=str(path))


def write_text(gap, path, text):
    gap.spark.createDataFrame([(text,)], "value string").write.text(f"{path}/{FOLDER}")


def test_archive_without_its_checkpoint_is_read_and_not_gone_on_with(gap, tmp_path):
    """Spark would take what it has written before for what comes now, and the hold would move past it."""
    shutil.copytree(gap.path, tmp_path / "gap")
    path = str(tmp_path / "gap")
    assert gap.seqs[1] == archived_through(gap.spark, path, gap_note(gap))
    named = ArchiveRequest(
        stream="gap", path=path, url=gap.between.url, checkpoint=str(tmp_path / "other")
    )
    with pytest.raises(DefinitionError, match="has its checkpoint in its own folder"):
        archive(gap.spark, named, lambda _: None, never)
    shutil.rmtree(f"{path}/{CHECKPOINT_FOLDER}")
    with pytest.raises(DefinitionError, match="do not fit each other"):
        archive_of(gap.spark, gap.between.url, "gap", tmp_path)
    assert gap.seqs[1] == archived_through(gap.spark, path, gap_note(gap)), "by the files' ends"


def test_days_that_no_window_meets_are_not_read(gap):
    """Spark reads the folders of the days in between, and knows the last position from the files' ends."""
    rows = archived_rows(gap.spark, gap.path, gap.find().schema.columns)
    assert rows is not None
    assert gap.seqs[1] == last_position(gap.spark, gap.path)
    day_us = 86_400_000_000
    now_us = gap.archive_query.now_us
    for span, there in (
        (TimeSpan(now_us - day_us, now_us), 40),
        (TimeSpan(None, now_us - day_us), 40),
        (TimeSpan(now_us, now_us), 0),
        (TimeSpan(None, now_us - 2 * day_us), 0),
        (TimeSpan(-(2**62), 2**62), 40),
    ):
        assert there == within(rows, up_to=gap.archive_query.seq, span=span).count()


def test_span_is_what_any_window_shows():
    """Of a stream that FROM names twice: the earliest begin, the latest end, never past NOW."""
    sliding = Window(Bound(30, moving=True), Bound(10, moving=True))
    landmark = Window(Bound(5, moving=False), Bound(0, moving=True))
    later = Window(Bound(5, moving=False), Bound(200, moving=False))
    assert TimeSpan(70, 90) == span_of([sliding], 100)
    assert TimeSpan(5, 100) == span_of([sliding, landmark], 100)
    assert TimeSpan(5, 100) == span_of([later], 100)
    assert TimeSpan(None, 100) == span_of([sliding, Window()], 100)


def test_completeness_is_that_of_the_earliest_window():
    """As memory says it of its answers: None where every window begins at the known instant or later."""
    early, late = (Window(Bound(one, moving=True), Bound(0, moving=True)) for one in (50, 10))
    assert complete_from_us([early, late], 100, None) is None
    assert complete_from_us([early, late], 100, 50) is None
    assert complete_from_us([early, late], 100, 51) == 51
    assert complete_from_us([late], 100, 51) is None
    assert complete_from_us([Window()], 100, 51) == 51


def test_archive_whose_hold_was_ended_says_so_once_and_goes_on(spark, gap, archives):
    """What may be missing is noted, before anything that comes later stands beside it; nothing missed is no loss."""
    gap.service.unhold("gap")
    gap.drop(*gap.seqs[:2])
    assert 20 == archive_of(spark, gap.between.url, "gap", archives).rows
    assert gap_note(gap).complete_from is None
    later = [append(gap.service, "gap", flights(first, first + 20)) for first in (60, 80)]
    gap.service.unhold("gap")
    gap.drop(*gap.seqs, later[0])
    with pytest.raises(
        JobFailedError,
        match=r"before 2024-05-01T12:00:40.000000Z may be missing.*run the job again",
    ):
        archive_of(spark, gap.between.url, "gap", archives)
    assert FORGOTTEN == gap_note(gap).complete_from
    assert 20 == archive_of(spark, gap.between.url, "gap", archives).rows
    found = gap.find(path=gap.path, seq=later[1])
    assert ([], instant_us(FORGOTTEN)) == (found.live, found.known_from_us)
