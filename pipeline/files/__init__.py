"""Reads files of rows as record batches: CSV, Zeek, NDJSON, JSON, GeoJSON and Parquet, plain or compressed.

Read it in this order:

- `options`, `option_texts`: the options of a file, and how they are written on a command line;
- `opening`: the bytes, decompressed as they are read;
- `times`, `columns`: the formats of times, and how the values of a column are read;
- `readers`: a reader for each format;
- `sorting`, `notes`: rows in time order, and notes for the user;
- `data_file`: one file, the entry to all of the above;
- `merging`: the columns of several files together.

Nothing here holds a whole file in memory.
"""
