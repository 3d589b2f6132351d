"""Characters that stand in no text of the dialect, outside strings and comments: other quotes, signs, invisible ones.

Editors, chats and other dialects bring them along; each refusal says what to write instead.
"""

import re
from collections.abc import Mapping

from psoup.engine.errors import SqlSyntaxError
from psoup.engine.query.text.refusal import Refused, Span

NO_CHARACTER = re.compile("[\\0\\ud800-\\udfff]")
"""What is no character of text, also inside strings and comments."""
_CURLY_QUOTES = "\u2018\u2019\u201a\u201b\u00b4\u201c\u201d\u201e\u201f\u00ab\u00bb"
_QUOTED_OTHERWISE = re.compile(
    f"[`{_CURLY_QUOTES}]([^`'\"{_CURLY_QUOTES}]{{1,40}})[`{_CURLY_QUOTES}]"
)
_STRAYS: Mapping[str, tuple[str, str]] = {
    "`": (
        "A backtick quotes nothing here.",
        'write a name as it is or in double quotes, "name", and a text in single quotes',
    ),
    **dict.fromkeys(
        _CURLY_QUOTES,
        (
            "A curly quote is no quote of SQL.",
            "write straight ones: 'text' in single quotes, \"name\" in double quotes",
        ),
    ),
    **{
        sign: (f"SQL does not know the sign {sign}.", f"write {plain}")
        for sign, plain in {
            "\u2264": "<=",
            "\u2265": ">=",
            "\u2260": "<>",
            "\u2212": "a hyphen: -",
            "\u2013": "a hyphen: -",
            "\u00d7": "*",
            "\u00f7": "/",
            "#": "-- in front of a comment",
            "\\": "the text on several lines as it is, without a backslash",
        }.items()
    },
}
"""What is wrong with each, and what to do."""


def is_stray(character: str) -> bool:
    """Return whether a character stands in no text of the dialect, or is one that nobody can see."""
    return character in _STRAYS or not character.isprintable()


def stray(text: str, at: int) -> Refused:
    """Return the refusal of the stray character at a place of the text."""
    invisible = (
        f"The invisible character U+{ord(text[at]):04X} stands here.",
        "delete it: copied texts bring it along",
    )
    detail, remedy = _STRAYS.get(text[at], invisible)
    quoted = _QUOTED_OTHERWISE.match(text, at)
    hint = None
    if quoted is not None:
        hint = f"write '{quoted[1]}' where a text is meant, \"{quoted[1]}\" where a name is meant"
    return Refused(SqlSyntaxError, detail, Span(at, at + 1), remedy, hint=hint)
