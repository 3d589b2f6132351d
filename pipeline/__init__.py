"""Bulk data in and out: a client of the HTTP contract, and the loader, the connector and the jobs built on it.

Read it in this order:

- `errors`, `wording`: errors on the client's side, and numbers in sentences;
- `address`, `calling`: the address and token of a service, and a request, repeated as the contract allows;
- `client`: `PsoupClient`, one method for each call;
- `definition`, `registrations`: bodies that declare a stream, and that register queries;
- `dropping`: streams that are dropped only if nobody changed them meanwhile;
- `files`: files of rows as record batches;
- `load`: files into a stream, exactly once;
- `spark`: the connector, and jobs.
"""
