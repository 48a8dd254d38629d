from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting.costs import PureDP
from holdfast.bounds import catalogue
from holdfast.bounds.conversions import pure_to_zcdp
from holdfast.bounds.mechanism import gaussian_width, laplace_width
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.bounds.sparse_vector import numeric_sparse_scales, sparse_vector_epsilon, sparse_vector_split
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import (
    GaussianSparseVector,
    SparseVector,
    above_threshold,
    numeric_sparse,
    sparse,
    sparse_vector,
)
from holdfast.mechanisms.base import Mechanism
from holdfast.noise import Grid, Seeded
from tests.mechanisms.statistics import fits
from tests.mechanisms.zoo import STEP, Sparse, max_log_ratio, pmf

WHOLE = Grid(0)
FORMS = {
    "above-threshold": above_threshold(0, STEP, 1, grid=WHOLE),
    "sparse": sparse(0, STEP, 1, 3, grid=WHOLE),
    "lyu-su-li": sparse_vector(0, STEP, 1, 3, grid=WHOLE),
    "lyu-su-li-refresh": sparse_vector(0, STEP, 1, 3, refresh=True, grid=WHOLE),
    "lyu-su-li-monotone": sparse_vector(0, STEP, 1, 3, monotone=True, grid=WHOLE),
    "refresh-monotone": sparse_vector(0, STEP, 1, 2, refresh=True, monotone=True, grid=WHOLE),
    "wide-epsilon": sparse_vector(0, STEP, 3, 2, grid=WHOLE),
}


def member(mechanism: SparseVector) -> Sparse:
    """The zoo's twin, whose distribution is known exactly."""
    threshold, question = (law.scale_steps for law in mechanism.laws[:2])
    return Sparse(threshold, question, mechanism.cap, "above" if mechanism.refresh else "never")


def shifts(mechanism: SparseVector, questions: int) -> list[tuple[int, ...]]:
    if mechanism.monotone:
        return list(itertools.product((0, STEP), repeat=questions))
    return list(itertools.product((-STEP, 0, STEP), repeat=questions))


class TestExactLaw:
    @pytest.mark.parametrize("name", FORMS)
    @pytest.mark.parametrize("start", [(0, 0, 0, 0), (-40, 8, 30, -12), (-60, -60, -60, 40)])
    def test_no_neighbour_exceeds_epsilon(self, name: str, start: tuple[int, ...]) -> None:
        mechanism = FORMS[name]
        law = member(mechanism).law(start)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12)
        worst = 0.0
        for shift in shifts(mechanism, len(start)):
            moved = member(mechanism).law(np.add(start, shift))
            worst = max(worst, max_log_ratio(law, moved))
        assert worst <= float(mechanism.exact_epsilon) + 1e-10
        assert worst > 0.2 * float(mechanism.exact_epsilon)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.sampled_from([name for name, form in FORMS.items() if not form.monotone]),
        st.lists(st.tuples(st.integers(-100, 100), st.integers(-STEP, STEP)), min_size=1, max_size=7),
    )
    def test_no_neighbour_exceeds_epsilon_anywhere(self, name: str, cells: list[tuple[int, int]]) -> None:
        twin = member(FORMS[name])
        first = twin.law([value for value, _ in cells])
        second = twin.law([value + shift for value, shift in cells])
        assert max_log_ratio(first, second) <= float(FORMS[name].exact_epsilon) + 1e-10

    @pytest.mark.parametrize(
        "mechanism",
        [
            above_threshold(0, STEP, 1, grid=WHOLE),
            sparse(0, STEP, 1, 2, grid=WHOLE),
            sparse_vector(0, STEP, 1, 1, grid=WHOLE),
            sparse_vector(0, STEP, 1, 2, grid=WHOLE),
            sparse_vector(0, STEP, 1, 2, monotone=True, grid=WHOLE),
        ],
    )
    def test_the_bound_is_attained(self, mechanism: SparseVector) -> None:
        # Many questions at the threshold that move up, then some far below that move down, or do not move where all
        # must move up: no slack is left.
        up, down = (0, STEP), (-12 * STEP, -12 * STEP if mechanism.monotone else -13 * STEP)
        epochs, above = (mechanism.cap, 1) if mechanism.refresh else (1, mechanism.cap)
        first, second = (member(mechanism).law(([up[i]] * 30 + [down[i]] * above) * epochs) for i in (0, 1))
        assert max_log_ratio(first, second) > 0.9999 * float(mechanism.exact_epsilon)

    def test_monotone_noise_is_too_small_for_other_questions(self) -> None:
        mechanism = sparse_vector(0, STEP, 1, 1, monotone=True, grid=WHOLE)
        first = member(mechanism).law([0] * 6)
        second = member(mechanism).law([STEP] * 5 + [-STEP])
        assert max_log_ratio(first, second) > 1.3


class TestSampling:
    VALUES = (-6, 10, 3, -20, 14)

    @pytest.mark.parametrize("name", ["above-threshold", "sparse", "lyu-su-li", "lyu-su-li-refresh"])
    def test_replicate_batch_and_single_questions_have_the_exact_law(self, name: str) -> None:
        mechanism, source = FORMS[name], Seeded(31)
        law = member(mechanism).law(self.VALUES)

        def padded(above: list[bool]) -> tuple[int, ...]:
            return (*map(int, above), *([-1] * (len(self.VALUES) - len(above))))

        def one_by_one() -> list[bool]:
            run = mechanism.start(source)
            answers: list[bool] = []
            for value in self.VALUES:
                if run.exhausted:
                    break
                answers.append(run.ask(value).above)
            return answers

        assert fits(map(tuple, mechanism.replicate(self.VALUES, 100_000, source).tolist()), law)
        batch = [mechanism.release(self.VALUES, source) for _ in range(6_000)]
        assert fits((padded(answers.above.tolist()) for answers in batch), law)
        assert all(answers.exhausted == (answers.above.sum() >= mechanism.cap) for answers in batch)
        assert fits((padded(one_by_one()) for _ in range(6_000)), law)

    def test_the_test_rejects_a_wrong_scale(self) -> None:
        mechanism = FORMS["sparse"]
        wrong = Sparse(*(Fraction(13, 10) * law.scale_steps for law in mechanism.laws), mechanism.cap, "above")
        outcomes = map(tuple, mechanism.replicate(self.VALUES, 100_000, Seeded(32)).tolist())
        assert not fits(outcomes, wrong.law(self.VALUES))

    @pytest.mark.parametrize("way", ["ask", "ask_all", "replicate"])
    def test_released_values_have_fresh_noise_of_their_own_scale(self, way: str) -> None:
        # Given an answer above, the noise of the comparison is biased upwards; the released value has the whole
        # distribution.
        mechanism, source = numeric_sparse(0, STEP, 1, 1, grid=WHOLE), Seeded(33)
        scale = mechanism.laws[2].scale_steps
        assert scale == 9 * STEP
        k = np.arange(-80 * scale, 80 * scale + 1)
        law = dict(zip((5 + k).astype(float).tolist(), pmf(scale, k).tolist(), strict=True))
        if way == "ask":
            shown = [mechanism.start(source).ask(5).value for _ in range(12_000)]
        elif way == "ask_all":
            answers = [mechanism.release([5], source) for _ in range(12_000)]
            shown = [float(a.values[0]) for a in answers if a.values is not None and a.above[0]]
        else:
            shown = mechanism.replicate([5], 100_000, source)[:, 0].tolist()
        values = [v for v in shown if v is not None and np.isfinite(v)]
        assert len(values) > 6000
        assert fits(values, law)

    def test_that_test_rejects_the_compared_value_and_a_wrong_scale(self) -> None:
        k = np.arange(-80 * 9 * STEP, 80 * 9 * STEP + 1)
        law = dict(zip((5 + k).astype(float).tolist(), pmf(9 * STEP, k).tolist(), strict=True))
        for release in ("same", 1, Fraction(117 * STEP, 10)):
            wrong = Sparse(Fraction(9 * STEP, 4), Fraction(9 * STEP, 2), 1, "above", release)  # type: ignore[arg-type]
            shown = wrong.simulate([5], 12_000, Seeded(34))[:, 0]
            assert not fits(shown[np.isfinite(shown)].tolist(), law)

    @pytest.mark.parametrize("name", ["above-threshold", "lyu-su-li"])
    def test_above_means_strictly_above(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        mechanism = FORMS[name]

        def silent(scale: Any, size: int | None = None, *, source: Any = None) -> Any:
            return 0 if size is None else np.zeros(size, dtype=np.int64)

        monkeypatch.setitem(mechanism.__dict__, "noises", mechanism.noises._replace(sampler=silent))
        for value, above in ((-1, False), (0, False), (1, True)):
            assert mechanism.start().ask(value).above is above
            assert mechanism.release([value]).above.tolist() == [above]
            assert (mechanism.replicate([value], 3) == int(above)).all()


class TestParameters:
    def test_published_scales(self) -> None:
        fine = Grid(-40)
        assert above_threshold(0, 1, 0.5, grid=fine).scales == pytest.approx((4, 8))
        assert sparse(0, 1, 0.5, 10, grid=fine).scales == pytest.approx((40, 80))
        assert numeric_sparse(0, 1e-4, 0.2, 10, grid=fine).scales == pytest.approx(
            numeric_sparse_scales(0.2, 10, 1e-4), rel=1e-6
        )
        split = sparse_vector_split(0.5, 10)
        assert sparse_vector(0, 1, 0.5, 10, grid=fine).scales == pytest.approx(
            (1 / split.threshold, 20 / split.questions), rel=2e-3
        )
        split = sparse_vector_split(0.5, 10, questions="monotone")
        assert sparse_vector(0, 1, 0.5, 10, monotone=True, grid=fine).scales == pytest.approx(
            (1 / split.threshold, 10 / split.questions), rel=2e-3
        )

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.floats(1e-6, 100),
        st.floats(1e-3, 20),
        st.integers(1, 10_000),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 0.25]),
    )
    def test_the_sampled_law_never_spends_more_than_declared(
        self, sensitivity: float, epsilon: float, cap: int, refresh: bool, monotone: bool, release: float
    ) -> None:
        mechanism = sparse_vector(
            0.5, sensitivity, epsilon, cap, refresh=refresh, monotone=monotone, release_share=release
        )
        declared = decimal_fraction(epsilon)
        assert mechanism.exact_epsilon <= declared
        assert mechanism.exact_epsilon >= declared * Fraction(998, 1000)
        assert mechanism.cost == PureDP(epsilon)
        spent = sparse_vector_epsilon(
            sensitivity,
            *mechanism.scales[:2],
            cap,
            mechanism.scales[2] if release else None,
            "refresh" if refresh else "single",
            "monotone" if monotone else "any",
        )
        assert spent <= epsilon * (1 + 1e-9)

    def test_concentrated_cost(self) -> None:
        # Thresholdout: rho = B/(sigma n)^2 (specification of the reusable holdout, 3.6), here with the tight conversion
        budget, sigma, n = 50, 0.01, 10_000
        thresholdout = SparseVector(
            0.1, 1 / n, 2 * budget / (sigma * n), budget, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), refresh=True
        )
        assert thresholdout.scales == pytest.approx((2 * sigma, 4 * sigma, sigma), rel=1e-3)
        assert thresholdout.concentrated_cost.rho == pytest.approx(budget / (sigma * n) ** 2, rel=2e-3)
        assert thresholdout.concentrated_cost.rho < budget / (sigma * n) ** 2
        single = sparse_vector(0, 1, 0.5, 50)
        assert single.concentrated_cost.rho == pytest.approx(pure_to_zcdp(0.5), rel=5e-3)
        assert sparse_vector(0, 1, 0.5, 50, refresh=True).concentrated_cost.rho == pytest.approx(0.5**2 / 100, rel=5e-3)

    def test_margin_covers_a_whole_run(self) -> None:
        # A thousand questions below the threshold by the margin, then one above it by the margin; at most `beta` of the
        # runs may err. 300 runs at beta = 0.05 err fewer than 45 times but for a chance below 1e-9.
        mechanism = sparse_vector(0.0, 1e-3, 1.0, 2)
        margin = mechanism.margin(0.05, 1001)
        values = [-margin] * 1000 + [margin]
        wrong = 0
        for i in range(300):
            answers = mechanism.release(values, Seeded(1000 + i))
            wrong += answers.above.tolist() != [False] * 1000 + [True]
        assert wrong < 45
        assert margin < 1.5 * sparse(0.0, 1e-3, 1.0, 2).margin(0.05, 1001)

    def test_margin_on_a_coarse_grid_counts_both_roundings(self) -> None:
        # Value and threshold lie up to half a step of 8 next to their places.
        mechanism = sparse(4.0, 8, 1, 2, grid=Grid(3))
        steps = laplace_width(mechanism.laws[0].scale_steps, 0.025, 2) + laplace_width(
            mechanism.laws[1].scale_steps, 0.025, 10
        )
        assert mechanism.margin(0.05, 10) == 8 * (steps + 1)
        loud = GaussianSparseVector(4.0, 8, 8, 16, cap=2, length=10, grid=Grid(3))
        assert loud.margin(0.05, 10) == 8 * (gaussian_width(1, 0.025, 2) + gaussian_width(2, 0.025, 10) + 1)

    def test_guarantee_names_a_theorem_and_says_what_it_assumes(self) -> None:
        for mechanism in FORMS.values():
            assert isinstance(mechanism, Mechanism)
            assert mechanism.guarantee.theorem in catalogue()
            assert ("one direction" in mechanism.guarantee.assumption) == mechanism.monotone
            assert mechanism.guarantee.to_dict()["parameters"]["scale_steps"]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"threshold": float("nan")}, "threshold"),
            ({"sensitivity": 0}, "sensitivity must be a number in"),
            ({"epsilon": -1}, "epsilon must be a number in"),
            ({"cap": 0}, "cap must be a whole number, at least 1"),
            ({"shares": (0.5, 0.5)}, "shares must be three numbers"),
            ({"shares": (0.5, 0.6, 0)}, "sum to at most 1"),
            ({"shares": (0, 0.6, 0)}, r"shares\[0\]"),
            ({"shares": (0.5, 0.4, -0.1)}, r"shares\[2\]"),
            ({"refresh": 1}, "refresh must be True or False"),
            ({"grid": 0.1}, "grid must be a noise.Grid"),
        ],
    )
    def test_wrong_parameters(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            SparseVector(**{"threshold": 0.1, "sensitivity": 1e-4, "epsilon": 1.0} | change)
