"""`memory://`: both contracts inside the process, nothing kept.

Read it in this order:

- `store`: the store as the engine has it;
- `log`: the Log, a dictionary of operations;
- `catalogue`: the streams, queries and producers against which an append is checked;
- `requests`: the keys that clients have given their requests;
- `staged_parts`: staged parts, and the marks of committed ones;
- `histories`: histories beside the log;
- `results`: the Results Structure, guarded by that log.
"""
