"""What results are keyed by."""

from typing import NewType

ClauseId = NewType("ClauseId", int)
"""Seq of the registration that made the clause. Never reused; the key of stored results."""
