"""How an invocation is answered: the window over the results, tuples out. Nothing here joins or writes.

Reading order:
    answer: what is asked, and what is answered.
    pinning: the position and the instant that all pages of an answer belong to.
    stream_invocation: one query over one stream, counted or a page of its rows.
    finding, matching: its hits by spans of rows; read where they are kept, evaluated where they are not.
    join_invocation: one query over several streams.
    join_finding, composite_hits: its composite tuples; those of one clause out of its group's pages.
    answering, distinct: the select list of both kinds of answers; DISTINCT.
    cache: what a process keeps between invocations.
"""
