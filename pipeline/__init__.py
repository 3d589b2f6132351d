"""Ways in for bulk data: a client of the HTTP contract and what is built on it.

Read it in this order:

- `errors`, `wording`: what can go wrong on the client's side, and numbers in sentences;
- `address`, `calling`: the address and token of a service, and a request, repeated as the contract allows;
- `client`: the calls of a loader, a command or a job, with `staging`, `archiving` and `histories` for its parts;
- `definition`, `registrations`: bodies that declare a stream, and that register queries;
- `dropping`: streams dropped only as they were seen;
- `files`: files of rows as record batches;
- `load`: files into a stream, exactly once;
- `spark`: the connector, and jobs.
"""
