"""State(k): everything that the fold of operations 1 to k has made.

Reading order:
    state: records, SteMs and tuples; the four verbs change them, nothing else does.
    restore: the same made again from a checkpoint and the log.
"""
