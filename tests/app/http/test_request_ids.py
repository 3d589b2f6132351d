"""Ids of requests: told apart within a process and from those of other processes."""

from psoup.app.http.request_ids import PREFIX_BITS, RequestIds


def test_ids_of_a_process_differ_and_have_one_form():
    """Sixteen hexadecimal digits: the prefix that was drawn, then a number."""
    drawn: list[int] = []

    def bits(count: int) -> int:
        drawn.append(count)
        return 0xAB

    ids = RequestIds(bits)
    assert ["000000ab00000000", "000000ab00000001"] == [ids.next(), ids.next()]
    assert [PREFIX_BITS] == drawn


def test_processes_draw_prefixes_of_their_own():
    """Two workers of one service hand out different ids."""
    assert RequestIds().next() != RequestIds().next()
