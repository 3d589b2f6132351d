"""The command line: each module declares the options of one command; `actions` holds its work.

Loading this package and `application` loads neither the engine nor the web side: `psoup --help` is quick.

Reading order: `application` (all commands, and those that start a process), `common` (address, exit codes, output),
`define` (streams and queries), `load` (files), `query` (answers), `ask` (questions), `one_text` (a query
that the shell has split), `follow` (what changes in them), `key` (keys), `pipeline` (Spark jobs), `consent` (asking
before something is removed), `version` (one line for a bug report); then `actions`, `terminal`, `demo`.
"""
