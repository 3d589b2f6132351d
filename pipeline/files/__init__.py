"""Files of rows as streams of record batches: CSV, NDJSON, JSON and Parquet, plain or compressed.

Read it in this order: `opening` (bytes), `kinds` (which type holds every value), `casting` (values
to columns), one reader for each format (`csv_rows`, `json_rows`, `parquet_rows`), `sorting`, and
`data_file`, the front door. Nothing here holds a whole file in memory.
"""
