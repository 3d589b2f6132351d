"""A query over several streams: its composite tuples, those that its windows show, and those that have changed.

Reading order:
    join_invocation: the query, counted or a page of its rows.
    join_finding: its composite tuples, kept ones and those found when they are asked for.
    composite_dates: what the windows of the sources say of them.
    join_changes: those that differ from an earlier position.
"""
