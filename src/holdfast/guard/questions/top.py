"""The kind `top`: the most frequent declared categories of a column, by noisy counts of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.accounting import Cost
from holdfast.core import arguments
from holdfast.data.schema import Schema
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.fields import CategoriesInput, ColumnInput, NumberInput, Spend, Where
from holdfast.guard.questions.groups import Groups, groups_of
from holdfast.guard.questions.noisy import spend_of
from holdfast.guard.questions.table import ShareTable, condition_of

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Top(Question):
    """Ask for the most frequent declared categories of a column, with the proportion of rows in each.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"city": ["a"] * 9000 + ["b"] * 6000 + ["c"] * 100})
    >>> one = hf.accounting.PureDP(0.1)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=one, spend=one))
    >>> answer = guard.ask(hf.guard.top("city", 2, categories=["a", "b", "c"]))
    >>> sorted(answer.value), answer.details["certain"]
    (['a', 'b'], ['a', 'b'])
    """

    kind: ClassVar[str] = "top"
    title: ClassVar[str] = "Most frequent"
    purpose: ClassVar[str] = "The most frequent declared categories of a column, with noise. One price for all."
    answered = "private"
    place: ClassVar[int] = 23
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "top", "column": "arm", "k": 1, "categories": ["drug", "none"]}

    column: Annotated[
        str,
        ColumnInput(
            label="Column",
            help="The column whose categories are counted. They must be declared, here or in the policy or schema.",
            argument=True,
        ),
    ]
    k: Annotated[
        int,
        NumberInput(label="How many", help="How many categories to show.", argument=True, placeholder="3", at_least=1),
    ]
    categories: Annotated[
        Sequence[Any] | None,
        CategoriesInput(
            label="Categories, with commas",
            help="All categories of the column, separated by commas (default: those that the policy or schema "
            "declares).",
            metavar="A,B,C",
        ),
    ] = None
    where: Annotated[
        Where, "A condition: only rows that meet it are counted. Proportions are still proportions of all rows."
    ] = None
    spend: Spend = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        groups = groups_of(self.column, schema, policy.columns, None if self.categories is None else [self.categories])
        many = len(groups.labels)
        k = arguments.whole("k", self.k, at_least=1, at_most=many)
        where = condition_of(self.where, schema)
        return TopShares(groups, where, spend_of(self.spend, policy), n, schema, k)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the column and the number of categories."""
        return f"the {asked['k']} most frequent of {asked['by'][0]}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says which categories are shown, and which of them certainly are among the most
        frequent.
        """
        certain = answer["details"]["certain"]
        sure = f"certainly among the {asked['k']} most frequent of the population" if certain else ""
        return (
            f"{', '.join(certain)}: {sure}. The others that are shown are so by their noisy counts alone."
            if certain
            else "None is certain to be among the most frequent of the population; these are so by their noisy counts."
        )


class TopShares(ShareTable):
    """Noisy counts of all categories, of which the largest are shown: the choice is a function of what was paid for.

    A category is certainly among the `k` most frequent of the population where fewer than `k` others can have as large
    a share. The intervals of all categories hold together, so this holds wherever they do.
    """

    def __init__(self, groups: Groups, where: Any, cost: Cost, n: int, schema: Schema, k: int) -> None:
        super().__init__(groups, where, cost, n, schema)
        self.question = {**self.question, "kind": "top", "k": k}
        self._k = k

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the categories with the largest noisy counts; ties go to the first declared."""
        settled = super().settle(prepared, situation)
        ends = settled.interval
        chosen = sorted(self._groups.labels, key=lambda label: -settled.value[label])[: self._k]
        certain = [
            label
            for label in self._groups.labels
            if sum(ends[other][1] >= ends[label][0] for other in ends if other != label) < self._k
        ]
        about = settled.details["about_rows"]
        details = {
            "order": chosen,
            "certain": certain,
            "counts": {label: settled.details["counts"][label] for label in chosen},
            "about_rows": {**about, "interval": {label: about["interval"][label] for label in chosen}},
        }
        return replace(
            settled,
            value={label: settled.value[label] for label in chosen},
            interval={label: ends[label] for label in chosen},
            details=details,
        )
