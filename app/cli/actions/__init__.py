"""The work of commands: loaded when a command is run, not when its options are shown.

Reading order: `define` (declare, drop, register), `pairs` (values of --label and --param), `load` (look at files,
send batches), `query` (an answer as a table or as data), `newest_rows` (the last rows of an answer), `watched_rows`
(these, kept up to date by a cursor), `following` (what enters and what leaves), `handles` (a query by its name),
`ask` (validate, explain), `instants` (what is said about --now), `lists` (streams, queries, status), `top` (the
queries that cost most), `beside` (a call in a thread of its own), `key` (make a key), `pipeline` (around a Spark
job), `mcp` (the transport that agents ask for), `fsck` (a store against its tuples).
"""
