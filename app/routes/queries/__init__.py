"""Standing queries: registered, described, found, changed, removed; and looked at without being registered.

Reading order: `registration` (bind, submit, describe), `queries` (register, list, remove), `selected_queries` (which of
them are meant), `query_changes` (by name, by label), `query_patches` (changed under their handles),
`query_preconditions` (If-Match), `batch_queries` (many at once), `validation` (looked at, and not registered).
"""
