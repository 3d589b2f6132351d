"""Loops over arrays with primitive arguments; they know nothing of psoup.

Reading order:
    compiled, warm: how a kernel is compiled and kept, and all of them loaded at the start.
    bits, rows, addresses, memory: the words of a chunk, the same as vectors, arrays by address, pages of memory.
    order, span, gather, row_digest: values in order, their extremes, picked out by row, summed up.
    match, pivot, hits: clauses against a chunk of fresh tuples, and the hits written out.
    counted: bitmaps of a chunk's smallest rows, without sorting.
    within, lanes: stored chunks against the intervals of one clause.
    clause_hits, block_rows: one clause's hits over many chunks, as lists and as rows.
    grouping, extremes: rows in groups of equal numbers, the least, the largest and the first of each.
    digits, exact_sums, float_sums: numbers of many digits, and sums that no rounding touches.
    join, slot_lists: pairs by key; their lineage as lists by slot. like: LIKE of many texts.
    json_values, json_rows, json_bodies, json_transpose, instant_text: JSON read and written byte by byte.
"""
