"""Arrow tables as frames of pandas and polars, which are installed by who wants them."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from psoup.client.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """Return a table as a frame, whose types depend on the columns alone and never on their values.

    int64 is `Int64`, bool is `boolean` and string is `string`: in these NULL is `pandas.NA`, and no integer
    becomes a float because another one is missing. float64 is `float64`, where NULL is NaN; timestamp is
    `datetime64[us, UTC]`, where NULL is NaT.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise MissingPackageError("pandas") from error
    types: dict[pa.DataType, Any] = {
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype("pyarrow"),
    }
    return table.to_pandas(types_mapper=types.get)


def to_polars(table: pa.Table) -> "pl.DataFrame":
    """Return a table as a frame. Raises MissingPackageError: polars is not installed."""
    try:
        import polars as pl  # noqa: PLC0415 (optional)
    except ImportError as error:
        raise MissingPackageError("polars") from error
    frame = pl.from_arrow(table)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(type(frame).__name__)
    return frame
