"""Files of rows as streams of record batches: CSV, Zeek, NDJSON, JSON, GeoJSON and Parquet, plain or compressed.

Read it in this order:

- `options`, `opening`: what the user says, and the bytes;
- `kinds`, `text_kinds`, `markers`, `time_candidates`: what the values of a column look like;
- `deciding`, `readings`, `notes`: how it is read therefore, and what the user is told;
- `casting`, `time_forms`, `time_formats`: values to columns;
- a reader for each format: `csv_rows` (with `csv_head`, `csv_records`, `zeek`), `json_rows` (with `json_documents`,
  `json_survey`, `json_values`, `flattening`, `geojson`), `parquet_rows`;
- `sorting`, and `data_file`, the front door.

Nothing here holds a whole file in memory.
"""
