"""What is wrong with the data in a server: each part of it compared with what it should be.

Read it in this order:

- `records`: all records of one instant;
- `log`: entries, head, catalogue and versions of producers;
- `parts`: staged parts and holds;
- `histories`: records, parts and index of histories;
- `seals`: sums over the fields of each hash;
- `invariants`, `check`: what holds in every Results Structure, and `check()` of the store, for tests.
"""
