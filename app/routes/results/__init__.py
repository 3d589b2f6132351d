"""What a query answers: one query, many at once, or out of the archive; page by page.

Reading order: `invocations` (one page of one query), `envelopes` (found since a cursor, and written), `caching` (tags
and how long an answer is right), `pages` (tokens, links and positions), `invoke_many` (many at one position),
`past_memory` (an answer that a job computes: begun, waited for, read), `archive_pages` (its pages).
"""
