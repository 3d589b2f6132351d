"""docs/pipeline.md names what the connector and the jobs can be told."""

from pathlib import Path

from psoup.pipeline.spark import options
from psoup.pipeline.spark.launch.requests import ArchiveRequest, BackfillRequest, IngestRequest

PAGE = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text(encoding="utf-8")


def test_options_of_the_connector_are_documented():
    """Every name that `format("psoup")` takes stands in the tables."""
    known = {*options._EVERYWHERE, *options._WRITING, *options._READING}
    assert set() == {name for name in known if f"`{name}`" not in PAGE}


def test_options_of_the_jobs_that_change_what_is_stored_are_explained():
    """The rest is in --help; these need more than a line."""
    asked = {*IngestRequest.__dataclass_fields__, *BackfillRequest.__dataclass_fields__}
    asked |= {*ArchiveRequest.__dataclass_fields__}
    explained = {"map", "where", "time", "create", "schema", "every", "available_now"}
    explained |= {"batch_mib", "commit_mib", "master"}
    assert explained <= asked
    missing = {name for name in explained if f"--{name.replace('_', '-')}" not in PAGE}
    assert set() == missing
