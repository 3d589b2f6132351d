"""The tuples of each stream where they lie: Data SteMs, and how everything else reads rows of them.

Reading order:
    source: `TupleSource`, the contract by which everybody reads tuples.
    contract: what a SteM owes the eddy: build, probe, evict.
    data_stem: the tuples of one stream, in segments.
    segment, stored_column, scannable: 65,536 rows in arrays; a column of them, written and sealed; as scans compare it.
    derived_places: which stored texts a function has some values for, as spans of places.
    held_segments, clause_scan: rows of the segments that are held; a clause compared with them.
    reach, gathering: which rows a span of time may hold; tuples picked out by row number.
    join_keys, key_index: values as keys of joins; whole rows in order of a key.
"""
