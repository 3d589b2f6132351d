"""The client of a service, over its HTTP contract alone: what `import psoup` gives, and what commands and jobs use.

Read it in this order:

- `errors`, `address`, `closing`: errors on the client's side; the URL and the token of a service; what is closed;
- `messages`, `retrying`: a request and its answer, operations and what is repeated of them, all without I/O;
- `operations`, `registrations`: the calls that every kind of client makes;
- `transport`, `connection`, `async_connection`: what carries operations out;
- `calls`: `PsoupClient`, a method for each call, for commands and jobs;
- `columns`, `rows`, `writers`, `appending`: rows of a program into a stream, each once;
- `answers`, `frames`, `notebook`: what a query answers, as tables and frames, and in a notebook;
- `rule`, `events`, `following`, `refreshing`: what has changed, without I/O;
- `mirror_file`, `mirrors`: a copy in SQLite;
- `streams`, `queries`, `database`, and `aio` for programs that await: what a program holds;
- `own_service`: a service that ends with the program.
"""
