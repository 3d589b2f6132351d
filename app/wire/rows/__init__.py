"""A body of rows to one Arrow record batch in the stream's schema, or a refusal that lists the rows.

Reading order: `body` (media types, one way in), `json` over `json_text` and `json_judge`, `columns` (JSON by
columns), `csv` over `csv_records`, `quotes` (for both), `arrow` over `arrow_messages`, `values` (whole columns
fast, one value judged), `errors` (which row, why), `warnings` (accepted, and likely a mistake), `archive_parts`
(rows that a job sends).
"""
