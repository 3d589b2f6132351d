"""Answers of queries as they travel.

Reading order: `invocations` (the envelope of an answer), `invoke_many` (many answers), `sync` (what has changed in
many), `series` (one query at many instants), `archive_answers` (jobs and who waits for them).
"""
