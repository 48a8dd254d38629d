"""What a guard allows, fixed when it opens and written into the first entry of its ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal, Self, cast

from holdfast.accounting import GDP, BasicFilter, Cost, Filter, PureDP, ZCDPFilter
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.interval.open_end import MOST_OPEN
from holdfast.bounds.numerics.exact import decimal_fraction, float_down, float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.guard.columns import declared_columns
from holdfast.guard.questions.base import Question
from holdfast.guard.scoring.board import Board, checked_boards
from holdfast.holdout.error_budget import ErrorBudget, reserve_parts

Accounting = Literal["filter", "odometer"]
Answers = Literal["mixed", "means"]
Plan = Literal["identical", "independent", "open", "earlier"]
Cap = Literal["best", "earlier"]
Holdout = Literal["guess-and-check", "thresholdout"]
Repeats = Literal["asker", "everyone"]
Histories = Literal["together", "separate"]

PRIVATE = tuple(kind for kind, made in Question.kinds().items() if made.answered == "private")
"""Kinds of this package that are answered only with noise, at a privacy cost."""
SCORE = "score"
"""Predictions scored on a board, without noise: allowed where the policy has boards."""

_LONGEST_NAME = 200


@dataclass(frozen=True)
class Policy:
    """The rules of a guard: its confidence, its privacy budget, how many questions it answers, who may ask, and until
    when.

    Parameters
    ----------
    confidence : float
        Probability that every interval the guard ever gives holds, all analysts and kinds of question together.
    privacy : PureDP, ZCDP or GDP, optional
        What all questions with noise (differentially private queries) together may cost. Without it only noiseless
        questions are answered. Where private and noiseless questions are mixed, every interval pays for the whole of
        it from the first question on (`docs/guard-proof.md`), and a pure cap is much the cheaper one: the proof for
        zCDP goes through (epsilon, delta). With `answers="means"` it is a GDP, a ceiling on what the planned noise
        may cost: where a narrower plan spends less, less is spent.
    accounting : str
        "filter": a cost beyond the cap is refused. "odometer": no cost is refused; `privacy` is then the unit of a
        doubling series of caps, and an interval pays for the first of them that holds what was spent.
    answers : str
        "mixed" (default), or "means": bounded means only, by `GaussianAnswers`, whose intervals are the narrowest known
        for many means. It needs `questions`, unless the plan is "open". Checks, claims and comparisons are then read
        off a noisy mean each.
    plan : str
        What the plan of `answers="means"` depends on: "identical" (default), rows independent and identically
        distributed; "independent", rows independent, each of its own distribution; "open", rows as for "identical" and
        no number of questions to commit to: means only, with intervals that grow with their number, up to 100,000;
        "earlier", the plan of guards from before Theorem D, with which they go on.
    cap : str
        How the plan of means under a privacy cap is searched: "best" (default), or "earlier", the first such search,
        with which guards go on that were opened with it.
    questions, failures : int, optional
        Caps on the questions and on failed checks that show a value, fixed and enforced. With planned questions each
        may use the same part of the failure probability; without, they follow a series that never ends.
    final : float, optional
        Part of the failure probability that is kept for one final, which shows exact values and ends the run. By
        default one half where `kinds` allows a final, and nothing where it does not.
    reserve : float or sequence of float
        Part of the rows that no question before the final reads, drawn when the guard is opened; a list has one part
        for each phase. It needs a row key, `reserve_by`, or boards, whose key it then is. With a board it makes a
        contest: submissions are kept, and `contest_final` compares them on the reserved rows. There is one board then.
    reserve_by : str, optional
        The column whose values belong together: rows of one value go to the reserve as a whole.
    histories : str
        "together" (default): all analysts are one adversary, who may share what they were answered. "separate": they do
        not share answers, which every answer repeats as an assumption; then each has a part of the failure probability,
        by their share in `analysts`, and nobody's failed checks widen another's intervals.
    spend : PureDP or ZCDP, optional
        The cost of a private question that names none.
    holdout : str
        Who answers checks: "guess-and-check" (default), without noise, or "thresholdout", Figure 1 of Dwork et al.
        2015, whose noisy threshold the ledger keeps as a secret. It needs a pure cap and the three that follow.
    threshold : float, optional
        For Thresholdout: how far guess and sample may be apart, as a share of the range.
    overfits : int, optional
        For Thresholdout: how many guesses may be answered by a noisy value before it answers no more.
    holdout_spend : PureDP, optional
        For Thresholdout: what its whole run may cost. It is taken from `privacy` when the guard is opened.
    kinds : sequence of str, optional
        Kinds of question allowed (docs/questions.md). If not given: all that are answered without noise, `score` where
        there are boards, and those that are answered with noise where there is `privacy`.
    analysts : mapping, optional
        Names and their shares, in (0, 1], of the privacy cap and of the questions. Shares may add up to more than 1:
        the whole is kept in any case. Without it any name may ask, up to the whole. Where histories are separate the
        analysts must be named, and their shares add up to at most 1.
    expires : datetime or str, optional
        When the guard stops answering; a time without a zone is read as UTC.
    repeats : str
        For whom a question that was answered before is free. "asker" (default): for the analyst who asked it; anybody
        else who asks the same pays for it and gets an answer of their own, so that nobody learns what others asked.
        "everyone": the stored answer comes back to whoever asks the same, free, and tells them that it was asked. The
        same question of k analysts is then paid for once, and not k times. Submissions to boards are always their
        analyst's own.
    boards : sequence of Board, optional
        What submitted predictions are scored by (docs/leaderboard.md). They are part of what the ledger was opened
        with, so none changes silently.
    columns : mapping, optional
        What is declared in public about columns: `{"age": {"low": 0, "high": 120}, "sex": {"categories": ["f", "m"]}}`.
        Questions about these columns need not give ranges and categories, and SQL statements take them from here.
    all_private : bool
        Whether everything that is released costs privacy, and so at most `privacy` in all: nothing is answered without
        noise then, no guess of a quantile or a table either, and no end of the run shows exact values.

    Examples
    --------
    >>> policy = Policy(privacy=PureDP(0.1), spend=PureDP(0.001), analysts={"ann": 0.5})
    >>> Policy.from_dict(policy.to_dict()) == policy
    True
    >>> policy.filter("ann").remaining()
    {'epsilon': 0.05, 'delta': 0.0}
    """

    confidence: float = 0.95
    privacy: Cost | None = None
    accounting: Accounting = "filter"
    answers: Answers = "mixed"
    questions: int | None = None
    failures: int | None = None
    spend: Cost | None = None
    kinds: tuple[str, ...] | None = None
    analysts: Mapping[str, float] | None = field(default=None, hash=False)
    expires: str | None = None
    holdout: Holdout = "guess-and-check"
    threshold: float | None = None
    overfits: int | None = None
    holdout_spend: Cost | None = None
    boards: Sequence[Board] | None = None
    repeats: Repeats = "asker"
    final: float | None = None
    reserve: float | Sequence[float] = 0.0
    reserve_by: str | None = None
    histories: Histories = "together"
    plan: Plan = "identical"
    cap: Cap = "best"
    columns: Mapping[str, Any] | None = field(default=None, hash=False)
    all_private: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "confidence", arguments.probability("confidence", self.confidence))
        arguments.choice("accounting", self.accounting, ("filter", "odometer"))
        arguments.choice("answers", self.answers, ("mixed", "means"))
        arguments.choice("repeats", self.repeats, ("asker", "everyone"))
        arguments.choice("plan", self.plan, ("identical", "independent", "open", "earlier"))
        arguments.choice("cap", self.cap, ("best", "earlier"))
        for name, least in (("questions", 1), ("failures", 0)):
            value: Any = getattr(self, name)
            put(self, name, None if value is None else arguments.whole(name, value, at_least=least))
        put(self, "reserve", reserve_parts(self.reserve))
        self._check_costs()
        self._check_all_private()
        self._check_holdout()
        put(self, "boards", self._check_boards())
        put(self, "kinds", _kinds(self.kinds, self._allowed()))
        put(self, "analysts", None if self.analysts is None else MappingProxyType(_shares(self.analysts)))
        put(self, "expires", None if self.expires is None else _instant(self.expires))
        put(self, "columns", None if self.columns is None else MappingProxyType(declared_columns(self.columns)))
        self._check_finals()
        self._check_histories()
        self._check_number_of_means()

    def _check_number_of_means(self) -> None:
        if self.plan == "open" and (self.answers != "means" or (self.questions or MOST_OPEN) > MOST_OPEN):
            raise InvalidParameter(
                f"plan must be 'open' only together with answers='means' and at most {MOST_OPEN:,} questions, got "
                f"answers={self.answers!r} and questions={self.questions!r}"
            )
        if self.answers == "means" and self.questions is None:
            if self.plan != "open":
                raise InvalidParameter(
                    "answers='means' must be given together with questions, because noise and intervals depend on "
                    "the number of questions; plan='open' needs no such number, and its intervals widen with each "
                    "question"
                )
            object.__setattr__(self, "questions", MOST_OPEN)

    def _allowed(self) -> tuple[str, ...]:
        """The kinds that can be asked under these budgets: noiseless ones first, then those that need privacy.

        Thresholdout promises privacy for checks too, and a run's end would show their exact values.
        """
        kinds = Question.kinds()
        if self.answers == "means":
            planned = tuple(kind for kind, made in kinds.items() if made.under_means)
            # with an open end nobody knows yet how wide the interval of a check will be
            return ("mean",) if self.plan == "open" else planned
        private = tuple(kind for kind, made in kinds.items() if made.answered == "private")
        boards = tuple(kind for kind, made in kinds.items() if made.needs_board)
        contest = tuple(kind for kind, made in kinds.items() if made.needs_contest)
        ends = tuple(kind for kind, made in kinds.items() if made.ends_run and self.holdout == "thresholdout")
        noiseless = tuple(kind for kind in kinds if kind not in (*private, *boards, *contest, *ends))
        if self.all_private:
            checks = ("check",) if self.holdout == "thresholdout" else ()
            noiseless = tuple(kind for kind in noiseless if kind in checks or kinds[kind].answered == "either")
        board_kinds = () if self.boards is None else boards
        contest_kinds = contest if self.has_contest else ()
        return noiseless + board_kinds + contest_kinds + (private if self.privacy else ())

    @property
    def has_contest(self) -> bool:
        """Whether the policy has leaderboards with a final on rows that are reserved for it."""
        return self.boards is not None and bool(self.reserve_parts) and self.holdout == "guess-and-check"

    def require_contest(self) -> None:
        """Raise an error if a new guard with this policy could not hold its contest. Existing ledgers with such
        policies can still be read.
        """
        if not self.has_contest:
            return
        if len(self.boards or ()) > 1:
            raise InvalidParameter(
                f"boards must have one entry if rows are reserved for a final, got {len(self.boards or ())}: the "
                "reserved rows can be used for one final in each phase, so the final of one board would end the "
                "contests of the others; show more metrics of the same board with also=, or open a guard with other "
                "rows for each board"
            )
        for board in self.boards or ():
            if board.rule != "open" and self.final == 1:
                rule = "ladder" if board.rule == "ladder" else "checked"
                raise InvalidParameter(
                    f"final must be below 1 for the board {board.name!r}, whose rule is {rule}, because scores before "
                    "the final need a part of the failure probability; `holdfast plan --workflow contest` proposes "
                    "0.9, and the rule open shows plain scores, which need none"
                )

    def _check_finals(self) -> None:
        put = object.__setattr__
        final = self.final if self.final is not None else 0.5 if has_final(self.kinds) else 0.0
        put(self, "final", arguments.real("final", final, at_least=0, at_most=1))
        if self.reserve_parts and not self.final:
            raise InvalidParameter(
                "final must be above 0 if rows are reserved, because the final on these rows needs that part of the "
                "failure probability"
            )
        for board in self.boards or ():
            if board.rule == "open" and not self.has_contest:
                raise InvalidParameter(
                    f"reserve must be above 0 for the board {board.name!r}, whose rule is open: its plain scores are "
                    "not certified, and the final needs rows from which no score was computed"
                )
            if board.by is not None and not self.has_contest:
                raise InvalidParameter(
                    f"reserve must be above 0 for the board {board.name!r}, which has by: scores in groups are shown "
                    "at the final, on rows that are reserved for it"
                )
        for board in self.boards or ():
            if board.groups is not None and self.reserve_by not in (None, board.groups) and self.reserve_parts:
                raise InvalidParameter(
                    f"reserve_by must be {board.groups!r}, the column of groups of the board {board.name!r}, or be "
                    "left out, because each group of rows is reserved as a whole"
                )
            if board.groups is not None and self.privacy is not None:
                raise InvalidParameter(
                    f"privacy must be left out, because the board {board.name!r} has groups: noise protects single "
                    "rows, and the privacy of groups is not accounted for"
                )
        if self.reserve_by is not None and (not isinstance(self.reserve_by, str) or not self.reserve_parts):
            raise InvalidParameter("reserve_by must be the name of a column, and must be given together with reserve")

    def _check_histories(self) -> None:
        arguments.choice("histories", self.histories, ("together", "separate"))
        if self.histories == "together":
            return
        if self.analysts is None or sum(map(decimal_fraction, self.analysts.values())) > 1:
            raise InvalidParameter(
                "analysts must be given if histories are separate, with quotas that add up to at most 1, because "
                "each analyst gets that part of the failure probability"
            )
        few = [name for name in self.analysts if self.most_questions(name) == 0]
        if few:
            raise InvalidParameter(
                "analysts must each have a quota of at least one question if histories are separate; the quota of "
                f"{few[0]!r} is less than one of the {self.questions} questions"
            )
        wrong = {
            "boards": self.boards is not None,
            "repeats": self.repeats == "everyone",
            "answers": self.answers == "means",
            "holdout": self.holdout == "thresholdout",
            "accounting": self.accounting == "odometer",
        }
        named = [name for name, is_wrong in wrong.items() if is_wrong]
        if named:
            raise InvalidParameter(
                f"{named[0]} must have its default value if histories are separate, because all analysts would see "
                "what it shows"
            )

    @property
    def reserve_parts(self) -> tuple[float, ...]:
        """The proportions of the rows that are reserved, one for each phase."""
        return cast(tuple[float, ...], self.reserve)  # it was made that when the policy was checked

    def error_budget(self, analyst: str | None = None) -> ErrorBudget:
        """Return the plan that divides the failure probability among questions: for all analysts together, or for one
        analyst if histories are separate.
        """
        separate = self.histories == "separate" and analyst is not None
        return _error_budget(
            self.confidence,
            self.most_questions(analyst) if separate else self.questions,
            self.final or 0.0,
            len(self.reserve_parts),
            self.share(analyst) if separate and analyst is not None else 1.0,
        )

    def quota(self, analyst: str | None = None) -> Cost | None:
        """Return the privacy budget that intervals account for: the total budget, or one analyst's part of it if
        histories are separate.
        """
        if self.histories == "together" or analyst is None or self.privacy is None:
            return self.privacy
        part = decimal_fraction(self.share(analyst))
        match self.privacy:
            case PureDP(epsilon):
                return PureDP(float_up(decimal_fraction(epsilon) * part))
            case ZCDP(rho):
                return ZCDP(float_up(decimal_fraction(rho) * part))
        return self.privacy

    def _check_costs(self) -> None:
        if self.answers == "means":
            self._check_cap_of_means()
            return
        for name in ("privacy", "spend"):
            cost = getattr(self, name)
            if cost is not None and (not isinstance(cost, (PureDP, ZCDP)) or cost.is_zero):
                means = "; a GDP caps the noise of answers='means'" if isinstance(cost, GDP) else ""
                raise InvalidParameter(f"{name} must be a positive PureDP or ZCDP, got {cost!r}{means}")
        if self.spend is not None and self.privacy is None:
            raise InvalidParameter("spend must be None if the policy has no privacy budget")
        if isinstance(self.privacy, PureDP) and isinstance(self.spend, ZCDP):
            raise InvalidParameter(
                "spend must be a PureDP if the privacy budget is a PureDP, got a ZCDP, whose cost a PureDP budget "
                "cannot limit"
            )
        if self.accounting == "odometer" and self.privacy is None:
            raise InvalidParameter(
                "privacy must be given if accounting is 'odometer', which counts privacy costs in units of it"
            )

    def _check_all_private(self) -> None:
        if not isinstance(self.all_private, bool):
            raise InvalidParameter(f"all_private must be true or false, got a {type(self.all_private).__name__}")
        if self.all_private and (self.privacy is None or self.boards is not None):
            raise InvalidParameter(
                "all_private must be given together with privacy, which limits the cost of everything that is "
                "released, and without boards, because scores have no noise"
            )

    def _check_cap_of_means(self) -> None:
        """A cap of planned noise is Gaussian, and the plan alone decides how it is spent."""
        if self.privacy is not None and (not isinstance(self.privacy, GDP) or self.privacy.is_zero):
            raise InvalidParameter(
                "privacy must be a positive GDP with answers='means', because the noise of the means is Gaussian, "
                f"got {self.privacy!r}; `holdfast bound composition.gdp-to-dp --mu 0.0275 --delta 1e-6` converts a mu "
                "to an epsilon"
            )
        wrong = {
            "spend": self.spend is not None,
            "accounting": self.accounting != "filter",
            "plan": self.privacy is not None and self.plan in ("earlier", "open"),
        }
        named = [name for name, is_wrong in wrong.items() if is_wrong]
        if named:
            raise InvalidParameter(
                f"{named[0]} must have its default value with answers='means', because the plan fixes the noise of "
                "every answer"
            )

    def _check_holdout(self) -> None:
        arguments.choice("holdout", self.holdout, ("guess-and-check", "thresholdout"))
        given = {name: getattr(self, name) for name in ("threshold", "overfits", "holdout_spend")}
        if self.holdout == "guess-and-check":
            named = [name for name, value in given.items() if value is not None]
            if named:
                raise InvalidParameter(f"{named[0]} must be left out unless holdout is 'thresholdout'")
            return
        missing = [name for name, value in given.items() if value is None]
        if missing:
            raise InvalidParameter(f"{missing[0]} must be given if holdout is 'thresholdout'")
        if not isinstance(self.holdout_spend, PureDP) or self.holdout_spend.is_zero:
            raise InvalidParameter(f"holdout_spend must be a positive PureDP, got {self.holdout_spend!r}")
        if not isinstance(self.privacy, PureDP) or self.privacy.epsilon < self.holdout_spend.epsilon:
            raise InvalidParameter(
                "privacy must be a PureDP of at least holdout_spend, because the cost of the whole run of "
                "Thresholdout is charged when the guard is opened"
            )
        put = object.__setattr__
        put(self, "threshold", arguments.real("threshold", self.threshold, at_least=0, at_most=1))
        put(self, "overfits", arguments.whole("overfits", self.overfits, at_least=1, at_most=10**6))

    def _check_boards(self) -> tuple[Board, ...] | None:
        boards = checked_boards(self.boards)
        if boards is not None and self.answers == "means":
            raise InvalidParameter(
                "boards must be left out with answers='means', because such a guard answers only means"
            )
        if boards is not None and self.confidence <= 0.5:
            # Clopper-Pearson's limits hold for rows that are not alike while each tail is below 1/4.
            raise InvalidParameter(f"confidence must be above 0.5 if the policy has boards, got {self.confidence:g}")
        return boards

    def board(self, name: Any) -> Board:
        """Return the leaderboard with this name. `InvalidParameter` is raised if there is none."""
        for board in self.boards or ():
            if board.name == name:
                return board
        known = ", ".join(board.name for board in self.boards or ()) or "none"
        raise InvalidParameter(
            f"board must be the name of one of the policy's leaderboards ({known}), got {str(name)[:60]!r}"
        )

    @cached_property
    def has_looks(self) -> bool:
        """Whether questions that are answered without noise may be asked. With `answers="means"` all answers have
        noise, even those of checks.
        """
        if self.answers == "means" or self.all_private:
            return False
        noisy = ("check",) if self.holdout == "thresholdout" else ()
        known = Question.kinds()
        return any(known[kind].answered != "private" and kind not in noisy for kind in self.kinds or ())

    def share(self, analyst: str) -> float:
        """Return the quota of an analyst, as a part of the total budget. `InvalidParameter` is raised for a name that
        is not in the policy.
        """
        if not self.knows(analyst):
            raise InvalidParameter(
                f"analyst must be a name that the policy lists, got {analyst!r}; ask under such a name, with "
                "for_analyst(name) or --analyst NAME"
            )
        return 1.0 if self.analysts is None else self.analysts[analyst]

    def knows(self, analyst: str) -> bool:
        """Return whether an analyst with this name may ask questions. A steward whom the policy does not name
        may still end a run, although `knows` is false for them.

        Examples
        --------
        >>> Policy(analysts={"ann": 0.5}).knows("bob"), Policy().knows("bob")
        (False, True)
        """
        if not isinstance(analyst, str) or not analyst or len(analyst) > _LONGEST_NAME or not analyst.isprintable():
            raise InvalidParameter(f"analyst must be a printable name of at most {_LONGEST_NAME} characters")
        return self.analysts is None or analyst in self.analysts

    def filter(self, analyst: str | None = None) -> Filter | None:
        """Return a new privacy filter for the total privacy budget, or for one analyst's quota. None if the policy has
        no privacy budget, or if it counts privacy with an odometer, which refuses nothing.

        None also for a steward whom the policy does not name, because such a steward asks no questions with noise.
        """
        if self.privacy is None or self.accounting == "odometer" or not (analyst is None or self.knows(analyst)):
            return None
        part = decimal_fraction(1.0 if analyst is None else self.share(analyst))
        match self.privacy:
            case PureDP(epsilon):
                return BasicFilter(float_down(decimal_fraction(epsilon) * part) if part < 1 else epsilon)
            case ZCDP(rho):
                return ZCDPFilter(float_down(decimal_fraction(rho) * part) if part < 1 else rho)
        return None

    def most_questions(self, analyst: str | None = None) -> int | None:
        """Return how many questions may be asked in total, or by one analyst. An analyst whom the policy does not name
        may ask none.
        """
        if analyst is not None and not self.knows(analyst):
            return 0
        if self.questions is None:
            return None
        share = 1.0 if analyst is None else self.share(analyst)
        return self.questions if share == 1.0 else int(decimal_fraction(share) * self.questions)

    def expired(self, now: datetime | None = None) -> bool:
        """Return whether the time at which the guard expires has passed."""
        return self.expires is not None and (now or datetime.now(UTC)) >= datetime.fromisoformat(self.expires)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        plain: dict[str, Any] = {
            "confidence": self.confidence,
            "privacy": None if self.privacy is None else self.privacy.to_dict(),
            "accounting": self.accounting,
            "answers": self.answers,
            "questions": self.questions,
            "failures": self.failures,
            "spend": None if self.spend is None else self.spend.to_dict(),
            "kinds": list(self.kinds or ()),
            "analysts": None if self.analysts is None else dict(self.analysts),
            "expires": self.expires,
            "holdout": self.holdout,
            "threshold": self.threshold,
            "overfits": self.overfits,
            "holdout_spend": None if self.holdout_spend is None else self.holdout_spend.to_dict(),
            "boards": None if self.boards is None else [board.to_dict() for board in self.boards],
            "repeats": self.repeats,
            "final": self.final,
            "reserve": list(self.reserve_parts),
            "reserve_by": self.reserve_by,
            "histories": self.histories,
            "plan": self.plan,
        }
        # ledgers that were written before there were capped plans or declarations have no such entries
        if self.answers == "means" and self.privacy is not None:
            plain["cap"] = self.cap
        if self.columns is not None:
            plain["columns"] = {name: column.to_dict() for name, column in self.columns.items()}
        if self.all_private:
            plain["all_private"] = True
        return plain

    @classmethod
    def stored(cls, plain: Mapping[str, Any]) -> Self:
        """Read a policy that a guard wrote to its ledger. Fields that earlier versions did not have get the values that
        describe how those versions behaved.

        Examples
        --------
        >>> before = {name: value for name, value in Policy().to_dict().items() if name not in ("repeats", "final")}
        >>> found = Policy.stored(before)
        >>> found.repeats, found.final, Policy.stored(Policy().to_dict()).final
        ('everyone', 0.0, 0.5)
        """
        before: dict[str, Any] = {"repeats": "everyone", "final": 0.0, "plan": "earlier"}
        if isinstance(plain, Mapping) and plain.get("answers") == "means" and plain.get("privacy") is not None:
            before["cap"] = "earlier"
        return cls.from_dict(before | dict(plain) if isinstance(plain, Mapping) else plain)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a policy from the plain data that `to_dict()` returned, or from the content of a policy file that a
        steward wrote.
        """
        if not isinstance(plain, Mapping):
            raise InvalidParameter(
                f"a policy must be a mapping from names of fields to values, got a {type(plain).__name__}"
            )
        known = cls.__dataclass_fields__
        unknown = [str(name) for name in plain if name not in known]
        if unknown:
            raise InvalidParameter(f"a policy has no field {', '.join(unknown)}; its fields are {', '.join(known)}")
        values = dict(plain)
        for name in ("privacy", "spend", "holdout_spend"):
            if values.get(name) is not None:
                if not isinstance(values[name], Mapping):
                    raise InvalidParameter(f"{name} must be a cost such as {{'kind': 'pure-dp', 'epsilon': 0.1}}")
                values[name] = Cost.from_dict(dict(values[name]))
        return cls(**values)


@lru_cache(maxsize=256)
def _error_budget(confidence: float, questions: int | None, final: float, phases: int, factor: float) -> ErrorBudget:
    """A plan; kept, because it is asked for several times a question."""
    return ErrorBudget(confidence, questions, final, phases, factor=factor)


def has_final(kinds: Sequence[str] | None) -> bool:
    """Whether a final is among some kinds.

    Examples
    --------
    >>> has_final(["check", "contest_final"]), has_final(["check", "close"])
    (True, False)
    """
    known = Question.kinds()
    return any(known[kind].is_final for kind in kinds or ())


def _kinds(kinds: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    if kinds is None:
        return allowed
    if isinstance(kinds, str) or not isinstance(kinds, (list, tuple)) or not kinds:
        raise InvalidParameter(f"kinds must be a list of kinds of question, out of {', '.join(allowed)}")
    for kind in kinds:
        arguments.choice("kinds", kind, allowed)
    return tuple(dict.fromkeys(kinds))


def _shares(analysts: Any) -> dict[str, float]:
    if not isinstance(analysts, Mapping) or not analysts:
        raise InvalidParameter(
            "analysts must be a mapping from names to quotas, which are numbers above 0 and at most 1"
        )
    for name in analysts:
        if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidParameter(f"analysts must have printable names of at most {_LONGEST_NAME} characters")
    return {name: arguments.probability("analysts", share, one=True) for name, share in analysts.items()}


def _instant(when: Any) -> str:
    """A time as ISO text in UTC."""
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise InvalidParameter(f"expires must be a time such as 2030-01-31T12:00, got {when!r}") from None
    if not isinstance(when, datetime):
        raise InvalidParameter(f"expires must be a time, got a {type(when).__name__}")
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    try:
        return aware.astimezone(UTC).isoformat()
    except OverflowError:
        raise InvalidParameter("expires must be a time that is in the years 1 to 9999 in UTC") from None
