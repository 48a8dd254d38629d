"""Groups, predicates, lenses, targets and splits."""

import importlib.util
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from holdfast.coherence.distance import Partition, group_distances
from holdfast.coherence.groups import LARGEST_COLLECTION, GroupPlan, plan_of
from holdfast.coherence.lenses import Lens, family, path, subsets
from holdfast.coherence.predicates import predicate
from holdfast.coherence.split import cluster_split, even_rows, half_split
from holdfast.coherence.table import Table
from holdfast.coherence.target import Target
from holdfast.errors import InvalidParameter

RNG = np.random.default_rng(1)
PEOPLE = Table.of(
    {
        "SEX": RNG.integers(1, 3, 400),
        "AGE": RNG.integers(0, 90, 400),
        "TOWN": np.array([None, "A", "B", "C"], dtype=object)[RNG.integers(0, 4, 400)],
        "PAY": np.where(RNG.random(400) < 0.1, np.nan, RNG.normal(size=400)),
    }
)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("SEX == 2", PEOPLE["SEX"] == 2),
        ("SEX != 2", PEOPLE["SEX"] != 2),
        ("SEX == 2 and AGE in 18..25", (PEOPLE["SEX"] == 2) & (PEOPLE["AGE"] >= 18) & (PEOPLE["AGE"] <= 25)),
        ("AGE < 10 or AGE >= 80.5 and SEX == 1", (PEOPLE["AGE"] < 10) | ((PEOPLE["AGE"] > 80) & (PEOPLE["SEX"] == 1))),
        ("not (AGE <= 30)", PEOPLE["AGE"] > 30),
        ("TOWN in {A, 'B'}", np.isin(PEOPLE["TOWN"].astype(str), ["A", "B"])),
        ("TOWN != A", np.isin(PEOPLE["TOWN"].astype(str), ["C", "B"])),
        ("TOWN is missing or PAY is missing", (PEOPLE["TOWN"] == None) | np.isnan(PEOPLE["PAY"])),  # noqa: E711
        ("PAY is present and PAY > -1e-1", PEOPLE["PAY"] > -0.1),
        ('"TOWN" == "A"', PEOPLE["TOWN"] == "A"),
    ],
)
def test_predicates_say_what_they_mean(text, mask):
    np.testing.assert_array_equal(predicate(text)(PEOPLE), mask)


@pytest.mark.parametrize(
    "text", ["", "SEX", "SEX = 2", "SEX == ", "SEX == 2 and", "(SEX == 2", "SEX in {1", "AGE < old", "SEX == 2 AGE < 3",
             "__import__('os')", "SEX.__class__ == 1 ; 2"]
)  # fmt: skip
def test_nothing_else_is_read(text):
    with pytest.raises(InvalidParameter, match="cannot be read at"):
        predicate(text)


def test_a_predicate_that_is_only_a_name_is_shown_what_one_looks_like():
    with pytest.raises(InvalidParameter, match="cannot be read at its end; one looks like `sex == F and age >= 65`"):
        predicate("SEX")


def test_a_predicate_about_a_column_that_is_not_there():
    with pytest.raises(InvalidParameter, match="column 'RACE' is not in the table, which has SEX, AGE, TOWN, PAY"):
        GroupPlan({"x": "RACE == 1"}).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="column 'RACE' is not"):
        GroupPlan(columns=["RACE"]).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="holds text"):
        GroupPlan({"x": "TOWN < 3"}).resolve(PEOPLE)


def test_every_intersection_to_a_depth_and_nothing_small():
    plan = GroupPlan(columns=["SEX", "TOWN", "AGE"], bins={"AGE": [18, 65]}, depth=3, min_size=20)
    found = plan.resolve(PEOPLE)
    sizes = dict(zip(found.names, found.sizes.tolist(), strict=True)) | dict(found.too_small)
    age = np.digitize(PEOPLE["AGE"], [18, 65])
    labels = {
        "SEX": [f"SEX={s}" for s in PEOPLE["SEX"]],
        "TOWN": ["TOWN missing" if t is None else f"TOWN={t}" for t in PEOPLE["TOWN"]],
        "AGE": [["AGE < 18", "AGE in [18, 65)", "AGE >= 65"][a] for a in age],
    }
    expected = {"everyone": 400}
    for depth in (1, 2, 3):
        for chosen in combinations(labels, depth):
            for row in zip(*(labels[c] for c in chosen), strict=True):
                expected[" & ".join(row)] = expected.get(" & ".join(row), 0) + 1
    assert sizes == expected
    assert found.sizes.min() >= 20
    assert all(size < 20 for _, size in found.too_small)
    for number, name in enumerate(found.names[1:], start=1):
        parts = [np.array([labels[c][i] for c in labels]) for i in range(400)]
        member = np.array([set(name.split(" & ")) <= set(p.tolist()) for p in parts])
        np.testing.assert_array_equal(found.mask(number), member)


def test_distances_of_layers_equal_distances_of_masks():
    plan = GroupPlan(
        {"old": "AGE > 60", "rich": lambda t: t["PAY"] > 0.5}, columns=["SEX", "TOWN"], depth=2, min_size=5
    )
    found = plan.resolve(PEOPLE)
    h, inside = RNG.uniform(-1, 1, 400), half_split(400, RNG)
    left, right = found.distances(h, inside), group_distances(h, inside, found.masks())
    np.testing.assert_allclose(left.distance, right.distance, atol=1e-14)
    np.testing.assert_array_equal(left.inside, right.inside)
    assert len(found) == len(found.names) == left.distance.size


def test_zero_out_compares_whole_halves_with_others_hidden():
    found = GroupPlan({"old": "AGE > 60"}, columns=["SEX"], min_size=5).resolve(PEOPLE)
    h, inside = RNG.uniform(-1, 1, 400), half_split(400, RNG)
    hidden = found.zero_out_distances(h, inside, 0.25)
    for g, mask in enumerate(found.masks()):
        seen = np.where(mask, h, 0.25)
        assert hidden.distance[g] == pytest.approx(stats.wasserstein_distance(seen[inside], seen[~inside]), abs=1e-12)
    assert hidden.distance[0] == pytest.approx(found.distances(h, inside).distance[0], abs=1e-12)
    np.testing.assert_array_equal(hidden.inside, found.distances(h, inside).inside)


def test_groups_that_cannot_be():
    with pytest.raises(InvalidParameter, match="group 'x' has no member among the 400 rows"):
        GroupPlan({"x": "AGE > 500"}).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="one truth value a row"):
        GroupPlan({"x": [1, 2]}).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="'everyone' occurs twice"):
        GroupPlan({"everyone": "AGE > 5"}, min_size=1).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="say in bins where to cut it"):
        GroupPlan(columns=["PAY"]).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="none does"):
        GroupPlan({"x": "AGE > 5"}, min_size=401, everyone=False).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="at least one group"):
        GroupPlan(everyone=False)
    with pytest.raises(InvalidParameter, match="must increase"):
        GroupPlan(bins={"AGE": [3, 2]})


def test_lenses():
    assert [lens.columns for lens in family(None, PEOPLE, "PAY")] == [("SEX", "AGE", "TOWN")]
    assert [lens.name for lens in family([Lens("a", ("SEX",)), Lens("b", ("AGE",))], PEOPLE)] == ["a", "b"]
    assert family(["SEX", "AGE"], PEOPLE)[0].columns == ("SEX", "AGE")
    assert len(subsets(["a", "b", "c", "d"], 2)) == 6
    assert [len(lens.columns) for lens in path(["a", "b", "c"])] == [1, 2, 3]
    with pytest.raises(InvalidParameter, match="names column 'RACE'"):
        family({"x": ["RACE"]}, PEOPLE)
    with pytest.raises(InvalidParameter, match="shows the target"):
        family({"x": ["PAY"]}, PEOPLE, "PAY")
    with pytest.raises(InvalidParameter, match="distinct columns"):
        Lens("x", ())
    with pytest.raises(InvalidParameter, match="lenses must be all Lens objects or all column names"):
        family([Lens("x", ("SEX",)), "AGE"], PEOPLE)
    for wrong in ("SEX", [], 5):
        with pytest.raises(InvalidParameter, match="lenses must be a Lens, a list of lenses or columns, or a mapping"):
            family(wrong, PEOPLE)
    with pytest.raises(InvalidParameter, match="lenses must have distinct names"):
        family([Lens("x", ("SEX",)), Lens("x", ("AGE",))], PEOPLE)


def test_targets():
    pay = Target("PAY", at_least=0.5)
    np.testing.assert_array_equal(pay.truth(PEOPLE), PEOPLE["PAY"] >= 0.5)
    assert (~pay.applies(PEOPLE)).sum() == np.isnan(PEOPLE["PAY"]).sum()
    with pytest.raises(InvalidParameter, match="exactly one"):
        Target("PAY")
    with pytest.raises(InvalidParameter, match="must hold numbers"):
        Target("TOWN", at_least=1).truth(PEOPLE)


def test_every_half_is_equally_likely():
    """Chi-square over the 20 halves of 6 rows, 20,000 splits; rejects a correct split with probability 1e-6."""
    rng = np.random.default_rng(7)

    def statistic(draw):
        keys = {}
        for _ in range(20_000):
            key = tuple(np.flatnonzero(draw()))
            keys[key] = keys.get(key, 0) + 1
        counts = np.array([keys.get(half, 0) for half in combinations(range(6), 3)])
        return ((counts - 1000) ** 2 / 1000).sum()

    limit = stats.chi2.isf(1e-6, 19)
    assert statistic(lambda: half_split(6, rng)) < limit
    tilt = np.array([0.1, 0, 0, 0, 0, 0])  # the first row comes later
    assert statistic(lambda: np.isin(np.arange(6), np.argsort(rng.random(6) + tilt)[:3])) > limit


def test_odd_rows_and_clusters():
    rng = np.random.default_rng(8)
    assert even_rows(7, rng).size == 6
    with pytest.raises(InvalidParameter, match="must be even"):
        half_split(7, rng)
    homes = np.repeat(np.arange(9), 3)
    sizes = {int(cluster_split(homes, rng).sum()) for _ in range(50)}
    assert sizes == {12, 15}
    with pytest.raises(InvalidParameter, match="at least 2"):
        cluster_split(np.zeros(5), rng)


def test_tables():
    pandas = pytest.importorskip("pandas")
    frames = [pytest.importorskip("polars")] if importlib.util.find_spec("polars") else []
    given = {"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, np.nan, 1.5]}
    polar = [module.DataFrame({**given, "c": [0.5, None, 1.5]}) for module in frames]
    for frame in (pandas.DataFrame(given), *polar, given):
        table = Table.of(frame)
        assert table["a"].tolist() == [1, 2, 3]
        assert table["b"].tolist() == ["x", None, "z"]
        assert np.isnan(table["c"][1])
        assert "x" not in repr(table)
    days = Table.of({"day": np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")})
    assert days["day"].tolist() == ["2020-01-01", None]
    with pytest.raises(InvalidParameter, match="equal length"):
        Table.of({"a": [1], "b": [1, 2]})
    with pytest.raises(InvalidParameter, match="must be a table"):
        Table.of(3)


def test_files_keep_kinds_and_missing_values(tmp_path):
    Table.of({"b": [True, False]}).write_csv(tmp_path / "b.csv")
    assert Table.read_csv(tmp_path / "b.csv")["b"].tolist() == [1, 0]
    table = Table.of({"zip": ["01234", None, "99"], "n": [1, 2, 3], "x": [0.1, np.nan, 1e-17]})
    table.write_csv(tmp_path / "t.csv")
    again = Table.read_csv(tmp_path / "t.csv", like=table)
    assert again["zip"].tolist() == ["01234", None, "99"]
    assert again["n"].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(again["x"], table["x"])
    assert Table.read_csv(tmp_path / "t.csv")["n"].dtype == np.int64


def test_a_group_of_exactly_the_least_size_is_measured():
    table = Table.of({"part": np.repeat([0, 1], [20, 80])})
    found = GroupPlan({"twenty": np.arange(100) < 20, "less": np.arange(100) < 19}, columns=["part"], min_size=20)
    groups = found.resolve(table)
    assert groups.names == ("everyone", "twenty", "part=0", "part=1")
    assert groups.too_small == (("less", 19),)
    assert groups.unmeasured == ("less",)


@pytest.mark.parametrize("group", [-1, 3, "SEX=9", "everybody"])
def test_a_group_that_is_not_there_is_refused_and_no_other_shown(group):
    found = GroupPlan(columns=["SEX"]).resolve(PEOPLE)
    assert found.names == ("everyone", "SEX=1", "SEX=2")
    with pytest.raises(InvalidParameter, match=f"group must be one of 3 groups, got {group!r}"):
        found.mask(group)


def test_groups_in_every_form_they_may_be_given():
    plan = GroupPlan(columns=["SEX"])
    assert plan_of(plan) is plan
    assert plan_of(None) == GroupPlan()
    assert plan_of({"old": "AGE >= 60"}) == GroupPlan(declared={"old": "AGE >= 60"})
    assert plan_of("SEX") == plan_of(["SEX"]) == plan
    with pytest.raises(InvalidParameter, match="groups must be a GroupPlan, a mapping of names to rules, or a list"):
        plan_of(5)
    with pytest.raises(InvalidParameter, match="columns of groups must be distinct"):
        GroupPlan(columns=["SEX", "SEX"])
    with pytest.raises(InvalidParameter, match="bins cut numbers, and column 'TOWN' holds text"):
        GroupPlan(columns=["TOWN"], bins={"TOWN": [1.0]}).resolve(PEOPLE)


def test_too_many_groups_are_refused_before_they_are_measured():
    rows = np.arange(50**3)
    many = Table.of({"a": rows % 50, "b": rows // 50 % 50, "c": rows // 2500})
    with pytest.raises(InvalidParameter, match=f"groups must be at most {LARGEST_COLLECTION}; lower depth or raise"):
        GroupPlan(columns=["a", "b", "c"], depth=3, min_size=1).resolve(many)
    with pytest.raises(InvalidParameter, match="column 'a' has 100001 values; say in bins where to cut it"):
        GroupPlan(columns=["a"], min_size=1).resolve(Table.of({"a": np.arange(LARGEST_COLLECTION + 1)}))


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0]])
def test_a_group_of_nobody_has_no_distance_and_changes_no_other(weights):
    h, inside = [0.1, 0.9, -0.5, 0.3], [True, False, True, False]
    masks = [[True] * 4, [False] * 4, [True, True, False, False]]
    found = group_distances(h, inside, masks, weights=weights)
    alone = group_distances(h, inside, [masks[0], masks[2]], weights=weights)
    assert np.isnan(found.distance[1])
    assert (found.inside.tolist(), found.outside.tolist()) == ([2, 0, 1], [2, 0, 1])
    assert found.distance[[0, 2]].tolist() == alone.distance.tolist()


@pytest.mark.parametrize(
    ("predictions", "codes", "words"),
    [
        (["high", "low"], [0, 0], "predictions must be a list of numbers"),
        ([[0.1], [0.2]], [0, 0], "predictions must be a list of finite numbers"),
        ([0.1, np.nan], [0, 0], "predictions must be a list of finite numbers"),
        ([0.1, 0.2], [0], "codes must be one whole number for each of 2 rows"),
        ([0.1, 0.2], [0.0, 0.5], "codes must be one whole number for each of 2 rows"),
        ([0.1, 0.2], [0, 1], "codes must lie between -1 and 0"),
    ],
)
def test_distances_of_what_is_no_prediction_or_no_group_are_refused(predictions, codes, words):
    with pytest.raises(InvalidParameter, match=words):
        group_distances(predictions, [True, False], Partition(np.array(codes), 1))
