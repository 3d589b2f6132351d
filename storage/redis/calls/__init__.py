"""What is sent to the server, and what its answers mean: the connection, the Function library and its calls, and reads.

Read it in this order:

- `wire`, `client`: commands as bytes, and the one module that imports redis;
- `refused`: what the server refuses, as errors;
- `functions/*.lua`, joined by `library`: every write, as a Function of the server;
- `write_token`: the right of one engine to write;
- `append`, `commit`: operations, parts and commits as calls;
- `entries`: entries of the log as operations;
- `writes`, `tidy`: a delta as writes, and the removal of what an interrupted publish left;
- `hits`, `composites`: results of one clause, and composite tuples, as they are read.
"""
