"""A visitor without a browser: follows links and fills forms as one would."""

from __future__ import annotations

import re
from typing import Any, Self

import httpx

MARK = re.compile(r'name="csrf_token" value="([0-9a-f]{64})"')


class Visitor(httpx.Client):
    """Somebody on the pages, with a cookie once they signed in."""

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__(base_url=url, timeout=60, follow_redirects=True)
        self.csrf_token = ""
        if token is not None:
            page = self.post("/sign-in", data={"token": token})
            assert page.status_code == 200, page.text
            found = MARK.search(page.text)
            assert found is not None
            self.csrf_token = found[1]

    def __enter__(self) -> Self:  # it is open already: signing in was its first request
        return self

    def fill(self, address: str, **fields: str) -> httpx.Response:
        """Send a form of this session."""
        return self.post(address, data={"csrf_token": self.csrf_token} | fields)


def links(text: str) -> set[str]:
    """The pages of ours that a page links to."""
    return {one.replace("&amp;", "&") for one in re.findall(r'href="(/[^"#]*)', text)}


def crawl(visitor: Visitor, first: str = "/", most: int = 80) -> dict[str, str]:
    """Every page that can be reached by links, and what it says."""
    seen: dict[str, str] = {}
    waiting = [first]
    while waiting and len(seen) < most:
        address = waiting.pop(0)
        if address in seen:
            continue
        answer = visitor.get(address)
        assert answer.status_code < 500, (address, answer.text)
        seen[address] = answer.text + str(answer.headers)
        waiting += sorted(links(answer.text) - set(seen)) if "text/html" in answer.headers["content-type"] else []
    return seen


def values(**more: Any) -> dict[str, str]:
    """The picker's fields."""
    return {"shape": "looks", "confidence": "0.95", "questions": "50", "do": "create"} | more


__all__ = ["MARK", "Visitor", "crawl", "links", "values"]
