"""What a query answers: one query, many at once, as it changes, or out of the archive; page by page.

Reading order: `invocations` (one page of one query), `envelopes` (found since a cursor, and written), `caching` (tags
and how long an answer is right), `pages` (tokens, links and positions), `invoke_many` (many at one position),
`series` (one query at many instants), `long_poll` (a request that waits), `event_stream` (an answer that goes on),
`events` (one query as it changes), `sync_evaluation` (what has changed in many), `sync` (told at once, or as it
changes), `past_memory` (an answer that a job computes: begun, waited for, read), `archive_pages` (its pages).
"""
