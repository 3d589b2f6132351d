"""Stores behind the two contracts of the engine, the Log and the Results Structure: in the process, or in a Redis.

Read it in this order:

- `opening`: opens the store at an address, for the engine or for an API worker;
- `refusals`: the words in which every store refuses; the classes of its errors are in `engine.store`;
- `disk`, `waiting`: the disk under a store, patience with its server;
- `keys`: every key in a Redis;
- `history_parts`: whether the parts of a history make an answer;
- `memory`, the store in the process: also the model with which `redis` is compared;
- `encoding`, then `redis`: the same contracts as bytes in a server;
- `embedded`: the server that psoup starts itself, and the data folder;
- `inspection`: a store compared with what it should be (`psoup fsck`).
"""
