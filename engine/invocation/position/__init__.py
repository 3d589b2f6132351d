"""The position and the instant that an answer belongs to, and what is asked and answered there.

Reading order:
    answer: what is asked, and what is answered.
    pinning: the position and the instant that all pages of an answer belong to.
    as_of: what was known at an earlier position.
    series_points: the points of a series of instants.
    continuing: where a client stands, and whether an answer can go on from there.
    spans: the rows and times that are visible, to come, new, or dropped.
    arrivals: what arrivals and the clock can still change.
"""
