"""Transformations of DataFrames in the jobs. No UDFs; each ends in a select that states its columns.

Read it in this order:

- `mapping`: columns of a stream, computed from columns of a source;
- `event_time`: the time column;
- `fitting`: columns cast to the types of a stream;
- `pieces`: rows cut into pieces along their time.
"""
