"""Bulk data in and out: the loader, the connector and the jobs, built on the client (`psoup.client.calls`).

Read it in this order:

- `errors`, `wording`: errors of files and of Spark, and numbers in sentences;
- `definition`: bodies that declare a stream;
- `dropping`: streams that are dropped only if nobody changed them meanwhile;
- `files`: files of rows as record batches;
- `load`: files into a stream, exactly once;
- `spark`: the connector, and jobs.
"""
