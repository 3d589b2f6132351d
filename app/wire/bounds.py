"""Bounds that every format of a body shares, refused in one wording."""

from psoup.app.errors import BodyTooLargeError
from psoup.engine import limits


def check_row_count(rows: int) -> None:
    """Refuse a batch of more than BATCH_ROWS_MAX rows.

    Raises:
        BodyTooLargeError: it has more.
    """
    if rows > limits.BATCH_ROWS_MAX:
        raise BodyTooLargeError(
            "The batch has too many rows: split it.",
            limit="rows per batch",
            max_rows=limits.BATCH_ROWS_MAX,
        )


def check_decoded_size(size: int, *, bytes_max: int) -> None:
    """Refuse a body that decodes to more than `bytes_max` bytes.

    Raises:
        BodyTooLargeError: it does.
    """
    if size > bytes_max:
        raise BodyTooLargeError(
            "The decoded body is over its limit: split it.",
            limit="decoded body",
            max_bytes=bytes_max,
        )
