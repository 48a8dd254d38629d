"""Structured logs: one JSON object a line. No token, body, query, row or message of an unforeseen error is written."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("holdfast.server")
_HIDDEN = "hf_***"
_TOKEN = re.compile(r"hf_[0-9a-f]{8,}_?[0-9A-Za-z]*")
"""A token, or what is left of one."""
_SIGNED = re.compile(r"eyJ[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]*)*")
"""A token of an identity provider, or what is left of one: its header begins with `{"` in base64."""


def hide(text: str) -> str:
    """A text without the tokens in it.

    Examples
    --------
    >>> hide("got hf_" + "0" * 16 + "_" + "a" * 64 + " there")
    'got hf_*** there'
    """
    return _SIGNED.sub("eyJ***", _TOKEN.sub(_HIDDEN, text))


class JSONLines(logging.Formatter):
    """One object a line; what is not plain text, such as a name with a line break, is escaped by JSON itself."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        plain: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        plain |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[1] is not None:
            plain |= where(record.exc_info[1])
        return hide(json.dumps(plain, default=str))


def where(error: BaseException) -> dict[str, Any]:
    """What kind of error came from where: its words may hold rows and are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "where": [f"{frame.filename.rsplit('site-packages/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames][
            -12:
        ],
    }


def set_up(level: str = "info") -> None:
    """Send the server's and uvicorn's lines to standard error, as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name in ("holdfast.server", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True


def say(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write one line."""
    if LOGGER.isEnabledFor(level):  # without a search for who called, which `log` makes for every line
        kept = {"facts": {k: v for k, v in facts.items() if v is not None}}
        LOGGER.handle(LOGGER.makeRecord(LOGGER.name, level, "", 0, event, (), None, extra=kept))


__all__ = ["LOGGER", "JSONLines", "hide", "say", "set_up", "where"]
