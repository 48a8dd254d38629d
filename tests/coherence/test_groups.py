"""Groups, predicates, lenses, targets and splits."""

import importlib.util
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from holdfast import data
from holdfast.coherence.audit import cluster_split, even_rows, half_split
from holdfast.coherence.distance import Partition, group_distances
from holdfast.coherence.groups import LARGEST_COLLECTION, GroupPlan, plan_of
from holdfast.coherence.table import Table
from holdfast.coherence.target import Lens, Target, evaluated, family, parsed, path, subsets
from holdfast.errors import InvalidParameter, SampleUnavailable

RNG = np.random.default_rng(1)
PEOPLE = Table.of(
    {
        "SEX": RNG.integers(1, 3, 400),
        "AGE": RNG.integers(0, 90, 400),
        "TOWN": np.array([None, "A", "B", "C"], dtype=object)[RNG.integers(0, 4, 400)],
        "PAY": np.where(RNG.random(400) < 0.1, np.nan, RNG.normal(size=400)),
        "INSURED": RNG.random(400) < 0.5,
        "WORKS": np.array([None, True, False], dtype=object)[RNG.integers(0, 3, 400)],
    }
)


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("SEX = 2", PEOPLE["SEX"] == 2),
        ("SEX == 2", PEOPLE["SEX"] == 2),
        ("SEX <> 2", PEOPLE["SEX"] != 2),
        ("SEX = 2 and AGE between 18 and 25", (PEOPLE["SEX"] == 2) & (PEOPLE["AGE"] >= 18) & (PEOPLE["AGE"] <= 25)),
        ("AGE < 10 or AGE >= 80.5 and SEX = 1", (PEOPLE["AGE"] < 10) | ((PEOPLE["AGE"] > 80) & (PEOPLE["SEX"] == 1))),
        ("not (AGE <= 30)", PEOPLE["AGE"] > 30),
        ("TOWN in ('A', 'B')", np.isin(PEOPLE["TOWN"].astype(str), ["A", "B"])),
        ("TOWN <> 'A'", np.isin(PEOPLE["TOWN"].astype(str), ["C", "B"])),
        ("TOWN is null or PAY is null", (PEOPLE["TOWN"] == None) | np.isnan(PEOPLE["PAY"])),  # noqa: E711
        ("PAY is not null and PAY > -1e-1", PEOPLE["PAY"] > -0.1),
        ("not PAY > 0", PEOPLE["PAY"] <= 0),
        ("\"TOWN\" = 'A'", PEOPLE["TOWN"] == "A"),
        ("INSURED", PEOPLE["INSURED"]),
        ("WORKS and INSURED", (PEOPLE["WORKS"] == 1) & PEOPLE["INSURED"]),
        ("WORKS = false", PEOPLE["WORKS"] == 0),
        ("WORKS is null", np.isnan(PEOPLE["WORKS"])),
    ],
)
def test_rules_say_what_they_mean(text, mask):
    true, null = evaluated("rule", text, PEOPLE)
    np.testing.assert_array_equal(true, mask)
    assert not (true & null).any()


@pytest.mark.parametrize("text", [
    "SEX = 2", "SEX = 2 and AGE between 18 and 25", "TOWN in ('A', 'B')", "PAY > 0.25 or TOWN <> 'A'", "not PAY > 0",
    "INSURED", "WORKS", "WORKS is null or not INSURED", "case when PAY > 0 then SEX = 1 else WORKS end",
])  # fmt: skip
def test_a_rule_counts_the_rows_that_a_guard_would_count(text):
    """The same expression over the same rows behind every engine in memory: one language."""
    kinds = {"WORKS": [None if np.isnan(w) else bool(w) for w in PEOPLE["WORKS"]]}
    rows = {name: kinds.get(name, PEOPLE[name].tolist()) for name in PEOPLE.names}
    rows["PAY"] = [None if np.isnan(pay) else pay for pay in rows["PAY"]]
    for engine in ("numpy", "polars"):
        with data.table(rows, engine=engine) as sample:
            (count,) = sample.measure([data.statistics.Count(text)])
            table = Table.of(sample)
        assert evaluated("rule", text, PEOPLE)[0].sum() == evaluated("rule", text, table)[0].sum() == count[0]


@pytest.mark.parametrize(
    "text", ["", "SEX = ", "SEX = 2 and", "(SEX = 2", "SEX in {1", "SEX = 2 AGE < 3", "__import__('os')",
             "SEX.__class__ = 1 ; 2", "AGE", "AGE + 1"]
)  # fmt: skip
def test_nothing_else_is_read(text):
    with pytest.raises(InvalidParameter, match=r"^rule: "):
        evaluated("rule", text, PEOPLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TOWN == A", "TOWN = 'A'"),
        ('TOWN == "A"', "TOWN = 'A'"),
        ("TOWN = A", "TOWN = 'A'"),
        ("TOWN = 3 or SEX = 1", "TOWN = '3' or SEX = 1"),
        ("TOWN != A and SEX == 1", "TOWN <> 'A' and SEX = 1"),
        ("SEX == 2 and AGE in 18..25", "SEX = 2 and AGE between 18 and 25"),
        ("TOWN in {A, 'B'} or PAY is missing", "TOWN in ('A', 'B') or PAY is null"),
        ("PAY is present", "PAY is not null"),
    ],
)
def test_the_former_language_is_refused_with_the_new_spelling(old, new):
    evaluated("rule", new, PEOPLE)
    with pytest.raises(InvalidParameter) as refused:
        evaluated("rule", old, PEOPLE)
    assert f"write {new} in place of {old};" in str(refused.value)


def test_a_spelling_that_would_not_help_is_not_advised():
    for rule in ("TOWN == 3 and", "RACE = A"):
        with pytest.raises(InvalidParameter) as refused:
            evaluated("rule", rule, PEOPLE)
        assert "in place of" not in str(refused.value)
    with pytest.raises(InvalidParameter, match="expression must compare values of the same kind, got"):
        evaluated("rule", "SEX = A", PEOPLE.take(slice(None)).with_column("A", ["x"] * 400))
    assert parsed("rule", "SEX = 2") == parsed("rule", " SEX=2.0 ")


def test_a_rule_about_a_column_that_is_not_there():
    with pytest.raises(InvalidParameter, match="column 'RACE' is not in the table, which has SEX, AGE, TOWN, PAY"):
        GroupPlan({"x": "RACE = 1"}).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="column 'RACE' is not"):
        GroupPlan(columns=["RACE"]).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="group 'x': expression must compare values of the same kind"):
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
    with pytest.raises(InvalidParameter, match="True or False for each row"):
        GroupPlan({"x": [1, 2]}).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="'everyone' occurs twice"):
        GroupPlan({"everyone": "AGE > 5"}, min_size=1).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="give in bins the numbers at which to cut it"):
        GroupPlan(columns=["PAY"]).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="but none has"):
        GroupPlan({"x": "AGE > 5"}, min_size=401, everyone=False).resolve(PEOPLE)
    with pytest.raises(InvalidParameter, match="at least one group"):
        GroupPlan(everyone=False)
    with pytest.raises(InvalidParameter, match="must increase"):
        GroupPlan(bins={"AGE": [3, 2]})


def test_lenses():
    assert [lens.columns for lens in family(None, PEOPLE, "PAY")] == [("SEX", "AGE", "TOWN", "INSURED", "WORKS")]
    assert [lens.name for lens in family([Lens("a", ("SEX",)), Lens("b", ("AGE",))], PEOPLE)] == ["a", "b"]
    assert family(["SEX", "AGE"], PEOPLE)[0].columns == ("SEX", "AGE")
    assert len(subsets(["a", "b", "c", "d"], 2)) == 6
    assert [len(lens.columns) for lens in path(["a", "b", "c"])] == [1, 2, 3]
    with pytest.raises(InvalidParameter, match="names column 'RACE'"):
        family({"x": ["RACE"]}, PEOPLE)
    with pytest.raises(InvalidParameter, match="must not show the target"):
        family({"x": ["PAY"]}, PEOPLE, "PAY")
    with pytest.raises(InvalidParameter, match="no column twice"):
        Lens("x", ())
    with pytest.raises(InvalidParameter, match="lenses must be all Lens objects or all column names"):
        family([Lens("x", ("SEX",)), "AGE"], PEOPLE)
    for wrong in ("SEX", [], 5):
        with pytest.raises(InvalidParameter, match="lenses must be a Lens, a list of lenses or columns, or a mapping"):
            family(wrong, PEOPLE)
    with pytest.raises(InvalidParameter, match="lenses must have distinct names"):
        family([Lens("x", ("SEX",)), Lens("x", ("AGE",))], PEOPLE)


def test_targets():
    pay = Target("PAY >= 0.5")
    np.testing.assert_array_equal(pay.truth(PEOPLE), PEOPLE["PAY"] >= 0.5)
    assert (~pay.applies(PEOPLE)).sum() == np.isnan(PEOPLE["PAY"]).sum()
    assert (pay.column, pay.name, Target("PAY>=0.5").name) == ("PAY", "PAY >= 0.5", "PAY >= 0.5")
    for statement, why in (("PAY > AGE", "names AGE and PAY"), ("1 = 1", "names none"), ("TOWN = A", "A and TOWN")):
        with pytest.raises(InvalidParameter, match=why):
            Target(statement)
    with pytest.raises(InvalidParameter, match="not_applicable must be a condition on the target's column"):
        Target("PAY >= 0.5", not_applicable="AGE < 18")
    with pytest.raises(InvalidParameter, match="names A and TOWN; write TOWN = 'A' for a text"):
        Target("TOWN == A")
    with pytest.raises(InvalidParameter, match="target: expression must compare values of the same kind"):
        Target("TOWN >= 1").truth(PEOPLE)
    with pytest.raises(InvalidParameter, match="this expression gives a number"):
        Target("PAY + 1").truth(PEOPLE)
    works = Target("WORKS", null_as=False)
    assert works.applies(PEOPLE).all()
    np.testing.assert_array_equal(works.truth(PEOPLE), PEOPLE["WORKS"] == 1)
    half = Target("PAY >= 0.5", not_applicable="PAY < 0 or PAY > 2", null_as=True)
    np.testing.assert_array_equal(half.applies(PEOPLE), ~((PEOPLE["PAY"] < 0) | (PEOPLE["PAY"] > 2)))
    np.testing.assert_array_equal(
        half.truth(PEOPLE), (PEOPLE["PAY"] >= 0.5) & (PEOPLE["PAY"] <= 2) | np.isnan(PEOPLE["PAY"])
    )


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
    table = Table.of(
        {
            "zip": ["01234", None, "99"],
            "n": [1, 2, 3],
            "m": [1, None, 3],
            "x": [0.1, np.nan, 1e-17],
            "b": [True, False, True],
            "c": [True, None, False],
            "t": ["a", "b", None],
        }
    )
    table.write_csv(tmp_path / "t.csv")
    again = Table.read(tmp_path / "t.csv", like=table)
    assert again.names == table.names
    for name in ("zip", "n", "b", "t"):
        assert again[name].tolist() == table[name].tolist()
    for name in ("x", "m", "c"):
        np.testing.assert_array_equal(again[name], table[name])
    assert [again.is_boolean(name) for name in again.names] == [False, False, False, False, True, True, False]
    plain = Table.read(tmp_path / "t.csv")
    assert (plain["n"].dtype, plain["b"].dtype, plain.is_text("zip")) == (np.int64, np.bool_, False)


def test_a_file_is_read_as_a_sample_of_it_in_the_order_of_its_rows(tmp_path):
    rows = {"id": np.arange(300_000), "part": np.arange(300_000) % 7, "name": [f"n{i % 11}" for i in range(300_000)]}
    Table.of(rows).write_csv(tmp_path / "t.csv")
    pytest.importorskip("polars").DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", rows):
        with data.table(source) as sample:
            read = Table.of(sample)
        assert read.names == ("id", "part", "name")
        np.testing.assert_array_equal(read["id"], rows["id"])
        assert read["name"].tolist() == rows["name"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("a,b\n1,2\n\n3,4\n", "line 3: is blank"),
        ("a,b\n1,2\n3\n", "line 3: there is 1 cell"),
        ("a,b\n1,2,3\n", "line 2: there are 3 cells"),
        ("# people\na,b\n1,2\n", "line 2: there are 2 cells, and the header has 1 name"),
        ("a,a\n1,2\n", "columns 1 and 2 have the same"),
        ('a,b\n"1"0,2\n', "quotation mark"),
    ],
)
def test_a_file_that_could_mean_two_things_is_refused(tmp_path, content, why):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises((InvalidParameter, SampleUnavailable), match=why):
        Table.read(tmp_path / "t.csv")


def test_cells_mean_what_they_mean_in_a_sample(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeffa,b,c,d\n1_000,1,1,#\n2,2.5, 2,x\n", encoding="utf-8")
    table = Table.read(tmp_path / "t.csv")
    assert {name: table[name].tolist() for name in table.names} == {
        "a": ["1_000", "2"],
        "b": [1.0, 2.5],
        "c": ["1", " 2"],
        "d": ["#", "x"],
    }


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
    with pytest.raises(InvalidParameter, match=f"one of the 3 groups, got {group!r}"):
        found.mask(group)


def test_groups_in_every_form_they_may_be_given():
    plan = GroupPlan(columns=["SEX"])
    assert plan_of(plan) is plan
    assert plan_of(None) == GroupPlan()
    assert plan_of({"old": "AGE >= 60"}) == GroupPlan(declared={"old": "AGE >= 60"})
    assert plan_of("SEX") == plan_of(["SEX"]) == plan
    with pytest.raises(InvalidParameter, match="groups must be a GroupPlan, a mapping of names to rules, or a list"):
        plan_of(5)
    with pytest.raises(InvalidParameter, match="columns must be distinct"):
        GroupPlan(columns=["SEX", "SEX"])
    with pytest.raises(InvalidParameter, match="bins are for columns of numbers, but column 'TOWN' holds text"):
        GroupPlan(columns=["TOWN"], bins={"TOWN": [1.0]}).resolve(PEOPLE)


def test_too_many_groups_are_refused_before_they_are_measured():
    rows = np.arange(50**3)
    many = Table.of({"a": rows % 50, "b": rows // 50 % 50, "c": rows // 2500})
    with pytest.raises(
        InvalidParameter, match=f"more than {LARGEST_COLLECTION} groups, which is the limit; lower depth"
    ):
        GroupPlan(columns=["a", "b", "c"], depth=3, min_size=1).resolve(many)
    with pytest.raises(InvalidParameter, match="column 'a' has 100001 different values, which is too many for groups"):
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
