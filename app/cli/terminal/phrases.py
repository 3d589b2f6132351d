"""Phrases of HTTP in the service's sentences, put into those of the command line.

The service's sentences are for every client, so they name requests, members and parameters. Who types a command has
commands and options.
"""

import re
from typing import Final

_PHRASES: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"PUT /v1/streams/\{name\}", "psoup declare or psoup load"),
        (r"DELETE /v1/streams/\{name\}", "psoup drop"),
        (r"POST /v1/streams/\{name\}/rows", "psoup load"),
        (r"GET /v1/streams(/\{name\})?", "psoup streams"),
        (r"GET /v1/queries", "psoup queries"),
        (r"limit= of an invocation", "--limit"),
        (r"count=only, ", ""),
        (
            r'Give one in params, beside sql: "params": \{"(\w+)": 40\}',
            r"Pass one by --param \1=40",
        ),
        (r"\bof params\b", "of --param"),
        (r'"(materialize|unit|clock|future)": "([\w-]+)"', r"--\1 \2"),
    )
)


def in_command_words(sentence: str) -> str:
    """Return a sentence of the service with its requests and members as commands and options."""
    for pattern, words in _PHRASES:
        sentence = pattern.sub(words, sentence)
    return sentence
