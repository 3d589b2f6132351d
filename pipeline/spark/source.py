"""The data source `psoup`: what `spark.read`, `readStream`, `write` and `writeStream` find by its name.

Spark makes one in several processes, and asks each for something else; none of them is the user's. So
nothing is kept here but the options, and Spark is given readers and writers that can be pickled.
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
        """Return what stands in `format(...)`."""
        return "psoup"

    @override
    def schema(self) -> StructType:
        """Return the columns of what is read, asking the service."""
        return schema_to_read(self.options)

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a query's answer."""
        return reader_of(self.options, schema)

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of what arrives in a stream."""
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
