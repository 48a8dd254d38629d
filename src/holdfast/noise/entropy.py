"""Where randomness comes from: `Secure` in production, `Seeded` in simulations.

A source hands out uniform 64-bit words and nothing else. Every sampler takes its words from a source, so that one
code path serves both, and what is tested with `Seeded` is what runs with `Secure`.
"""

from __future__ import annotations

import copy
import os
import threading
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

WORD_BITS = 64
_BUFFERED_WORDS = 256


class Source(ABC):
    """The base class of all sources of randomness. A source gives independent uniform 64-bit words.

    Attributes
    ----------
    secure : bool
        Whether the words are unpredictable. Only `Secure` says yes.

    Examples
    --------
    >>> Secure().secure, Seeded(1).secure
    (True, False)
    >>> Seeded(1).word() == Seeded(1).word()
    True
    """

    __slots__ = ()
    secure: ClassVar[bool] = False

    @abstractmethod
    def word(self) -> int:
        """Return one uniform word, an int in [0, 2**64)."""

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform words. The array must not be written to."""

    def shorts(self, count: int) -> NDArray[np.uint16]:
        """Return `count` uniform 16-bit numbers, four from each word. The array must not be written to."""
        return self.words(-(-count // 4)).view(np.uint16)[:count]


class _Buffer(threading.local):
    """Words of one thread that have been fetched and not yet used."""

    def __init__(self) -> None:
        self.words: list[int] = []


_buffer = _Buffer()


def _forget() -> None:
    """Drop the buffers of every thread: what was fetched before a fork is used neither here nor in the child."""
    global _buffer
    _buffer = _Buffer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forget, after_in_child=_forget)


class Secure(Source):
    """The operating system's cryptographic random numbers (`os.urandom`). Every real release uses this source.

    It takes no seed and has no state of its own. Each thread has a small buffer of 256 words for single draws; arrays
    are read directly from the system. A word leaves its buffer when it is used, and the buffers are dropped, in the
    parent and in the child, when the process forks through Python (`os.fork`, `multiprocessing`). So no word is used
    twice. A fork made by C code without Python is not noticed. Copies and pickles contain no words.

    Notes
    -----
    Asking the system for the process id at each word would cost a quarter of a draw.

    Examples
    --------
    >>> Secure()
    Secure()
    >>> 0 <= Secure().word() < 2**64
    True
    >>> Secure(7)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: Secure takes no seed; for a simulation use noise.Seeded
    """

    __slots__ = ()
    secure: ClassVar[bool] = True

    def __init__(self, *refused: object, **also_refused: object) -> None:
        if refused or also_refused:
            raise InvalidParameter("Secure takes no seed; for a simulation use noise.Seeded")

    def word(self) -> int:
        """Return one uniform word from the thread's buffer."""
        words = _buffer.words
        while True:
            try:
                return words.pop()
            except IndexError:  # a signal handler that draws may empty what was just filled, so look again
                words += self.words(_BUFFERED_WORDS).tolist()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform words, read directly from the operating system."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def __repr__(self) -> str:
        return "Secure()"

    def __reduce__(self) -> tuple[type[Secure], tuple[()]]:
        return Secure, ()


class Seeded(Source):
    """A reproducible source with the same distribution as `Secure`, for simulations and tests only.

    Anyone who learns the seed can remove the noise. The samplers and mechanisms accept any source. The layer that holds
    real rows can use `Source.secure` to refuse this one. A copy or a pickle repeats the words of the original. Use it
    in one thread at a time.

    Parameters
    ----------
    seed : int
        At least 0.

    Examples
    --------
    >>> Seeded(7).word() == Seeded(7).word()
    True
    >>> Seeded(7)
    Seeded(7)
    """

    __slots__ = ("_bits", "_seed", "_words")

    def __init__(self, seed: int) -> None:
        self._seed = arguments.whole("seed", seed, at_least=0)
        self._bits = np.random.PCG64(self._seed)
        self._words: list[int] = []

    def word(self) -> int:
        """Return one uniform word from the generator."""
        if not self._words:
            self._words = self.words(_BUFFERED_WORDS).tolist()
        return self._words.pop()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform words from the generator."""
        return self._bits.random_raw(count)

    def state(self) -> dict[str, Any]:
        """Return the state of the generator as plain data, from which `from_state` continues. Whoever reads it knows
        the noise.

        Examples
        --------
        >>> source = Seeded(7)
        >>> _ = source.word()
        >>> Seeded.from_state(source.state()).word() == source.word()
        True
        """
        inner = self._bits.state
        numbers = {name: str(inner["state"][name]) for name in ("state", "inc")}  # 128 bits: beyond JSON's numbers
        spare = {"has_uint32": int(inner["has_uint32"]), "uinteger": int(inner["uinteger"])}
        return {"seed": self._seed, **numbers, **spare, "words": [str(word) for word in self._words]}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Seeded:
        """Return the generator that `state()` described."""
        try:
            source = cls(state["seed"])
            source._bits.state = {
                "bit_generator": "PCG64",
                "state": {"state": int(state["state"]), "inc": int(state["inc"])},
                "has_uint32": int(state["has_uint32"]),
                "uinteger": int(state["uinteger"]),
            }
            source._words = [int(word) for word in state["words"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidParameter("state must be what Seeded.state() gave") from error
        return source

    def __copy__(self) -> Seeded:
        return copy.deepcopy(self)  # two sources that share one generator would take each other's words

    def __repr__(self) -> str:
        return f"Seeded({self._seed})"


_SECURE = Secure()


def resolve(source: Source | None) -> Source:
    """Return the source to draw from: the given one, or the process-wide `Secure`.

    Examples
    --------
    >>> resolve(None)
    Secure()
    """
    if source is None:
        return _SECURE
    if isinstance(source, Source):
        return source
    raise InvalidParameter(
        f"source must be a noise.Source such as Secure() or Seeded(1), got a {type(source).__name__}"
    )
