"""The client of a service, over its HTTP contract alone: what `import psoup` gives, and what commands and jobs use.

Read it in this order:

- `errors`, `closing`: errors on the client's side; what is closed;
- `connections`: the calls of the service without I/O, and what carries them out;
- `calls`: `PsoupClient`, a method for each call, for commands and jobs;
- `columns`, `appends`: columns as Arrow knows them; rows of a program into a stream, each once;
- `answers`, `frames`, `notebook`: what a query answers, as tables and frames, and in a notebook;
- `changes`: what has changed, by polls and by streams;
- `mirror_file`, `mirrors`: a copy in SQLite;
- `streams`, `queries`, `database`, and `aio` for programs that await: what a program holds;
- `changing`: what a change of a query names;
- `own_service`: a service that ends with the program.
"""
