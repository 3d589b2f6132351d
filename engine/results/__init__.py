"""The Results Structure: which tuples satisfied which clause, and its contract.

Reading order:
    contract: what the engine publishes and any worker reads.
    delta, draft: the records of one turn of the fold, and the delta while the verbs write it.
    page: the hits of one clause in one chunk, as a list or a bitmap.
    match_block, segment_blocks: the hits of all clauses in one chunk; all blocks of one segment.
    clause_pages, segment_hits: the hits of one clause in many chunks; in one segment, in one piece.
    composites, composite_ledger: what joins found, for a group of clauses; what it takes to forget it.
    live, live_hits, live_composites: results in the memory of one process, and what it holds of hits and of joins.
    older_pages: hits from before the process began.
    hits, text_bytes: what results are keyed by; what results, and the texts of records, take in memory.
"""
