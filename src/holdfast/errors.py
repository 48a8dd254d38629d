"""The errors Holdfast raises; every one derives from `HoldfastError`."""

import re
from typing import Any, ClassVar


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose.

    The fields are for programs, and the message is for people. The field `code` stays the same in later versions, but
    the wording of messages may change. The error that a server sends has the same fields.

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
    """A parameter has a value that is not allowed. The message gives the parameter, its value, and what is allowed.

    It is raised before anything is changed or spent, and before any row is read.
    """

    code = "invalid-parameter"


class BudgetExhausted(HoldfastError):
    """The cost of a question does not fit into the remaining budget. Questions with smaller costs may still be
    answered.
    """

    code = "budget-exhausted"


class QuestionRefused(HoldfastError):
    """The question may not be asked of this guard or run, whatever its cost."""

    code = "question-refused"


class GuaranteeUnavailable(HoldfastError):
    """No theorem guarantees what was asked for, so no number is given."""

    code = "guarantee-unavailable"


class LedgerConflict(HoldfastError):
    """A new entry would contradict what the ledger already contains, or would make its guarantees invalid."""

    code = "ledger-conflict"


class LedgerUnavailable(HoldfastError):
    """The ledger could not be reached or written to, so no answer was released. Ask again with the same idempotency
    key.
    """

    code = "ledger-unavailable"


class SampleUnavailable(HoldfastError):
    """The rows could not be read, so no answer was released. The message reveals no values of the rows. If a file
    cannot be opened, the message may give the line and the column that cannot be read.
    """

    code = "sample-unavailable"


class NotInstalled(HoldfastError, ModuleNotFoundError):
    """A Python package that is needed here is not installed. The message says how to install it."""

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
