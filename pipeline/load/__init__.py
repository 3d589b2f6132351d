"""Loads files into a stream, exactly once however often a load is repeated.

Read it in this order:

- `sources`: which files a load reads;
- `plan`: stream, columns and files of a load, determined before anything is changed;
- `time_column`: which column dates the rows;
- `known_files`: which files the stream has rows of already;
- `batches`: the files cut into batches, the same ones at each repetition;
- `transfer`: each batch sent as a producer's transaction.
"""
