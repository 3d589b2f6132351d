"""The data source `psoup`, which `spark.read`, `readStream`, `write` and `writeStream` find by its name.

Spark makes instances in several processes, none of which is the user's, and uses each for another purpose. So an
instance holds only the options, and returns readers and writers that can be pickled.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType
from typing_extensions import override

from psoup.pipeline.spark.options import write_options
from psoup.pipeline.spark.read.reader import reader_of, schema_to_read
from psoup.pipeline.spark.read.stream_reader import PsoupStreamReader
from psoup.pipeline.spark.writing import PsoupStreamWriter, PsoupWriter


class DefaultSource(DataSource):
    """Streams and query results of a psoup service; its options are those of `options.py`."""

    @classmethod
    @override
    def name(cls) -> str:
        """Return the name for `format(...)`."""
        return "psoup"

    @override
    def schema(self) -> StructType:
        """Return the columns to read, which the service is asked for."""
        return schema_to_read(self.options)

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a query's answer."""
        return reader_of(self.options, schema)

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream's batches."""
        return PsoupStreamReader(self.options, schema)

    @override
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of one `df.write`."""
        return PsoupWriter(write_options(self.options), schema, overwrite=overwrite)

    @override
    def streamWriter(
        self,
        schema: StructType,
        overwrite: bool,
    ) -> DataSourceStreamWriter:
        """Return the writer of one micro-batch, or the process that commits it."""
        return PsoupStreamWriter(write_options(self.options), schema, overwrite=overwrite)
