"""The errors Holdfast raises; every one derives from `HoldfastError`."""


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose."""


class InvalidParameter(HoldfastError, ValueError):
    """A parameter is outside its range; the message names the parameter, the value and the range.

    Raised before any state changes, any budget is spent or any row is touched.
    """


class BudgetExhausted(HoldfastError):
    """A cost does not fit into what is left. The budget stays open for smaller costs."""


class QuestionRefused(HoldfastError):
    """The question may not be asked here, whatever it costs."""


class GuaranteeUnavailable(HoldfastError):
    """No theorem covers what was asked for, so no number is given."""


class LedgerConflict(HoldfastError):
    """An entry would make the ledger unsound or contradict what it already holds."""


class LedgerUnavailable(HoldfastError):
    """The ledger could not be reached or written, so nothing was released. Ask again with the same key."""


class SampleUnavailable(HoldfastError):
    """The rows could not be read. Nothing was released, and the message shows nothing of what they hold.

    Where a file is opened, it may name the line and the column that cannot be read.
    """


class NotInstalled(HoldfastError, ModuleNotFoundError):
    """A package is missing that only some parts need; the message says how to install it."""


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
