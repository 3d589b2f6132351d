"""Loads files into a stream, exactly once however often a load is repeated.

Read it in this order:

- `sources`: which files a load reads;
- `plan`: stream, columns and files of a load, determined before anything is changed;
- `batches`: the files cut into batches, the same ones at each repetition;
- `transfer`: each batch sent as a producer's transaction.
"""
