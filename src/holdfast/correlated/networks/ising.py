"""The Ising model: binary records on a graph, tied in pairs, of any number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import effective_n_blocks
from holdfast.bounds.correlated.influence import ising_influence
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.correlated.model import ListedModel, Quilt, check_record
from holdfast.correlated.networks.graph import components, graph_of
from holdfast.correlated.networks.network import Network
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


@dataclass(frozen=True)
class _Others(Sequence[int]):
    """The records of a part but one; no list of them is made."""

    part: list[int]
    without: int

    def __len__(self) -> int:
        return len(self.part) - 1

    def __iter__(self) -> Iterator[int]:
        return (j for j in self.part if j != self.without)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return tuple(self)[index]


class Ising(ListedModel):
    """An Ising model: spins `x_i` of +1 or -1 with distribution proportional to `exp(sum_ij J_ij x_i x_j + sum_i h_i
    x_i)`.

    Only two Markov quilts are used, both in closed form: the Markov blanket (size 1) and the trivial quilt. So models
    with any number of records can be planned. The blanket helps if `4 sum_j |J_ij|`, its surcharge, is well below
    epsilon. For a small model `network()` gives exact quilts of any shape.

    Parameters
    ----------
    couplings : mapping
        `(i, j): J_ij` for each tied pair, once.
    n : int
        Records, numbered from 0.
    field : float or list of float
        `h_i`. Without a field the blanket's influence is exactly `2 sum_j |J_ij|`; with one it is at most twice that
        (derived: the log odds of a spin given its neighbours and its own log odds lie in one interval of length
        `4 sum |J|`, centred at `2 h_i`).
    independent_parts : bool
        Say so if the graph may fall into parts that share no tie.

    Examples
    --------
    >>> ring = Ising({(0, 1): 0.2, (1, 2): 0.2, (2, 3): 0.2, (3, 0): 0.2}, n=4)
    >>> round(ring.influence(0, [1, 3]), 9), round(ring.epsilon_dp(4.0), 9)
    (0.8, 2.4)
    """

    def __init__(
        self,
        couplings: Mapping[tuple[int, int], float],
        n: int,
        field: npt.ArrayLike = 0.0,
        *,
        independent_parts: bool = False,
    ) -> None:
        self._n = arguments.whole("n", n, at_least=1, at_most=10**8)
        self._ties: list[dict[int, float]] = [{} for _ in range(self._n)]
        if not isinstance(couplings, Mapping):
            raise InvalidParameter("couplings must be a mapping from pairs of records to numbers")
        for pair, value in couplings.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidParameter("couplings must have pairs of records as keys")
            i, j = (check_record(end, self._n) for end in pair)
            if i == j or j in self._ties[i]:
                raise InvalidParameter(
                    f"couplings must be between two different records, each pair once, got ({i}, {j})"
                )
            self._ties[i][j] = self._ties[j][i] = arguments.real("couplings", value)
        try:
            self._field = np.broadcast_to(np.asarray(field, dtype=float), (self._n,))
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(f"field must be one number or a list of {self._n} numbers") from None
        if not np.isfinite(self._field).all():
            raise InvalidParameter("field must hold finite numbers")
        self._graph = graph_of(self._n, [pair for pair, value in couplings.items() if value])
        self._parts = components(self._graph)
        if len(self._parts) > 1 and not independent_parts:
            raise InvalidParameter(
                f"network must be connected, got {len(self._parts)} parts with no tie between them; if records of "
                "different parts really are independent, give independent_parts=True"
            )
        self._part_of = {node: part for part in self._parts for node in part}

    @property
    def n(self) -> int:
        """The number of records."""
        return self._n

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        ties = sum(map(len, self._graph)) // 2
        return f"Ising model of {self.n} records, {ties} ties, {'a' if self._field.any() else 'no'} field"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        ties = [[i, j, value] for i, near in enumerate(self._ties) for j, value in near.items() if i < j]
        return {"model": "ising", "n": self.n, "couplings": ties, "field": self._field.tolist()}

    def blanket_influence(self, record: int) -> float:
        """Return the max-influence of a record on its Markov blanket (its neighbours), in nats.

        It is the largest log ratio of the probabilities of what the neighbours show, given the two values of the
        record: `2 sum_j |J_ij|`, or twice that with a field.
        """
        i = check_record(record, self.n)
        near = list(self._ties[i].values())
        if not near:
            return 0.0
        return ising_influence(near) if not self._field.any() else up(2 * ising_influence(near))

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the max-influence of `record` on the records of `quilt`, in nats, for an adversary who knows the
        records of `known`.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`. For the Markov blanket it is in closed form. For any other quilt it is computed exactly by
        `network()`, so the model must be small.
        """
        i = check_record(record, self.n)
        if not known and not self._field.any() and set(quilt) == set(self._graph[i]):
            return self.blanket_influence(i)
        return self.network().influence(i, list(quilt), list(known))

    def quilts(self, record: int) -> Iterator[Quilt]:
        """Return the Markov quilts of `record`: its Markov blanket, and the trivial quilt, which is empty.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        i = check_record(record, self.n)
        part = self._part_of[i]
        if len(part) > 1:
            yield Quilt(i, tuple(sorted(self._graph[i])), (), self.blanket_influence(i), 1)
        yield Quilt(i, (), _Others(part, i), 0.0, len(part))

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        Parts of the model that have no tie between them count as independent blocks.

        Notes
        -----
        3.9, row A.
        """
        return effective_n_blocks([len(part) for part in self._parts])

    def network(self, **options: Any) -> Network:
        """Return the same distribution as a `Network`, for exact Markov quilts of any shape.

        The options are those of `Network.markov`.
        """
        if self.n > 10_000:
            raise GuaranteeUnavailable(
                "the model is large, and only the Markov blanket of a large Ising model has a closed form"
            )
        names = [str(i) for i in range(self.n)]
        spin = np.array([-1.0, 1.0])
        factors: list[tuple[list[str], Any]] = [
            ([names[i], names[j]], np.exp(value * np.outer(spin, spin) - abs(value)))
            for i, near in enumerate(self._ties)
            for j, value in near.items()
            if i < j and value
        ]
        factors += [([names[i]], np.exp(h * spin - abs(h))) for i, h in enumerate(self._field) if h]
        return Network.markov(dict.fromkeys(names, 2), factors, independent_parts=True, **options)
