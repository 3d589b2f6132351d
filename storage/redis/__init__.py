"""A store in a Redis or its like: the two contracts, opened by one engine and read by any worker.

Read it in this order:

- `store`: the engine's store, verified before it is used and after each restart of the server;
- `settings`, `contents`, `cluster`: whether the server is set right, whose data it holds, what the data folder
  remembers of it;
- `state`, `health`, `condition`: where the store stands, how it is, and what the engine sees of it each second;
- `log`: the Log, one stream entry for each operation;
- `results`, `reader`: the Results Structure, written and read;
- `histories`: histories beside the log;
- `worker`: the store of an API worker, which appends and reads;
- `served`, `carried_clock`: what a worker has answered from, and the server's clock between its answers;
- `upgrade`: a store of the layout before this one is given checksums;
- `calls`: what is sent to the server; `fsck`: what may be wrong with what lies there.
"""
