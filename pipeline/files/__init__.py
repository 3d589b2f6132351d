"""Files of rows as streams of record batches: CSV, Zeek, NDJSON, JSON, GeoJSON and Parquet, plain or compressed.

Read it in this order:

- `options`, `option_texts`: what the user says of a file, and how it is written on a command line;
- `opening`: the bytes, decompressed as they are read;
- `times`, `columns`: how times are written, and how a column is read;
- `readers`: one for each format;
- `sorting`, `notes`: rows in order of their time, and what the user is told;
- `data_file`: the front door, one file;
- `merging`: the columns of several files as one.

Nothing here holds a whole file in memory.
"""
