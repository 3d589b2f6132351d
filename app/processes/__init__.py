"""The processes of `psoup serve`, `psoup api` and `psoup engine`.

Reading order: `serve` (everything in one), `api` (a parent that listens, workers that answer), `engine` (the
start of an engine), `engine_work` (its fold and its endpoint), `loading` (modules and kernels, while the store
opens), `executors` (Spark executors of an engine).
"""
