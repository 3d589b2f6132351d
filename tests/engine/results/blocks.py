"""Match blocks made of sets of rows, the slow way."""

import numpy as np

from psoup.engine.kernels.bits import CHUNK_WORDS, LITTLE, Words
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.results.clause_pages import RUN_CHUNKS, ClausePages
from psoup.engine.results.match_block import Form, Harvest, Keeping, MatchBlock
from psoup.engine.results.page import Page
from psoup.engine.tuples.lineage import Lineage
from tests.engine.kernels import twins


def lineage_of(rows_by_slot, slots=None):
    """Return a settled lineage: None is a slot that is not alive, its bits left over.

    Without `slots`, those from 0 on.
    """
    words = np.empty((len(rows_by_slot), CHUNK_WORDS), dtype=LITTLE)
    words.fill(2**64 - 1)
    alive = np.zeros(len(rows_by_slot), dtype=np.bool_)
    for place, rows in enumerate(rows_by_slot):
        if rows is not None:
            words[place] = twins.words_from(set(rows), CHUNK_WORDS)
            alive[place] = True
    named = range(len(alive)) if slots is None else slots
    return Lineage(np.array(named, dtype=np.int32), words, alive)


def block_of(rows_by_clause, keeping=Keeping.SMALLER) -> MatchBlock:
    """Return the block of these hits by clause, all kept alike."""
    ids = np.array(list(rows_by_clause), dtype=np.int64)
    kept = np.full(len(ids), keeping, dtype=np.uint8)
    harvest = Harvest()
    harvest.add(lineage_of(list(rows_by_clause.values())), kept)
    return harvest.block(ids)


def runs_of(pages: dict[int, Page]) -> dict[int, ClausePages]:
    """Return the pages of a clause by chunk as its pages by run, each in the form it has."""
    made = {}
    for run in sorted({chunk // RUN_CHUNKS for chunk in pages}):
        chunks = [chunk for chunk in pages if chunk // RUN_CHUNKS == run]
        length = max(chunks) - min(chunks) + 1
        forms = np.full(length, Form.LIST, dtype=np.uint8)
        counts, places = np.zeros((2, length), dtype=np.int32)
        lists = [np.empty(0, dtype=np.uint16)]
        maps: list[Words] = []
        for chunk in sorted(chunks):
            page, at = pages[chunk], chunk - min(chunks)
            forms[at], counts[at] = Form.UNKEPT, page.count or 1
            if page.bitmap is not None:
                forms[at], places[at] = Form.BITMAP, len(maps)
                maps.append(np.frombuffer(page.bitmap.tobytes(), dtype=LITTLE))
            elif page.offsets is not None:
                forms[at], places[at] = Form.LIST, sum(map(len, lists))
                lists.append(page.offsets)
        made[run] = ClausePages(
            min(chunks),
            forms,
            counts,
            places,
            np.concatenate(lists),
            np.array(maps, dtype=LITTLE).reshape(len(maps), CHUNK_WORDS),
        )
    return made


def plain_pages(pages):
    """Return written pages as values that compare, by clause and chunk."""
    return {
        (clause_id, chunk): plain_page(page)
        for (clause_id, _), held in pages.items()
        for chunk, page in held.pages()
    }


def plain(block: MatchBlock):
    """Return a block as a value that compares: by clause the form, and the hits where they are kept."""
    return {clause_id: plain_page(page) for clause_id, page in block.pages()}


def plain_page(page):
    """Return a page as a value that compares."""
    if not page.kept:
        return "unkept"
    return "list" if page.offsets is not None else "bitmap", page.rows(0).tolist()


def rows_drawn(seed, count):
    """Return `count` rows of a chunk."""
    return set(np.random.default_rng(seed).permutation(CHUNK_ROWS)[:count].tolist())
