"""Addresses of stores: what each kind holds, what is refused, and that no password is shown."""

import pytest

from psoup.engine.store.address import StoreAddress, StoreUrlError, read_store_address


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("memory://", StoreAddress("memory")),
        ("redis://h", StoreAddress("redis", "h")),
        ("redis://H:1/", StoreAddress("redis", "h", 1)),
        ("rediss://h:65535/15", StoreAddress("rediss", "h", 65_535, database=15)),
        ("redis://[::1]:7/0", StoreAddress("redis", "::1", 7)),
        (
            "redis://a%40b:p%2F%23@h/3",
            StoreAddress("redis", "h", database=3, username="a@b", password="p/#"),
        ),
        ("redis://:p@h", StoreAddress("redis", "h", password="p")),
        ("unix:///run/a%20b", StoreAddress("unix", socket="/run/a b")),
        ("unix:///s?db=2", StoreAddress("unix", socket="/s", database=2)),
        ("unix://u:p@/s", StoreAddress("unix", socket="/s", username="u", password="p")),
    ],
)
def test_address_is_read_into_its_parts(url, expected):
    """Every kind, with what it may hold; what is not given has the driver's own defaults."""
    assert expected == read_store_address(url)


@pytest.mark.parametrize(
    "url",
    ["", "redis", "h:6379", "file:///x", "http://h", "memory://x", "memory:///?a",
     "redis://", "redis://:6379", "redis://h:0", "redis://h:65536", "redis://h:x", "redis://h:-1",
     "redis://h/x", "redis://h/1/2", "redis://h/-1", "redis://h/123456", "redis://h/0?db=1",
     "rediss://h?ssl_cert_reqs=none", "redis://h/0#x", "redis://h/0#", "redis://h /0", "redis://h\n/0",
     "redis://h\x00/0", "redis://[::1/0", "redis://hé/0",
     "unix://", "unix:///", "unix://s/t", "unix:///s?db=x", "unix:///s?db=1&db=2",
     "unix:///s?password=p", "unix:///s?db="],
)  # fmt: skip
def test_address_that_is_none_is_refused_with_what_is_expected(url):
    """Ports, databases and parameters that cannot be are an error of their own, never another store."""
    with pytest.raises(StoreUrlError, match=r"redis://host:6379/0") as refused:
        read_store_address(url)
    assert "store-url" == refused.value.code


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://u:secret@h", "redis://u@h:6379/0"),
        ("rediss://:secret@[::1]:7/3", "rediss://[::1]:7/3"),
        ("unix://u:secret@/a%20b?db=2", "unix://u@/a%20b?db=2"),
        ("memory://", "memory://"),
    ],
)
def test_address_shows_no_password_and_can_be_read_again(url, shown):
    """Its text is the address of the same store; neither the text nor the repr has the password."""
    address = read_store_address(url)
    assert shown == str(address)
    assert "secret" not in repr(address)
    assert shown == str(read_store_address(shown))


@pytest.mark.parametrize(
    "url", ["redis://u:secret@h:x", "redis://u:secret@h/0?a=b", "redis://u:secret#@h", "file://u:secret@h",
            "redis://u:secret@[h", "unix://u:secret@h/s", "redis://u:sec ret@h"]
)  # fmt: skip
def test_refusal_shows_no_password(url):
    """What is wrong is said without what stands before an @."""
    with pytest.raises(StoreUrlError) as refused:
        read_store_address(url)
    assert "sec" not in refused.value.detail
