"""What a result must say and a door must not: unprotected noise, costs paid before, strict JSON, errors about rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.accounting.costs import PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import classical, independence_tests, t_test
from holdfast.inference.private_tests.test_of_tests import plan_groups
from holdfast.noise import Secure, Seeded

S4 = [1 / 2, 1 / 6, 1 / 6, 1 / 6]
COUNTS = [520, 150, 170, 160]
TABLE = [[300, 200], [150, 350]]
X, Y = np.linspace(0, 1, 60), np.linspace(0.2, 1.4, 50)

RELEASES: dict[str, Callable[..., pt.TestResult]] = {
    **{f"gof {m}": lambda m=m, **k: pt.gof(COUNTS, S4, rho=0.1, method=m, **k) for m in pt.goodness_of_fit.METHODS},
    **{
        f"independence {m}": lambda m=m, **k: pt.independence(TABLE, rho=0.1, method=m, **k)
        for m in pt.independence_tests.INDEPENDENCE_METHODS
    },
    "gof epsilon": lambda **k: pt.gof(COUNTS, S4, epsilon=1, **k),
    "homogeneity": lambda **k: pt.homogeneity(TABLE, rho=0.1, **k),
    "symmetry": lambda **k: pt.symmetry(TABLE, epsilon=1, **k),
    "hardy-weinberg": lambda **k: pt.hardy_weinberg([400, 200, 400], rho=0.1, **k),
    "gwas": lambda **k: pt.gwas([[250, 167], [125, 167], [125, 166]], rho=0.5, **k),
    "proportion": lambda **k: pt.proportion(620, 1000, 0.5, epsilon=1, **k),
    "proportion with delta": lambda **k: pt.proportion(620, 1000, 0.5, epsilon=1, delta=0.01, **k),
    "any test": lambda **k: pt.any_test(lambda part: 0.5, X, epsilon=1, groups=5, group_alpha=0.2, **k),
    "Mann-Whitney": lambda **k: pt.mann_whitney(X, Y, epsilon=1, **k),
    "Kolmogorov-Smirnov": lambda **k: pt.kolmogorov_smirnov(X, Y, epsilon=1, **k),
    "Kruskal-Wallis": lambda **k: pt.kruskal_wallis(X, Y, rho=1, **k),
    "signed rank": lambda **k: pt.signed_rank(X, epsilon=1, **k),
    "ANOVA": lambda **k: pt.anova(X, Y, low=0, high=2, epsilon=1, **k),
    "two means": lambda **k: t_test.two_sample(X, Y, low=0, high=2, epsilon=1, **k),
    "one mean": lambda **k: t_test.one_sample(X, half_range=1, epsilon=1, **k),
}


@pytest.mark.parametrize("name", RELEASES)
def test_seeded_noise_is_said_in_every_result_and_secure_noise_in_none(name: str) -> None:
    run = RELEASES[name]
    seeded = run(source=Seeded(1))
    assert any("Seeded" in w or "protects nobody" in w for w in seeded.warnings), seeded.warnings
    assert "protects nobody" in str(seeded)
    for source in (None, Secure()):
        assert not any("protects nobody" in w for w in run(source=source).warnings)


@pytest.mark.parametrize("name", RELEASES)
def test_every_result_is_strict_json(name: str) -> None:
    found = RELEASES[name]()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["test"] == found.test


@pytest.mark.parametrize("method", pt.independence_tests.INDEPENDENCE_METHODS)
def test_counts_released_with_seeded_noise_say_so_when_they_are_tested(method: Any) -> None:
    noisy = pt.release(TABLE, rho=0.1, source=Seeded(1))
    assert any("protects nobody" in w for w in pt.independence(noisy, method=method).warnings)
    assert any("protects nobody" in w for w in pt.homogeneity(noisy, sizes=[450, 550]).warnings)
    assert not any("protects nobody" in w for w in pt.independence(pt.release(TABLE, rho=0.1), method=method).warnings)


def test_a_count_that_was_released_costs_nothing_more_and_says_where_its_noise_came_from() -> None:
    seen = pt.release_count(620, 1000, epsilon=1)
    assert pt.proportion(seen).cost == PureDP(0.0) == pt.proportion(pt.release_count(1, 9, epsilon=1, delta=0.1)).cost
    assert pt.proportion(620, 1000, epsilon=1).cost == seen.cost == PureDP(1.0)
    assert pt.proportion(seen).warnings == ()
    seeded = pt.release_count(620, 1000, epsilon=1, source=Seeded(1))
    assert any("protects nobody" in w for w in pt.proportion(seeded).warnings)


def test_the_package_is_an_attribute_of_inference_and_is_imported_when_used() -> None:
    code = (
        "import sys, holdfast as hf; hf.inference; assert 'holdfast.inference.private_tests' not in sys.modules; "
        "assert hf.inference.private_tests.gof; assert 'private_tests' in hf.inference.__all__"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    import holdfast.inference as inference

    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = inference.nothing_like_it


def test_noise_of_scale_one_is_not_coarse_by_a_rounding_error() -> None:
    """At rho = 1 the variance is 1 less 6e-8: the rule is about the scale."""
    assert not pt.discrete_gaussian(1).coarse
    assert pt.discrete_gaussian(1.01).coarse
    assert not pt.gaussian(50).coarse
    assert pt.discrete_laplace(2.01).coarse
    found = pt.gof(COUNTS, S4, rho=1, method="nonprojected")
    assert found.reject is not None
    assert found.warnings == ()
    with pytest.raises(InvalidParameter, match="at least 1"):
        pt.gof(COUNTS, S4, rho=1.01, method="nonprojected")
    assert any("lattice" in w for w in pt.gof(COUNTS, S4, rho=1.01).warnings)


def test_two_cells_are_sent_to_the_better_test_where_it_is_better() -> None:
    assert any("proportion" in w for w in pt.gof([60, 40], [0.5, 0.5], epsilon=1).warnings)
    assert not any("proportion" in w for w in pt.gof([60, 40], [0.5, 0.5], rho=1).warnings)
    assert not any("proportion" in w for w in pt.gof([60, 40, 30], [0.4, 0.3, 0.3], epsilon=1).warnings)


@pytest.mark.parametrize(
    ("run", "warning"),
    [
        (
            lambda: classical.gof([3, 4, 2], [1 / 3] * 3),
            "the smallest expected count is 3, below 5: the limit is rough",
        ),
        (
            lambda: independence_tests.asymptotic_independence(TABLE, rho=0.1, minimum_count=2),
            "minimum_count = 2 is below 5, where no level was measured",
        ),
    ],
)
def test_a_limit_that_was_not_measured_is_said(run: Callable[[], pt.TestResult], warning: str) -> None:
    assert warning in run().warnings
    assert not any("below 5" in w for w in classical.gof(COUNTS, S4).warnings)
    assert not any("below 5" in w for w in independence_tests.asymptotic_independence(TABLE, rho=0.1).warnings)


def test_undeclared_values_can_be_counted_without_an_error() -> None:
    values: list[Any] = ["a", "z", None, float("nan"), [1], "b", "a"]
    found = pt.tally(values, ["a", "b", "rest"], other="rest")
    assert found.values.tolist() == [2, 1, 4]
    crossed = pt.cross(
        values, values, row_categories=["a", "b"], column_categories=["a", "c"], other_row="b", other_column="c"
    )
    assert crossed.values.tolist() == [[2, 0], [0, 5]]
    for wrong in ({"other": "none such"}, {}):
        with pytest.raises(InvalidParameter) as error:
            pt.tally(["a", "z"], ["a", "b"], **wrong)
        assert "z" not in str(error.value).replace("categories", "")


def test_fractional_group_sizes_are_refused() -> None:
    noisy = pt.NoisyCounts(np.array([[250.0, 167.0], [250.0, 333.0]]), 1000, pt.gaussian(1))
    with pytest.raises(InvalidParameter, match="whole"):
        pt.homogeneity(noisy, sizes=[417.5, 582.5], groups="rows")


def test_a_plan_brings_its_level_and_another_is_refused() -> None:
    plan = plan_groups(60, epsilon=1, alpha=0.2)
    assert pt.any_test(lambda part: 0.5, X, plan=plan).alpha == 0.2
    with pytest.raises(InvalidParameter, match="alpha"):
        pt.any_test(lambda part: 0.5, X, plan=plan, alpha=0.01)
    assert pt.any_test(lambda part: 0.5, X, epsilon=1).alpha == 0.05


def test_records_of_different_lengths_make_no_error_that_speaks_of_them() -> None:
    even, ragged = [[1, 2]] * 60, [[1, 2]] * 59 + [[1]]
    for records in (even, ragged):
        seen: list[int] = []
        found = pt.any_test(lambda part, seen=seen: seen.append(len(part)) or 0.5, records, epsilon=1)
        assert sum(seen) == 60
        assert found.p_value is not None
    with pytest.raises(InvalidParameter, match="dict"):
        pt.any_test(lambda part: 0.5, {i: i for i in range(60)}, epsilon=1)
    by_hand = pt.any_test(lambda part: 0.5, X, epsilon=1, groups=5, group_alpha=0.2)
    assert by_hand.details["group_size"] == 12
    assert json.dumps(plan_groups(60, epsilon=1).to_dict(), allow_nan=False)


@pytest.mark.parametrize("exact", ["MCGOF", "given distribution"])
def test_replicates_of_an_exact_test_have_the_law_of_the_release(exact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No simulation would notice the grid of continuous noise, but the proof does: only `resample` has its
    distribution."""

    def ideal(self: Any, rng: Any, shape: Any) -> Any:
        raise AssertionError("the ideal continuous distribution is not the released one")

    monkeypatch.setattr(pt.NoiseLaw, "sample", ideal)
    law = pt.gaussian(0.01)
    if exact == "MCGOF":
        found = pt.gof(COUNTS, S4, noise=law, method="monte-carlo")
    else:
        found = pt.mc_minimum_chi_square(COUNTS, pt.Simple(S4), noise=law)
    assert found.level == "exact"


def test_equal_tables_are_ties_and_a_test_of_ties_never_rejects() -> None:
    """One record in two equal cells without noise: every table has the same statistic, so the p-value is one."""
    for counts in ([1, 0], [0, 1]):
        found = pt.mc_minimum_chi_square(counts, pt.Simple([0.5, 0.5]), rho=10**9, m=99)
        assert found.p_value == 1.0
        assert pt.gof(counts, [0.5, 0.5], rho=10**9, method="monte-carlo", m=99).p_value == 1.0


def test_paired_samples_are_dealt_alike() -> None:
    seen: list[bool] = []

    def same(first: Any, second: Any) -> float:
        seen.append(np.array_equal(first, second))
        return 0.5

    pt.any_test(same, X, X.copy(), epsilon=1, groups=5, group_alpha=0.2, paired=True)
    assert seen == [True] * 5
    pt.any_test(same, X, X.copy(), epsilon=1, groups=5, group_alpha=0.2)
    assert seen[5:] == [False] * 5
