"""Online tests: a level before each p-value, a decision after it, and a state that can be stored.

`AlphaSpending` controls the probability of any false rejection; `LordPlusPlus`, `Saffron` and `Addis` control the false
discovery rate of independent p-values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.online.discount import LORD, SAFFRON, Discount, Memory


class Decision(NamedTuple):
    """The result of one test in a stream: its p-value, the level that it was compared with, and whether it was
    rejected.

    Examples
    --------
    >>> Decision(p=0.001, level=0.01, rejected=True)
    Decision(p=0.001, level=0.01, rejected=True)
    """

    p: float
    level: float
    rejected: bool


class Stream(ABC):
    """An online test: p-values arrive one by one. `level` is the level of the next test, known before its p-value.

    `test` compares the next p-value with this level and moves on.

    Examples
    --------
    >>> from holdfast.inference.online import Saffron
    >>> stream = Saffron(0.05)
    >>> round(stream.level, 6), stream.test(0.001).rejected, round(stream.level, 6)
    (0.005469, True, 0.010937)
    """

    kind: ClassVar[str]
    controls: ClassVar[str]

    def __init__(self, alpha: float, discount: Discount) -> None:
        self._alpha = arguments.probability("alpha", alpha)
        if not isinstance(discount, Discount):
            raise InvalidParameter(f"discount must be a Discount, got a {type(discount).__name__}")
        self._discount = discount
        self._tests = 0
        self._rejections = 0
        self._spent = 0.0
        self._next: float | None = None

    @property
    def alpha(self) -> float:
        """The error rate that the stream keeps."""
        return self._alpha

    @property
    def tests(self) -> int:
        """The number of p-values tested so far."""
        return self._tests

    @property
    def rejections(self) -> int:
        """The number of rejections so far."""
        return self._rejections

    @property
    def level(self) -> float:
        """The level of the next test. It depends only on earlier p-values, not on the next one."""
        if self._next is None:
            self._next = self._level()
        return self._next

    @property
    @abstractmethod
    def wealth(self) -> float:
        """What is left of the error rate to spend; never negative."""

    def test(self, p: float) -> Decision:
        """Test the next p-value, a number in [0, 1].

        A value that is no such number raises an error and changes nothing.

        Notes
        -----
        Constant time.
        """
        p = arguments.probability("p", p, zero=True, one=True)
        level = self.level
        rejected = p <= level
        self._after(p, level, rejected)
        self._tests += 1
        self._rejections += rejected
        self._next = None
        return Decision(p, level, rejected)

    def test_all(self, p_values: Iterable[float]) -> list[Decision]:
        """Test several p-values one after the other. All of them are checked before the first is tested."""
        checked = [arguments.probability(f"p_values[{i}]", p, zero=True, one=True) for i, p in enumerate(p_values)]
        return [self.test(p) for p in checked]

    def state(self) -> dict[str, Any]:
        """Return the whole stream as plain data, which `from_state` reads back exactly."""
        return {
            "version": 1,
            "kind": self.kind,
            "parameters": self._parameters(),
            "discount": {
                "kind": self._discount.kind,
                "constant": self._discount.constant,
                "exponent": self._discount.exponent,
            },
            "tests": self._tests,
            "rejections": self._rejections,
            "spent": self._spent,
            "memory": self._memory_state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the stream of this class that `state()` described."""
        wanted = {"version", "kind", "parameters", "discount", "tests", "rejections", "spent", "memory"}
        if not isinstance(state, Mapping) or set(state) != wanted or state["version"] != 1 or state["kind"] != cls.kind:
            raise InvalidParameter(f"a stored stream must be a dict with version 1 and kind {cls.kind}")
        if not isinstance(state["parameters"], Mapping) or not isinstance(state["discount"], Mapping):
            raise InvalidParameter("the parameters and the discount of a stored stream must be dicts")
        try:
            stream = cls(**state["parameters"], discount=Discount(**state["discount"]))
        except TypeError:
            raise InvalidParameter(f"a stored {cls.kind} stream has parameters that do not fit") from None
        stream._tests = arguments.whole("tests", state["tests"], at_least=0)
        stream._rejections = arguments.whole("rejections", state["rejections"], at_least=0, at_most=stream._tests)
        stream._spent = arguments.real("spent", state["spent"], at_least=0)
        stream._restore(state["memory"])
        return stream

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:g}" for name, value in self._parameters().items())
        return f"{type(self).__name__}({inside}; tests={self._tests}, rejections={self._rejections})"

    @abstractmethod
    def _level(self) -> float: ...

    @abstractmethod
    def _after(self, p: float, level: float, rejected: bool) -> None: ...

    @abstractmethod
    def _parameters(self) -> dict[str, float]: ...

    def _memory_state(self) -> Any:
        return None

    def _restore(self, memory: Any) -> None:
        if memory is not None:
            raise InvalidParameter(f"a stored {self.kind} stream must have an entry memory, and this one has none")


class RewardedStream(Stream):
    """A stream that earns wealth back with every rejection: the first earns `alpha - wealth`, later ones `alpha`."""

    def __init__(self, alpha: float, wealth: float | None, discount: Discount) -> None:
        super().__init__(alpha, discount)
        start = self._alpha / 2 if wealth is None else arguments.real("wealth", wealth, above=0, below=self._alpha)
        self._start = start
        self._memory = Memory(discount)
        self._memory.add(start)

    @property
    def wealth(self) -> float:
        """What is left to spend: what rejections earned less what tests spent; never negative."""
        first = min(self._rejections, 1) * (self._alpha - self._start)
        earned = self._start + first + max(self._rejections - 1, 0) * self._alpha
        return max(earned - self._spent, 0.0)

    def _reward(self) -> None:
        self._memory.add(self._alpha if self._rejections else self._alpha - self._start)

    def _memory_state(self) -> Any:
        return self._memory.state()

    def _restore(self, memory: Any) -> None:
        self._memory.restore(memory)


class AlphaSpending(Stream):
    """An online test that tests p-value `t` at level `alpha gamma(t)`, where the weights `gamma(t)` sum to at most
    1.

    The probability of any false rejection is at most `alpha`, by the union bound. The p-values may depend on each other
    in any way. So use this class for corrected p-values of tests on the same rows.

    Parameters
    ----------
    alpha : float
        The probability of any false rejection, in (0, 1).
    discount : Discount
        How alpha is shared out; LORD's sequence by default.

    Examples
    --------
    >>> stream = AlphaSpending(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.2, 0.0001])], round(stream.level, 6)
    ([True, False, True], 0.000412)
    """

    kind: ClassVar[str] = "alpha-spending"
    controls: ClassVar[str] = "probability of any false rejection, any dependence"

    def __init__(self, alpha: float, discount: Discount = LORD) -> None:
        super().__init__(alpha, discount)

    @property
    def wealth(self) -> float:
        """What is left of alpha to spend; never negative."""
        return max(self._alpha - self._spent, 0.0)

    def _level(self) -> float:
        return self._alpha * self._discount.value(self._tests + 1)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        self._spent += level

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha}


class LordPlusPlus(RewardedStream):
    """The online test LORD++, which keeps the false discovery rate below `alpha`.

    The level of test `t`, after rejections at the tests `t_1 < t_2 < ...`, is

        wealth gamma(t) + (alpha - wealth) gamma(t - t_1) + alpha sum over j >= 2 of gamma(t - t_j).

    Here `gamma` is the discount sequence, and `wealth` is what the stream may spend before the first rejection.

    The false discovery rate is at most `alpha` at every time if null p-values are independent of each other and of the
    rest. The modified rate (expected false rejections over expected rejections) is at most `alpha` if each null p-value
    is super-uniform given the decisions before it.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    discount : Discount
        The sequence gamma; LORD's own by default.

    Notes
    -----
    Ramdas, Yang, Wainwright and Jordan 2017; Javanmard and Montanari 2018 for the sequence. Constant time and
    memory a test; see `discount.Memory`.

    Examples
    --------
    >>> stream = LordPlusPlus(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.2, 0.0001, 0.6])]
    [True, False, True, False]
    >>> round(stream.level, 6)
    0.000963
    """

    kind: ClassVar[str] = "lord++"
    controls: ClassVar[str] = "false discovery rate, independent p-values"

    def __init__(self, alpha: float, wealth: float | None = None, discount: Discount = LORD) -> None:
        super().__init__(alpha, wealth, discount)

    def _level(self) -> float:
        return self._memory.value

    def _after(self, p: float, level: float, rejected: bool) -> None:
        self._memory.age()
        self._spent += level
        if rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha, "wealth": self._start}


class Saffron(RewardedStream):
    """The online test SAFFRON with a constant candidate threshold.

    A p-value of at most `candidate` is a candidate. Candidates cost nothing, and other tests make earlier rewards
    older. With `a_j` the number of tests since rejection `j` that were no candidates, plus one, the level is

        min(candidate, (1 - candidate) (wealth gamma(a_0) + (alpha - wealth) gamma(a_1) + alpha sum_{j>=2} gamma(a_j))).

    Here `gamma` is the discount sequence, and `wealth` is what the stream may spend before the first rejection.

    The false discovery rate is at most `alpha` if p-values are independent. The modified rate (expected false
    rejections over expected rejections) is at most `alpha` if each null p-value is super-uniform given the decisions
    before it.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    candidate : float
        The candidate threshold, in (0, 1); 0.5 by default.
    discount : Discount
        The sequence gamma; `j^-1.6` by default.

    Notes
    -----
    Ramdas, Zrnic, Wainwright and Jordan 2018. Constant time and memory a test, however many rejections there
    were; see `discount.Memory`.

    Examples
    --------
    >>> stream = Saffron(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.9, 0.0001, 0.6])]
    [True, False, True, False]
    >>> round(stream.level, 6), stream.wealth > 0
    (0.005494, True)
    """

    kind: ClassVar[str] = "saffron"
    controls: ClassVar[str] = "false discovery rate, independent p-values"

    def __init__(
        self, alpha: float, wealth: float | None = None, candidate: float = 0.5, discount: Discount = SAFFRON
    ) -> None:
        super().__init__(alpha, wealth, discount)
        self._candidate = arguments.probability("candidate", candidate)

    def _level(self) -> float:
        return min(self._candidate, (1 - self._candidate) * self._memory.value)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        if p > self._candidate:
            self._spent += level / (1 - self._candidate)
            self._memory.age()
        elif rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha, "wealth": self._start, "candidate": self._candidate}


class Addis(RewardedStream):
    """The online test ADDIS with constant thresholds. It rejects more than SAFFRON if null p-values are
    conservative.

    A p-value above `discard` is not counted at all. Otherwise the test is SAFFRON, with `discard - candidate` in place
    of `1 - candidate`. Null p-values must be independent and *uniformly* conservative: super-uniform also given that
    they are at most any bound. An adjusted p-value of `AfterLooking` is only known to be super-uniform. Give such
    p-values to `AlphaSpending` or `Saffron`.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    candidate, discard : float
        The thresholds, `0 < candidate < discard <= 1`; 0.25 and 0.5 by default.
    discount : Discount
        The sequence gamma; `j^-1.6` by default.

    Notes
    -----
    Tian and Ramdas 2019.

    Examples
    --------
    >>> stream = Addis(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.9, 0.0001, 0.3])]
    [True, False, True, False]
    """

    kind: ClassVar[str] = "addis"
    controls: ClassVar[str] = "false discovery rate, independent and uniformly conservative p-values"

    def __init__(
        self,
        alpha: float,
        wealth: float | None = None,
        candidate: float = 0.25,
        discard: float = 0.5,
        discount: Discount = SAFFRON,
    ) -> None:
        super().__init__(alpha, wealth, discount)
        self._discard = arguments.probability("discard", discard, one=True)
        self._candidate = arguments.real("candidate", candidate, above=0, below=self._discard)

    def _level(self) -> float:
        return min(self._candidate, (self._discard - self._candidate) * self._memory.value)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        if p > self._discard:
            return
        if p > self._candidate:
            self._spent += level / (self._discard - self._candidate)
            self._memory.age()
        elif rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {
            "alpha": self._alpha,
            "wealth": self._start,
            "candidate": self._candidate,
            "discard": self._discard,
        }
