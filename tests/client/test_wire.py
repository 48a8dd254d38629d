"""What a server, or whoever stands before it, may say: it is read with care, or not at all."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from holdfast.client.wire import _retry_after, address
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e9", None),
        ("٣", None),
        ("9" * 5000, 999999.0),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2030 00:00:00 +99999999999999", None),
        ("Mon, 32 Jan 2030 00:00:00 GMT", None),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
    ],
)
def test_when_to_come_back(text: str, seconds: float | None) -> None:
    assert _retry_after(httpx.Response(429, headers={"Retry-After": text.encode()})) == seconds


def test_when_to_come_back_as_a_date() -> None:
    when = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    said = email.utils.format_datetime(when, usegmt=True)
    before = datetime.now(UTC)
    found = _retry_after(httpx.Response(503, headers={"Retry-After": said}))
    after = datetime.now(UTC)
    assert found is not None
    assert (when - after).total_seconds() <= found <= (when - before).total_seconds()


@pytest.mark.parametrize(
    "url",
    [
        "https://xn--/",
        "https://user:secret@host",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://0.0.0.0:8321",
        "http://127.1",
        "https://host\r\nX: y",
        "ftp://host",
        "https://",
        "host",
        7,
    ],
)
def test_addresses_that_lead_elsewhere(url: Any) -> None:
    with pytest.raises(InvalidParameter, match="url must be"):
        address(url)
