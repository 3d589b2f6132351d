"""Cursors: where a client stands in what a query answers, as a short signed text that the client keeps.

A cursor is base64url of a 16-byte HMAC-SHA-256 and of whole numbers of fixed widths (`_HEAD`, and `_PART` for each
stream of FROM): 96 characters for one stream. Where the answer is sent whole or not at all its digest is in it, too.
The server keeps nothing for it, so a cursor never ages. It is signed with the key of page tokens: a text that was not
given for the query, is damaged, or is of a version not known here, is no cursor, and never an error.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final

from psoup.app.http.page_tokens import PageTokens
from psoup.engine import limits
from psoup.engine.errors import BadPageError
from psoup.engine.invoke import PartPosition, Since
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from psoup.engine.tuples.batch import Seq

_VERSION: Final = 1
_WITH_CONTENT: Final = 2
"""The version of cursors that hold the digest of an answer between head and parts."""
_CONTENT_BYTES: Final = 16
_HEAD: Final = Struct(">BBHIHIqqHI")
"""The version, whether it counts alone, gen, seq, now, changes - now (0 = never), count; HI is a number of 48 bits."""
_PART: Final = Struct(">HIHIq")
"""Rows, retention's row, retention's instant (_NO_INSTANT = it has none)."""
_WORD: Final = 2**32
_NO_INSTANT: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a client holds.

    Attributes:
        since: where it stands.
        counted: it was given counts alone (`count=only`): it has no rows for changes to be applied to.
    """

    since: Since
    counted: bool = False


def sign_cursor(tokens: PageTokens, query_id: QueryId, cursor: Cursor) -> str:
    """Return the text of a cursor; the same one for the same position."""
    return tokens.sign_bytes(_subject(query_id), _encoded(cursor))


def read_cursor(tokens: PageTokens, query_id: QueryId, text: str) -> Cursor | None:
    """Return the cursor that `sign_cursor` wrote for this query; None = the text is none of those.

    Raises what finding the key does.
    """
    if len(text) > limits.CURSOR_LENGTH_MAX:
        return None
    try:
        return _decoded(tokens.read_bytes(_subject(query_id), text))
    except BadPageError:
        return None


def _subject(query_id: QueryId) -> str:
    return f"cursor {query_id}"


def _encoded(cursor: Cursor) -> bytes:
    since = cursor.since
    now_us, changes_us = since.now_us, since.changes_us
    written = _HEAD.pack(
        _WITH_CONTENT if since.content else _VERSION,
        cursor.counted,
        *divmod(since.gen, _WORD),
        *divmod(since.seq, _WORD),
        now_us,
        0 if changes_us is None else changes_us - now_us,
        *divmod(since.count, _WORD),
    )
    written += since.content
    for past_row, floor_row, floor_us in since.parts:
        instant_us = _NO_INSTANT if floor_us is None else floor_us
        written += _PART.pack(*divmod(past_row, _WORD), *divmod(floor_row, _WORD), instant_us)
    return written


def _decoded(payload: bytes) -> Cursor | None:
    """Return what `_encoded` wrote; None where another version did."""
    if not payload or payload[0] not in (_VERSION, _WITH_CONTENT):
        return None
    version, counted, *gen_and_seq, now_us, changes, count_high, count_low = _HEAD.unpack_from(
        payload
    )
    gen_high, gen_low, seq_high, seq_low = gen_and_seq
    content_past = _HEAD.size + (_CONTENT_BYTES if version == _WITH_CONTENT else 0)
    parts = tuple(
        PartPosition(
            high * _WORD + low,
            floor_high * _WORD + floor_low,
            None if floor_us == _NO_INSTANT else floor_us,
        )
        for high, low, floor_high, floor_low, floor_us in _PART.iter_unpack(payload[content_past:])
    )
    since = Since(
        Gen(gen_high * _WORD + gen_low),
        Seq(seq_high * _WORD + seq_low),
        now_us,
        parts,
        now_us + changes if changes else None,
        count_high * _WORD + count_low,
        payload[_HEAD.size : content_past],
    )
    return Cursor(since, counted=bool(counted))
