"""The errors Holdfast raises; every one derives from `HoldfastError`."""

import re
from typing import Any, ClassVar


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose.

    Programs read its fields, people read its sentence. `code` is stable, sentences may change. An error of a server
    has the same fields, and so has the problem body that the server sends.

    Parameters
    ----------
    message : str
        The sentence.
    parameter : str, optional
        The parameter that was refused.
    value : float, int, bool, str, optional
        What was given, as far as the message shows it: a number or a short text, and never rows.
    allowed : str, optional
        What would have been right.

    Examples
    --------
    >>> error = InvalidParameter("epsilon must be a number in [0, inf), got -1")
    >>> error.code, error.parameter, error.value, error.allowed
    ('invalid-parameter', 'epsilon', '-1', 'a number in [0, inf)')
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        value: float | int | bool | str | None = None,
        allowed: str | None = None,
        **others: Any,
    ) -> None:
        super().__init__(message, **others)
        stated = None if parameter is not None else _REFUSED.fullmatch(message)
        if stated is not None:
            parameter, allowed, value = stated["parameter"], allowed or stated["allowed"], value or stated["value"]
        self.parameter, self.value, self.allowed = parameter, value, allowed

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, without those that are None."""
        fields = {"parameter": self.parameter, "value": self.value, "allowed": self.allowed}
        stated = {name: field for name, field in fields.items() if field is not None}
        return {"code": self.code, "message": str(self)} | stated


_REFUSED = re.compile(
    r"(?P<parameter>--[\w-]+|[A-Za-z_][\w.]*(?:\[\d+\])?) must (?:be )?(?P<allowed>.+?)"
    r"(?:, got (?P<value>[^;]*))?(?:;.*)?",
    re.DOTALL,
)
"""The sentence in which every part of the library refuses a value: NAME must be ALLOWED, got VALUE."""


class InvalidParameter(HoldfastError, ValueError):
    """A parameter is outside its range; the message names the parameter, the value and the range.

    Raised before any state changes, any budget is spent or any row is touched.
    """

    code = "invalid-parameter"


class BudgetExhausted(HoldfastError):
    """A cost does not fit into what is left. The budget stays open for smaller costs."""

    code = "budget-exhausted"


class QuestionRefused(HoldfastError):
    """The question may not be asked here, whatever it costs."""

    code = "question-refused"


class GuaranteeUnavailable(HoldfastError):
    """No theorem covers what was asked for, so no number is given."""

    code = "guarantee-unavailable"


class LedgerConflict(HoldfastError):
    """An entry would make the ledger unsound or contradict what it already holds."""

    code = "ledger-conflict"


class LedgerUnavailable(HoldfastError):
    """The ledger could not be reached or written, so nothing was released. Ask again with the same key."""

    code = "ledger-unavailable"


class SampleUnavailable(HoldfastError):
    """The rows could not be read. Nothing was released, and the message shows nothing of what they hold.

    Where a file is opened, it may name the line and the column that cannot be read.
    """

    code = "sample-unavailable"


class NotInstalled(HoldfastError, ModuleNotFoundError):
    """A package is missing that only some parts need; the message says how to install it."""

    code = "not-installed"


__all__ = [
    "BudgetExhausted",
    "GuaranteeUnavailable",
    "HoldfastError",
    "InvalidParameter",
    "LedgerConflict",
    "LedgerUnavailable",
    "NotInstalled",
    "QuestionRefused",
    "SampleUnavailable",
]
