"""The command line: each module declares the options of one command; `actions` holds its work.

Loading this package and `application` loads neither the engine nor the web side: `psoup --help` is quick.

Reading order: `application` (all commands, and those that start a process), `common` (address, exit codes, output),
`define` (streams and queries), `load` (files), `query` (answers), `ask` (questions), `one_text` (a query that the
shell has split), `follow` (what changes in them), `top` (which cost most), `key` (keys), `pipeline` (Spark jobs),
`mcp` (agents), `consent` (asking before something is removed), `version` (one line for a bug report), `plain_command`
(options refused in plain words), `owned` (`psoup` as a child of a program); then `actions`, `terminal`, `demo`.
"""
