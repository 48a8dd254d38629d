"""Models that list the quilts of each record: the pruned search of 2.3 of the specification finds the best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from holdfast import check
from holdfast.correlated.model import QuiltModel, check_record
from holdfast.correlated.quilt import Quilt, Surcharge, check_surcharge


class ListedModel(QuiltModel):
    """A model that gives `quilts(record)`; every search follows. Listing fewer quilts is always safe.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> Blocks([4, 3]).best_quilt(0, 1.0)
    Quilt(record=0, quilt=(), nearby=Between(start=0, stop=4, without=0), influence=0.0, size=4, sharp=0.0)
    """

    @abstractmethod
    def quilts(self, record: int) -> Iterable[Quilt]:
        """Quilts of `record` by increasing size; the trivial one (no surcharge) must be among them."""

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` that maximises `(epsilon - surcharge) / size`.

        The search stops at the size that could not win even without a surcharge. Ties go to the first, which is the
        smallest.
        """
        epsilon = check.real("epsilon", epsilon, above=0)
        rule, best, level = check_surcharge(surcharge), None, 0.0
        for quilt in self.quilts(check_record(record, self.n)):
            if best is not None and epsilon <= quilt.size * level:
                break
            here = quilt.epsilon_dp(epsilon, rule)
            if best is None or here > level:
                best, level = quilt, here
        assert best is not None, "every record has its trivial quilt"
        return best

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` that minimises `size * epsilon_dp + surcharge`: the other direction of `best_quilt`."""
        epsilon_dp = check.real("epsilon_dp", epsilon_dp, above=0)
        rule, best, level = check_surcharge(surcharge), None, 0.0
        for quilt in self.quilts(check_record(record, self.n)):
            if best is not None and quilt.size * epsilon_dp >= level:
                break
            here = quilt.epsilon_bdp(epsilon_dp, rule)
            if best is None or here < level:
                best, level = quilt, here
        assert best is not None, "every record has its trivial quilt"
        return best

    def markov_quilt(self, epsilon: float) -> Quilt:
        """The worst record's best quilt for the Markov Quilt Mechanism, another notion of privacy (see `conversion`).

        One times the influence is charged. The influence of a quilt here is the maximum over what is known nearby, so
        the result is safe for that notion too.
        """
        epsilon = check.real("epsilon", epsilon, above=0)

        def price(quilt: Quilt) -> float:
            left = epsilon - quilt.influence
            return quilt.size / left if left > 0 else float("inf")

        return max((min(self.quilts(record), key=price) for record in range(self.n)), key=price)


__all__ = ["ListedModel"]
