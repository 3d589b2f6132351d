"""What has changed in the answer of a query since it was asked for last.

Read it in this order: `rule` (what one answer does to what is held, without I/O), `events` (out of a stream's bytes),
`following` (for ever), `refreshing` (once).
"""
