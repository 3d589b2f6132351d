"""The fold over a store: the one writer of results, in a thread of its own.

Reading order: `loop` (the thread: take over, recover, turn after turn), `turns` (read, apply, show, publish, trim: no
thread, no wait), `publishing` (applied and not published yet), `trimming` (what the log need not keep), `due` (what
time alone brings), `lease` (the sign of life that keeps a standby waiting), `store_watch` (the store's condition each
second), `figures` (counters of the loop), `match_threads` (threads that match beside it).
"""
