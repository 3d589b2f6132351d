"""The benchmark of the sink still runs: at smoke size, in the session of the tests, without numbers."""

import pytest

from benchmarks import __main__ as command_line
from benchmarks.bench import Size


@pytest.mark.slow
@pytest.mark.service
def test_spark_benchmark_at_smoke_size_agrees_on_every_answer(spark, capsys):
    """psoup, Parquet and the source itself hold the same rows."""
    assert spark is not None
    command_line.main(["--size", Size.SMOKE, "spark"])
    assert "no-op sink" in capsys.readouterr().out
