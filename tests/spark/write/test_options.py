"""What `format("psoup")` may be told, and what it says to everything else."""

import pytest

from psoup.client.errors import AddressError
from psoup.engine.tuples.schema import ClockKind
from psoup.pipeline.errors import OptionError
from psoup.pipeline.spark.options import Compression, read_options, write_options

GIVEN = {"url": "http://127.0.0.1:8000/", "stream": "trades"}


def test_write_options_have_defaults():
    """A URL and a stream are enough."""
    told = write_options(GIVEN)
    assert ("http://127.0.0.1:8000", None, 600.0) == (
        told.connection.url,
        told.connection.token,
        told.connection.retry_s,
    )
    assert ("trades", False, None, Compression.ZSTD) == (
        told.stream,
        told.create,
        told.txn,
        told.compression,
    )


def test_write_options_are_known_in_any_case():
    """Spark hands them on in lower case; people write them as they like."""
    told = write_options(
        GIVEN
        | {
            "createstream": "TRUE",
            "TIME": "ts",
            "Clock": "server",
            "retentiontime": "7d",
            "RetentionRows": "1000",
            "retentionBytes": "500MiB",
            "txnappid": "nightly",
            "txnVersion": "7",
            "COMPRESSION": "none",
            "retryseconds": "1.5",
        }
    )
    assert (True, "ts", ClockKind.SERVER, ("nightly", 7)) == (
        told.create,
        told.time,
        told.clock,
        told.txn,
    )
    assert {"time": "7d", "rows": 1000, "bytes": "500MiB"} == told.retention
    assert (Compression.NONE, 1.5) == (told.compression, told.connection.retry_s)


def test_write_options_of_spark_itself_are_passed_over():
    """A streaming writer sees those of the query as well."""
    told = write_options(GIVEN | {"checkpointLocation": "/c", "queryName": "q", "path": "/p"})
    assert "trades" == told.stream


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"steam": "x"}, r"no option 'steam' here. It has: clock, .*stream"),
        ({"query": "q_1"}, "no option 'query' here"),
        ({"createStream": "yes"}, "'createStream' is 'yes': expected true or false"),
        ({"createStream": "true", "clock": "sun"}, "expected one of high-water, server"),
        ({"createStream": "true", "retentionRows": "0"}, "expected a whole number from 1 on"),
        ({"retrySeconds": "-1"}, "expected a number of seconds"),
        ({"retrySeconds": "nan"}, "expected a number of seconds"),
        ({"time": "ts"}, r'add .option\("createStream", "true"\)'),
        ({"txnAppId": "a"}, "'txnAppId' and 'txnVersion' go together"),
        ({"txnVersion": "1"}, "'txnAppId' and 'txnVersion' go together"),
        ({"compression": "lzo"}, "expected one of zstd, none"),
        ({"stream": ""}, r"needs the option 'stream', as in .option\(\"stream\""),
        ({"url": ""}, "needs the option 'url'"),
    ],
)
def test_write_options_that_cannot_be_are_refused(more, said):
    """The message names the option, what was given, and what may be."""
    with pytest.raises(OptionError, match=said):
        write_options(GIVEN | more)


def test_write_options_url_that_is_none_is_refused():
    """Before anything is sent."""
    with pytest.raises(AddressError, match="not the URL of a service"):
        write_options(GIVEN | {"url": "ftp://somewhere"})


def test_options_token_is_never_shown():
    """Not by what keeps it, nor by what refuses it."""
    told = write_options(GIVEN | {"token": "k_0123"})
    assert "k_0123" == told.connection.token
    assert "k_0123" not in repr(told)
    with pytest.raises(AddressError) as refused:
        write_options(GIVEN | {"token": "k_01 23"})
    assert "k_01" not in str(refused.value)


def test_read_options_are_not_those_of_a_write():
    """Each way has its own, so that a slip does not pass in silence."""
    assert "q_1" == read_options({"url": "http://h:1", "query": "q_1"}).text("query")
    with pytest.raises(OptionError, match="no option 'createstream' here"):
        read_options({"url": "http://h:1", "createStream": "true"})
