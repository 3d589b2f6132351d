"""Bounds on work that several cores or machines share: part of `limits`, which has all of them under their names."""

from typing import Final

# Scale-out.
SCALED_PAIRS_MIN: Final = 2_000_000
"""Chunks times clauses of one run of operations that are worth a Spark job: 0.9 s of a core, and a job takes 0.2 s."""
SCALED_RESIDUAL_PAIRS: Final = 300
"""What an expression that cannot be indexed counts beside clauses: a chunk takes 150 us to evaluate it, not 0.4."""
SCALED_JOB_PAIRS_MAX: Final = 64_000_000
"""The same, of one job at most: its hits, some 5 bytes a pair, are in the memory of Spark's driver at once."""
SCALED_SCAN_ROWS_MIN: Final = 40_000_000
"""Old rows times expressions of new queries, evaluated row by row, that are worth a job: 1.5 s of a core."""
SCALED_SCAN_EXPRESSIONS_MIN: Final = 32
"""So many such expressions meet each row that is sent: an evaluation takes 40 ns, and sending a row a microsecond."""
SCALED_JOB_S_MAX: Final = 60.0
"""A job that takes longer is given up, and the engine does its work."""
SCALED_START_S_MAX: Final = 180.0
"""Executors have come and loaded the engine within this, or none of them are used: some 10 s on a machine at rest."""
SCALED_RETRY_S: Final = 30.0
"""After a job that came to nothing the engine works alone so long."""

# Cores.
MATCH_THREADS_MAX: Final = 64
"""Threads of `match_threads`: more than the chunks of most batches occupy."""
MATCH_THREADS_PAIRS_MIN: Final = 16_384
"""Chunks times clauses of one batch that are shared out: 2 ms of a core; for nothing, handing over takes 0.06."""
MATCH_PIVOT_PAIRS: Final = 512
"""What a table of clauses by value counts beside clauses of intervals: a chunk passes it in some 60 us."""
MATCH_SCRATCH_BYTES_MAX: Final = 134_217_728
"""Of arrays that all threads together keep between two batches: bitmaps of 16 columns of two threads."""
