"""What travels: bodies to typed values and back.

Reading order: `control` (strict JSON to a model), `reasons` (why a member is refused), `parameters` (of queries
of URLs), `arguments_reader` (those that come again), `query_parameters` (those of lists of queries), `handles` (names
that are drawn), `producers` (names that clients give themselves), `scalars` (durations, sizes, instants), `bounds`
(shared by all formats), `content` (gzip and zstd); then `rows`, `answers`, `models`.
"""
