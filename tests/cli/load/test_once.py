"""A file is loaded once, whatever the options: other ones are noticed before a row comes in twice, or is missed."""

import pytest

from psoup.app.cli.common import ExitCode
from psoup.client.calls import PsoupClient
from psoup.engine.limits import APP_DIGESTS_KEPT
from psoup.pipeline.files.readers import csv_rows
from psoup.pipeline.load.batches import FIRST_VERSION


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(300)))
    return path


@pytest.mark.parametrize(
    "other",
    [("--batch-rows", 7), ("--batch-rows", 200), ("--skip-columns", "n"), ("--null", "2")],
)
def test_file_loaded_with_other_options_is_refused_before_a_row_of_it_is_stored(
    psoup, csv_file, other
):
    """Other batches or other rows: the message names the file, the stream and the ways out."""
    psoup("load", csv_file, "--stream", "s", "--batch-rows", 10)
    result = psoup(
        "load", csv_file, "--stream", "s", "--batch-rows", 10, *other, code=ExitCode.REFUSED
    )
    assert f"{csv_file} was loaded into s before, with other options" in result.stderr
    assert "--replace" in result.stderr
    assert "--producer" in result.stderr
    assert 300 == psoup.rows("s")


def test_options_that_change_no_row_are_the_same_load(psoup, csv_file):
    """A word for NULL that the file does not have, compression on the way: nothing differs."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts")
    psoup(*command)
    for other in (("--null", "NA"), ("--compress", "zstd")):
        assert "300 rows in 1 batch were there already" in psoup(*command, *other).stdout


@pytest.mark.parametrize("first", [(), ("--sort",)])
def test_file_loaded_in_another_order_is_refused(psoup, csv_file, first):
    """Its batches may be alike where they are compared, and others elsewhere: the order is looked up by itself."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts")
    psoup(*command, *first)
    other = () if first else ("--sort",)
    result = psoup(*command, *other, code=ExitCode.REFUSED)
    assert "--sort" in result.stderr
    assert 300 == psoup.rows("s")


def interrupt_after(monkeypatch, batches):
    """Make the next load end as by Ctrl-C once so many batches are stored."""
    append = PsoupClient.append

    def append_some(self, *arguments, txn, **options):
        if txn is not None and txn.version >= FIRST_VERSION + batches:
            raise KeyboardInterrupt
        return append(self, *arguments, txn=txn, **options)

    monkeypatch.setattr(PsoupClient, "append", append_some)


@pytest.mark.parametrize(
    "rows", [10, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (50, 100)), 300]
)
def test_interrupted_load_repeated_with_larger_batches_misses_nothing(
    psoup, csv_file, monkeypatch, rows
):
    """All of its few batches count as known, far from those that are still compared: the end tells."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3 * APP_DIGESTS_KEPT)
        psoup(*command, 1, code=ExitCode.INTERRUPTED)
    stored = psoup.rows("s")
    assert stored == 3 * APP_DIGESTS_KEPT
    result = psoup(*command, rows, code=ExitCode.REFUSED)
    assert "with other options" in result.stderr
    assert stored == psoup.rows("s")
    psoup(*command, 1)
    assert 300 == psoup.rows("s")


def test_load_corrected_after_a_bad_value_goes_on(psoup, tmp_path, monkeypatch):
    """What was stored before the bad value is read alike by the corrected command: it comes in once."""
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", 16)
    path = tmp_path / "a.csv"
    path.write_text("n\n" + "".join("oops\n" if i == 25 else f"{i}\n" for i in range(40)))
    command = ("load", path, "--stream", "s", "--schema", "n int64", "--batch-rows", 10)
    refused = psoup(*command, code=ExitCode.DATA_FILE)
    assert "--null 'oops'" in refused.stderr
    assert 20 == psoup.rows("s")
    result = psoup(*command, "--null", "oops")
    assert "loaded 20 rows into s in 2 batches" in result.stdout
    assert 40 == psoup.rows("s")


def test_replacing_load_takes_the_place_of_everything(psoup, csv_file):
    """Other types, the same file: dropped, declared anew, loaded once; queries over it go as well."""
    command = ("load", csv_file, "--stream", "s", "--time", "ts", "--schema")
    psoup(*command, "ts timestamp, n int64", "--retention-rows", 700)
    psoup("register", "SELECT n FROM s")
    other = (*command, "ts timestamp, n string")
    assert "--replace" in psoup(*other, code=ExitCode.REFUSED).stderr
    asked = psoup(*other, "--replace", code=ExitCode.USAGE)
    assert "This drops s with 300 rows and removes 1 query" in asked.stderr
    assert "--yes" in asked.stderr
    assert 300 == psoup.rows("s")
    psoup(*other, "--replace", "--yes")
    with psoup.service() as service:
        found = service.stream("s")
        assert [] == list(service.queries())
    assert found is not None
    assert (300, 700) == (found["rows"], found["retention"]["rows"])
    assert ["timestamp", "string"] == [column["type"] for column in found["columns"]]
    assert "loaded 0 rows" in psoup(*other).stdout


def test_replacing_load_infers_anew_and_keeps_the_time_column(psoup, csv_file):
    """A corrected file has the types that it shows now; a stream that is not there needs no consent."""
    command = ("load", csv_file, "--stream", "s", "--replace", "--yes")
    psoup(*command[:4], "--replace", "--time", "ts")
    csv_file.write_text(csv_file.read_text().replace(",5\n", ",5.5\n"))
    psoup(*command)
    with psoup.service() as service:
        found = service.stream("s")
    assert found is not None
    assert (300, "ts", "float64") == (found["rows"], found["time"], found["columns"][1]["type"])


def test_replacing_load_of_an_empty_stream_asks_nobody(psoup, csv_file):
    """Nothing is lost with it."""
    psoup("declare", "s", "--column", "x:string")
    psoup("load", csv_file, "--stream", "s", "--replace")
    assert 300 == psoup.rows("s")


def test_replacing_load_of_a_file_that_cannot_be_read_drops_nothing(psoup, csv_file):
    """The first batch is read before anything is changed."""
    psoup("load", csv_file, "--stream", "s")
    csv_file.write_text("ts,n\n2024-01-01,x\n")
    schema = "ts timestamp, n int64"
    psoup(
        "load",
        csv_file,
        "--stream",
        "s",
        "--schema",
        schema,
        "--replace",
        "--yes",
        code=ExitCode.DATA_FILE,
    )
    assert 300 == psoup.rows("s")


def test_file_that_is_written_to_while_it_is_loaded_is_refused(psoup, csv_file, monkeypatch):
    """Its digest would be that of another content: the batches before stay, and the message says what to do."""
    append = PsoupClient.append

    def append_and_write(self, *arguments, **options):
        receipt = append(self, *arguments, **options)
        with csv_file.open("a") as file:
            file.write("2024-01-01T00:00:00Z,1\n")
        return receipt

    monkeypatch.setattr(PsoupClient, "append", append_and_write)
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 10)
    result = psoup(*command, code=ExitCode.DATA_FILE)
    assert "written to while it was loaded" in result.stderr
    assert 0 < psoup.rows("s") < 300


def test_question_whether_a_file_is_known_leaves_no_answer_behind(psoup, csv_file, monkeypatch):
    """Refused and asked again, or asked twice because an answer was lost: only rows make a file known."""
    other = csv_file.with_name("b.csv")
    other.write_text("ts,n\n2024-01-02T00:00:00Z,1\n")
    psoup("load", csv_file, "--stream", "s", "--time", "ts")
    command = ("load", other, "--stream", "s", "--time", "ts", "--yes")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 0)
        for _ in range(2):
            result = psoup(*command, code=ExitCode.INTERRUPTED)
            assert "none of them from" in result.stderr
    append = PsoupClient.append
    third = csv_file.with_name("c.csv")
    third.write_text("ts,n\n2024-01-03T00:00:00Z,1\n")
    asked: list[object] = []
    with monkeypatch.context() as patch:

        def append_lost(self, *arguments, txn, **options):
            if txn is not None and not asked:
                asked.append(append(self, *arguments, txn=txn, **options))
            return append(self, *arguments, txn=txn, **options)

        patch.setattr(PsoupClient, "append", append_lost)
        result = psoup("load", third, "--stream", "s", "--time", "ts", "--yes")
    assert "none of them from" in result.stderr
    psoup(*command, "--sort")
    assert 302 == psoup.rows("s")
