"""How much is taken on at once, in all and from one client; whoever finds no room is told so at once.

Reading order: `shares` (units in all and for each client), `slots` (for requests), `traffic` (bytes on
their way), `connections` (connections in all and from one address), `rates` (token buckets of keys),
`work_pool` (threads with a deadline), `line_budget` (log lines that clients may cause).
"""
