"""What jobs are asked for: options as people write them, refused before anything is started."""

import pytest
import typer
from typer.testing import CliRunner

from psoup.client.errors import DefinitionError
from psoup.pipeline.spark.launch.arguments import command_of
from psoup.pipeline.spark.launch.requests import (
    ArchiveRequest,
    BackfillRequest,
    IngestRequest,
    mapping,
    source_options,
    trigger_interval,
    writer_options,
)


def ingest_request(**given):
    return IngestRequest(stream="s", checkpoint="c", format="rate", **given)


def test_mapping_is_what_stands_before_the_first_equals_sign():
    """Expressions may hold signs of their own; a name alone is the source's column, `*` all of them."""
    given = ["*", "ok = a = b", "n=CAST(m AS INT)", "id.orig_h"]
    expected = {"*": "*", "ok": "a = b", "n": "CAST(m AS INT)", "id.orig_h": "`id.orig_h`"}
    assert expected == mapping(given)
    assert {} == mapping(None)


@pytest.mark.parametrize("given", [["= a"], ["a ="], [""], ["a = b", "a = c"]])
def test_mapping_of_another_form_is_refused(given):
    """The message shows what was given."""
    with pytest.raises(DefinitionError, match="--map"):
        mapping(given)


def test_source_options_keep_what_stands_behind_the_first_equals_sign():
    """A value may be empty, blank or hold signs."""
    assert {"sep": "\t", "q": "", "x": "a=b"} == source_options(["sep=\t", "q=", "x=a=b"])
    with pytest.raises(DefinitionError, match="'header'"):
        source_options(["header"])


@pytest.mark.parametrize(
    ("given", "milliseconds"), [("500ms", 500), ("2s", 2_000), ("1.5m", 90_000), ("1h", 3_600_000)]
)
def test_trigger_interval_is_written_as_spark_reads_it(given, milliseconds):
    """Durations as everywhere in psoup."""
    assert f"{milliseconds} milliseconds" == trigger_interval(given)


@pytest.mark.parametrize(
    "given",
    [
        {"every": "soon"},
        {"every": "2s", "available_now": True},
        {"map": ["a"], "options": ["b"]},
        {"retention_rows": 5},
    ],
)
def test_request_that_cannot_be_is_refused_as_it_is_made(given):
    """Before Java is started for it."""
    with pytest.raises(DefinitionError):
        ingest_request(**given)


def test_writer_options_declare_only_where_told():
    """Time and retention are said of a stream as it is declared, and only then."""
    told = {"url": "http://127.0.0.1:8000", "stream": "s"}
    assert told == writer_options(ingest_request(time="ts"))
    created = writer_options(ingest_request(time="ts", create=True, retention_rows=9, token="k"))
    declared = {"createStream": "true", "time": "ts", "retentionRows": "9", "token": "k"}
    assert told | declared == created


def test_command_of_a_request_takes_its_fields_as_options():
    """Names, defaults, repetition and what is required are those of the dataclass."""
    asked: list[BackfillRequest] = []
    application = typer.Typer()
    application.command()(command_of(BackfillRequest, asked.append))
    line = ["in.csv", "-s", "s", "--checkpoint", "c", "-o", "a=1", "-o", "b=2", "--commit-mib", "8"]
    assert 0 == CliRunner().invoke(application, line).exit_code
    expected = BackfillRequest(
        path="in.csv", stream="s", checkpoint="c", options=["a=1", "b=2"], commit_mib=8
    )
    assert [expected] == asked
    assert 2 == CliRunner().invoke(application, line[1:]).exit_code


def test_archive_request_needs_no_checkpoint():
    """The archive has a place for it."""
    assert ArchiveRequest(stream="s", path="p").checkpoint is None
