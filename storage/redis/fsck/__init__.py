"""What is wrong with the data in a server: each part of it compared with what it should be.

Read it in this order:

- `scanning`: keys that no index leads to;
- `records`: all records of one instant;
- `log`: entries, and what head and lists say of them;
- `catalogue`: streams, queries, their names and readers, and versions of producers;
- `parts`: staged parts, holds and trims;
- `histories`: records, parts and index of histories;
- `seals`: sums over the fields of each hash;
- `invariants`, `results`: what holds in every Results Structure, and the keys of this one;
- `check`: `check()` of the store, for tests: all of these find nothing.
"""
