"""DataFrame -> DataFrame: what the jobs do to rows. No UDFs; each ends in a select that states its columns.

Read it in this order:

- `mapping`: columns of a stream out of columns of a source;
- `event_time`: the column that dates a tuple;
- `fitting`: columns made those of a stream;
- `pieces`: rows cut along their time.
"""
