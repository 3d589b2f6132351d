"""Bounds on queries and their texts: part of `limits`, which has all of them under their names."""

from typing import Final

# Queries.
QUERIES_COUNT_MAX: Final = 200_000
"""Standing queries: twice the 100,000 that a laptop is meant to hold; each costs a bit per tuple in flight."""
BATCH_QUERIES_MAX: Final = 10_000
"""Registrations of one body: seconds of work, and an answer of about 6 MB."""
DESCRIPTIONS_KEPT_MAX: Final = 10_000
"""Descriptions kept so that a list is not made anew: about 3 KB each."""
QUERY_TEXT_BYTES_MAX: Final = 65_536
"""Checked before the parser sees the text."""
QUERY_FACTORS_MAX: Final = 64
"""Of one clause, once normalised."""
DERIVED_ATTRIBUTES_MAX: Final = 8
"""Functions of text columns by which the clauses of one stream are found: each is computed for all texts of a chunk, a
millisecond of 4,096 short ones. Conditions on further ones are evaluated for the rows that others leave."""
DERIVED_FACTORS_MAX: Final = 2
"""Such functions of one clause; the conditions of a clause with more of them are evaluated each by itself."""
DERIVED_ORDERS_MAX: Final = 4
"""Such functions whose order of a segment's texts is kept, two bytes a text, for the next query over old tuples."""
QUERY_STREAMS_MAX: Final = 4
"""In one FROM."""
QUERY_IN_LIST_MAX: Final = 1_000
"""Values of one IN list."""
QUERY_DEPTH_MAX: Final = 16
"""Nesting of one expression: parser and evaluator recurse."""
QUERY_ARGUMENTS_MAX: Final = 64
"""Arguments of one function, texts that are joined at once, branches of one CASE."""
QUERY_CALLS_MAX: Final = 64
"""Functions called in one expression, CASE among them, once normalised: each is a pass over all texts of a chunk."""
QUERY_PATTERN_LENGTH_MAX: Final = 1_024
"""Characters of a LIKE pattern: a text costs at most a 64th of it for each of its characters."""
LIKE_PATTERNS_KEPT_MAX: Final = 128
"""LIKE patterns kept as they are matched, 128 KiB each at most: made anew, one would cost as much as its chunk."""
QUERY_OUTPUTS_MAX: Final = 256
"""Columns of one select list."""
QUERY_KEYS_MAX: Final = 16
"""Keys of one GROUP BY, and entries of one ORDER BY."""
QUERY_AGGREGATES_MAX: Final = 64
"""Aggregates of one query, each counted once."""
QUERY_LIMIT_MAX: Final = 1_000_000_000
"""Rows that LIMIT and OFFSET may name: more than any answer has."""
QUERY_WINDOW_ROWS_MAX: Final = 1_000_000_000
"""Rows that a window may count, of a stream or of each partition: more than memory has."""
QUERY_NAME_LENGTH_MAX: Final = 128
"""Characters of the name a client gives a query."""
QUERY_LABELS_MAX: Final = 16
"""Labels of one query."""
QUERY_LABEL_LENGTH_MAX: Final = 128
"""Characters of a label's name and of its value."""
QUERY_TTL_US_MIN: Final = 60_000_000
"""The shortest time to live of a query: its renewals are written, every tenth of it."""
QUERY_TTL_US_MAX: Final = 366 * 86_400_000_000
"""The longest; a query that is to stand longer than a year without being used has none."""
QUERY_RENEWALS_PER_TTL: Final = 10
"""A use renews a query once a tenth of its time to live has passed since it was renewed last: so uses write little."""
QUERY_EXPIRED_KEPT_US: Final = 30 * 86_400_000_000
"""So long it is remembered that a query has expired, for those who come back."""
QUERIES_EXPIRED_MAX: Final = 100_000
"""Expired queries that are remembered; beyond, the earliest is forgotten. Some 200 bytes each."""
QUERIES_EXPIRED_TOGETHER_MAX: Final = 256
"""Queries that expire in one turn of the loop: some 20 ms of it, and rows have their turn before others go."""
QUERY_PARAMETERS_MAX: Final = 128
"""Parameters of one query: two for each of its factors, as the ends of a BETWEEN are."""
QUERY_PARAMETER_NAME_LENGTH_MAX: Final = 64
"""Characters of a parameter's name, in `params` and in the text."""
WINDOW_US_MAX: Final = 36_525 * 86_400_000_000
"""A century in microseconds, as for retention."""
BOUND_BYTES_MAX: Final = 384 * 1_048_576
"""Bound queries kept, so that a text is read once: about 140,000 as they are registered, 240,000 once invoked."""
SKELETONS_KEPT_MAX: Final = 1_000
"""Skeletons of queries known, so that their likes are bound quickly: programs write far fewer."""
SKELETON_LENGTH_MAX: Final = 4_096
"""Characters of a text whose skeleton is looked at, and of its canonical text: bounds what is kept of skeletons."""

# Asking about queries and rows: nothing is stored.
SHARING_LOOKED_AT_MAX: Final = 10_000
"""Standing queries among which those of one condition are counted: some 10 ms of a worker and its store."""
FORECAST_ROWS_MAX: Final = 65_536
"""Tuples that a forecast looks at: a scan of a millisecond, and half a dozen segments for a worker to read."""
FORECAST_STRETCHES: Final = 4
"""Places of a stream that they lie at: each may be a segment more to read."""
BODY_ASK_BYTES_MAX: Final = 262_144
"""Of rows that are asked about: those of a join to be explained, at most 32 KiB each, all of their texts escaped."""
MATCH_ROWS_MAX: Final = 1_000
"""Rows of one request that ask which queries they hit: they meet the index as one chunk does."""
MATCH_QUERIES_DEFAULT: Final = 100
"""Queries named for each row where no number is asked for; their number is told in any case."""
MATCH_QUERIES_MAX: Final = 1_000
"""The same at most."""
MATCH_HANDLES_MAX: Final = 100_000
"""Handles of one answer: some 3 MB; for many rows fewer are named of each."""
STANDING_QUERIES_KEPT_MAX: Final = 200_000
"""Queries in indexes that rows are asked of, all streams together: as many as may stand, about a kilobyte each."""
SAMPLE_ROWS_DEFAULT: Final = 20
"""Latest rows of a stream where no number is asked for."""
SAMPLE_ROWS_MAX: Final = 1_000
"""The same at most."""
SAMPLE_BYTES_MAX: Final = 2_097_152
"""About so many bytes of rows at most; one row may have more."""
SAMPLE_LOOKED_AT_MAX: Final = 65_536
"""Rows that are looked at for those that retention keeps: late ones may be gone already."""
