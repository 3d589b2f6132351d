"""Bounds on what a process accepts at once, in all and from one client; what is over a bound is refused at once.

Reading order: `shares` (units in all and for each client), `slots` (for requests), `traffic` (bytes on
their way), `connections` (connections in all and from one address), `rates` (token buckets of keys),
`work_pool` (threads with a deadline), `line_budget` (log lines that clients
may cause).
"""
