"""What answers stand on: the store, the way of an operation into the log, and how far the engine has come.

Reading order: `contract` (what stands behind the routes, whichever process folds), `service` (what routes are given),
`submission` (append, then wait), `appender` (appends that travel together), `at_hand` (appended here and not applied
yet), `applied` (waiting for a position), `pending` (queries registered and not applied yet), `catalogue`
(declarations of streams), `standing` (which queries a row hits), `partials_ahead` (aggregates made before anybody
asks), `renewals` (queries that live on while they are used), `follower` (an engine in another process), `in_process`
(what an engine in this process need not ask others), `store_look` (looks at a store that may not answer), `kernels`
(loaded before anybody waits for one). What processes need of a store is in `engine/store/contract.py`.
"""
