"""Rows of a file, by its format.

Read it in this order:

- `csv_rows`: CSV, with `csv_head` (delimiter and names), `csv_records` (blocks of whole records),
  `zeek` (the header of a Zeek log);
- `json_rows`: JSON, with `json_documents` (objects of a document), `json_survey` and `json_values` (what members
  look like), `flattening` (objects inside a row), `geojson` (features);
- `parquet_rows`: Parquet, row group by row group.
"""
