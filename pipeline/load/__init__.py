"""Files into a stream, exactly once however often a load is repeated.

Read it in this order:

- `sources`: which files a load reads;
- `plan`: what a load will do, found out before anything is changed;
- `batches`: the files cut into batches, alike at each repetition;
- `transfer`: each batch sent as a producer's transaction.
"""
