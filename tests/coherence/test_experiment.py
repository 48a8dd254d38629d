"""The experiment: exact oracles, determinism, one-shot mode, and everything that can go wrong."""

import time
from itertools import combinations

import numpy as np
import pytest

from holdfast.coherence import Audit, GroupPlan, Lens, Table, Target, run, single_shot, with_curator
from holdfast.coherence import curators as cur
from holdfast.coherence import learners as lrn
from holdfast.coherence.experiment import prepare
from holdfast.coherence.failures import CuratorFailed
from holdfast.coherence.significance import significance
from holdfast.coherence.split import even_rows
from holdfast.coherence.verdict import verdict
from holdfast.errors import InvalidParameter

ILL = Target("ill", equals=1)


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2)).round(2)
    return {
        "key": rng.permutation(n),
        "age": rng.integers(0, 90, n),
        "z": z[:, 0],
        "town": np.array(["A", "B", "C"])[rng.integers(0, 3, n)],
        "ill": (rng.random(n) < 1 / (1 + np.exp(-z[:, 0]))).astype(int),
    }


GLOBAL = people()


def exact_bits(h, masks, alpha):
    """Oracle of section 2.7: the bit of every half split, written out."""
    n, bits, empty = len(h), [], 0
    for chosen in combinations(range(n), n // 2):
        inside = np.isin(np.arange(n), chosen)
        bit, emptied = 1, False
        for mask in masks:
            a, b = np.sort(h[mask & inside]), np.sort(h[mask & ~inside])
            if not a.size or not b.size:
                emptied = True
                continue
            grid = np.unique(h)
            gap = np.abs(np.searchsorted(a, grid, "right") / a.size - np.searchsorted(b, grid, "right") / b.size)
            bit = 0 if (gap[:-1] * np.diff(grid)).sum() > alpha else bit
        bits.append(bit)
        empty += emptied
    return bits, empty


def enumerate_splits(h, masks, alpha):
    """The same through the library: one single-shot experiment for every split."""
    n, found, empty = len(h), [], 0
    plan = GroupPlan({f"g{i}": mask for i, mask in enumerate(masks)}, everyone=False, min_size=1)
    for chosen in combinations(range(n), n // 2):
        trials = single_shot({"i": np.arange(n)}, None, np.array(chosen), lrn.Given(h), groups=plan)
        found.append(int(trials.bits(alpha)[0, 0, 0]))
        empty += bool(np.isnan(trials.distance).any())
    return found, empty


def test_vector_10_every_split_of_eight():
    h = np.cos(np.arange(8))
    masks = [np.ones(8, bool), np.arange(8) < 4]
    bits, empty = exact_bits(h, masks, 0.5)
    assert (bits.count(0), len(bits), empty) == (68, 70, 2)
    assert enumerate_splits(h, masks, 0.5) == (bits, empty)


def test_vector_11_a_group_of_two():
    h = np.zeros(10)
    h[:2] = [-1, 1]
    masks = [np.arange(10) < 2]
    bits, empty = exact_bits(h, masks, 1.9)
    assert (bits.count(0), len(bits), empty) == (140, 252, 112)
    assert enumerate_splits(h, masks, 1.9) == (bits, empty)


def test_an_empty_half_is_named_and_may_count_as_incoherent():
    trials = single_shot(
        {"i": np.arange(10)}, None, np.arange(5), lrn.Given(np.zeros(10)),
        groups=GroupPlan({"first": np.arange(10) < 2}, min_size=1),
    )  # fmt: skip
    assert np.isnan(trials.distance[0, 0, 0, 1])
    assert any("group 'first' had no member in one of the halves in 1 of 1 splits" in m for m in trials.messages())
    assert trials.bits(0.5)[0, 0, 0] == 1
    assert trials.bits(0.5, empty="incoherent")[0, 0, 0] == 0


def test_linkage_on_the_clear_is_certain_about_members_only():
    trials = run(Audit(people(), cur.Clear(), lrn.Linkage(), ILL, lenses={"key": ["key"]}, splits=3, seed=1))
    h = trials.predictions[:, 0, 0]
    truth = people()["ill"][trials.rows]
    for k in range(3):
        inside = trials.inside[k]
        assert (h[k][inside] == 2 * truth[inside] - 1).all()
        assert np.unique(h[k][~inside]).size == 1
    at = trials.groups.names.index("ill = 1")
    base = h[0][~trials.inside[0]][0]
    assert trials.distance[0, 0, 0, at] == pytest.approx(1 - base)
    assert not trials.partial
    assert trials.inside.sum(axis=1).tolist() == [300] * 3


@pytest.mark.parametrize("mode", ["retrain", "mask"])
def test_the_same_for_any_number_of_workers(mode):
    audit = Audit(
        people(), cur.NoisyHistogram({"town": ["A", "B", "C"], "ill": [0, 1]}, 1, source=cur.simulated),
        ["linkage", lrn.CoinFlip(), lrn.named("forest", n_estimators=5)], ILL,
        groups=["town"], lenses={"town": ["town"]}, splits=6, seed=5, lens_mode="retrain",
    )  # fmt: skip
    if mode == "mask":
        audit = Audit(people(), cur.Bootstrap(), ["linkage", "tree"], ILL, splits=4, seed=5, lens_mode="mask",
                      lenses={"town": ["town"], "two": ["town", "age"]})  # fmt: skip
    seen = []
    one = run(audit, progress=lambda done, total: seen.append((done, total)))
    for workers in (2, 3):
        again = run(audit, workers=workers)
        for field in ("inside", "distance", "predictions", "inside_count"):
            np.testing.assert_array_equal(getattr(one, field), getattr(again, field))
        assert one.digests == again.digests
    assert not one.partial, one.messages()
    assert seen == [(k + 1, audit.splits) for k in range(audit.splits)]


def test_the_curator_sees_one_half_only_and_shuffled():
    seen = []

    def curator(half):
        seen.append(half["key"].tolist())
        return half

    trials = run(Audit(people(), curator, "membership", ILL, lenses=["key"], splits=4, seed=2))
    keys = people()["key"][trials.rows]
    for k, got in enumerate(seen):
        assert sorted(got) == sorted(keys[trials.inside[k]])
        assert got != keys[trials.inside[k]].tolist()
    assert trials.distance[:, 0, 0, 0].tolist() == [2.0] * 4  # who was in is known for certain


def test_odd_rows_and_rows_the_target_does_not_apply_to():
    data = people(601)
    data["ill"] = np.where(np.arange(601) % 10 == 3, -10, data["ill"])
    audit = Audit(data, cur.Clear(), "tree", Target("ill", equals=1, not_applicable=(-10,)), splits=2, seed=3)
    trials = run(audit)
    assert trials.rows.size % 2 == 0
    assert (data["ill"][trials.rows] >= 0).all()
    left = int((data["ill"] == -10).sum())
    assert f"{left} rows were left out before the split: 'ill' does not apply to them" in trials.notes
    assert any("drawn at random" in note for note in trials.notes)


def test_groups_are_fixed_before_the_split():
    trials = run(Audit(people(), cur.Clear(), "constant", ILL, groups=GroupPlan(columns=["town"]), splits=3))
    assert (trials.inside_count + trials.outside_count == trials.groups.sizes).all()


@pytest.mark.parametrize("bad", [[-10.0], [np.nan], [1.1], ["yes"], [[0.5]]])
def test_predictions_outside_the_range_are_refused(bad):
    def learner(report, lens):
        return lambda rows: bad * rows.rows

    trials = run(Audit(people(), cur.Clear(), {"bad": learner, "good": "constant"}, ILL, splits=3))
    assert trials.partial
    assert {f.kind for f in trials.failures} == {"out-of-range"}
    assert np.isnan(trials.distance[:, 0]).all()
    assert not np.isnan(trials.distance[:, 1]).any()
    assert (trials.bits(0.5)[:, 0] == -1).all()
    assert any(m.startswith("PARTIAL: out-of-range in 3 of 3 splits, learner bad") for m in trials.messages())
    assert "PARTIAL" in repr(trials)


def test_rounding_at_the_ends_is_no_error():
    trials = run(Audit(people(), cur.Clear(), lambda report: lambda rows: np.full(rows.rows, 1 + 1e-12), ILL, splits=1))
    assert not trials.partial
    assert trials.predictions.max() == 1


def test_given_predictions_are_checked_at_the_door():
    with pytest.raises(Exception, match="1 of 2 do not"):
        lrn.Given([0.1, 7])
    with pytest.raises(InvalidParameter, match="cannot be asked"):
        lrn.Given([0.1])(None)


class TestPeeking:
    def test_a_closure_over_the_data(self):
        data = people()
        ill = data["ill"]
        table = Table.of(data)

        def by_column(report, lens):
            return lambda rows: 2.0 * ill - 1

        def by_table(half):
            return table

        with pytest.raises(InvalidParameter, match=r"'by_column' holds the data under audit \(variable 'ill'\)"):
            run(Audit(data, cur.Clear(), by_column, ILL))
        with pytest.raises(InvalidParameter, match="curator holds the data under audit"):
            run(Audit(table, by_table, "constant", ILL))

    def test_a_global_name_used_by_an_inner_function(self):
        def learner(report):
            return lambda rows: 2.0 * GLOBAL["ill"][: rows.rows] - 1

        with pytest.raises(InvalidParameter, match="global name 'GLOBAL'"):
            run(Audit(GLOBAL, cur.Clear(), learner, ILL))

    def test_a_copy_of_a_column_in_an_attribute(self):
        data = people()

        class Learner:
            def __init__(self):
                self.kept = data["key"].astype(float)

            def __call__(self, report):
                return lambda rows: np.zeros(rows.rows)

        with pytest.raises(InvalidParameter, match="attribute 'kept'"):
            run(Audit(data, cur.Clear(), Learner(), ILL))

    def test_a_column_outside_the_lens(self):
        learner = lambda report: lambda rows: 2.0 * rows["ill"] - 1  # noqa: E731
        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, lenses=["town"], splits=2))
        assert {f.kind for f in trials.failures} == {"peeked"}
        assert "asked for column 'ill', which its lens does not show" in trials.failures[0].message

    def test_a_predictor_fitted_on_what_it_predicts(self):
        def learner(report):
            def predict(rows):
                z = rows["z"]
                return np.tanh((z - z.mean()) / z.std())

            return predict

        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, splits=2))
        assert {f.kind for f in trials.failures} == {"peeked"}
        assert "rows predicted beside it" in trials.failures[0].message


class TestFailures:
    def test_a_curator_that_crashes_sometimes(self):
        calls = []

        def curator(half, rng):
            calls.append(1)
            if len(calls) in (2, 4):
                raise RuntimeError("row 17: John Smith")
            return half

        trials = run(Audit(people(), curator, "constant", ILL, splits=5))
        assert [f.split for f in trials.failures] == [1, 3]
        assert trials.failures[0].message == "the curator raised RuntimeError"
        assert "Smith" not in repr(trials.failures) + str(trials.to_dict()) + " ".join(trials.messages())
        assert "Smith" in trials.failures[0].detail
        assert np.isnan(trials.distance[[1, 3]]).all()
        assert np.isfinite(trials.distance[[0, 2, 4]]).all()
        assert trials.done[:, 0, 0].tolist() == [True, False, True, False, True]

    @pytest.mark.parametrize("workers", [1, 3])
    def test_a_curator_that_never_works_is_not_tried_for_ever(self, workers):
        def curator(half):
            raise CuratorFailed("no licence")

        trials = run(Audit(people(), curator, "constant", ILL, splits=9), workers=workers)
        assert [f.kind for f in trials.failures] == ["curator-crashed"] * 3 + ["not-run"] * 6
        assert (trials.bits(0.1) == -1).all()
        assert np.isnan(trials.mean()).all()

    def test_a_python_curator_that_hangs(self):
        curator = cur.Function(lambda half: time.sleep(60), time_limit=0.3)
        started = time.monotonic()
        trials = run(Audit(people(), curator, "constant", ILL, splits=1))
        assert time.monotonic() - started < 20
        assert trials.failures[0].kind == "curator-hung"
        assert "0.3 s" in trials.failures[0].message

    def test_a_learner_that_fails_for_one_lens(self):
        def learner(report, lens):
            if lens.name == "age":
                raise KeyError("secret")
            return lambda rows: np.zeros(rows.rows)

        lenses = {"town": ["town"], "age": ["age"]}
        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, lenses=lenses, splits=2))
        assert [(f.lens, f.kind) for f in trials.failures] == [("age", "learner-crashed")] * 2
        assert trials.done[:, 0].tolist() == [[True, False]] * 2

    def test_a_report_without_the_columns_of_the_lens(self):
        trials = run(Audit(people(), cur.Clear(["town"]), "linkage", ILL, splits=1))
        assert "the report has no column 'key'" in trials.failures[0].message


def test_wrong_descriptions():
    data = people()
    for options, text in [
        ({"splits": 0}, "splits must be"),
        ({"metric": "x"}, "metric must be one of"),
        ({"lenses": ["nowhere"]}, "names column 'nowhere'"),
        ({"groups": ["nowhere"]}, "column 'nowhere' is not in the table"),
        ({"target": Target("nowhere", equals=1)}, "column 'nowhere' is not in the table"),
        ({"target": Target("ill", equals=7)}, "must be true of some rows and false of others"),
        ({"learners": "quantum"}, "learner must be one of"),
        ({"learners": []}, "at least one learner"),
        ({"learners": ["linkage", "linkage"]}, "occurs twice"),
        ({"curator": 3}, "curator must be callable"),
        ({"weights": "z"}, "at least 0"),
    ]:
        fields = {"data": data, "curator": cur.Clear(), "learners": "constant", "target": ILL, **options}
        with pytest.raises(InvalidParameter, match=text):
            prepare(Audit(**fields))


def test_weights_and_clusters_are_flagged():
    data = people() | {"home": np.repeat(np.arange(200), 3), "w": np.linspace(1, 2, 600)}
    trials = run(Audit(data, cur.Clear(), "tree", ILL, splits=2, clusters="home", weights="w", lenses=["z", "age"]))
    assert sum("outside the definition" in n or "no coherence theorem" in n for n in trials.notes) == 2
    for inside in trials.inside:
        assert (inside.reshape(200, 3).min(axis=1) == inside.reshape(200, 3).max(axis=1)).all()
    bare = run(Audit(data, cur.Clear(), "tree", ILL, splits=2, clusters="home", lenses=["z", "age"]))
    np.testing.assert_array_equal(bare.predictions, trials.predictions)
    assert (bare.distance != trials.distance).any()


def test_single_shot_and_its_limits():
    data = people()
    inside = np.zeros(600, bool)
    inside[np.random.default_rng(3).permutation(600)[:250]] = True
    release = {name: values[inside] for name, values in data.items()}
    outside = np.flatnonzero(~inside)[:300]
    trials = single_shot(data, release, inside, ["linkage", "membership"], outside=outside, target=ILL, lenses=["key"])
    assert trials.mode == "single"
    assert trials.rows.size == 550
    assert trials.inside.sum() == 250
    assert trials.distance[0, 1, 0, 0] == 2
    assert any("uniformly random" in note for note in trials.notes)
    with pytest.raises(InvalidParameter, match="no row in common"):
        single_shot(data, release, inside, "linkage", outside=[int(np.flatnonzero(inside)[0])])
    with pytest.raises(InvalidParameter, match="at least one row each"):
        single_shot(data, release, np.ones(600, bool), "linkage")
    with pytest.raises(InvalidParameter, match="no meaning"):
        single_shot(data, release, inside, "linkage", splits=3)


def test_two_curators_on_the_same_splits():
    audit = Audit(people(), cur.Clear(), "tree", ILL, splits=3, seed=9, lenses=["age", "town"])
    left, right = run(audit), run(with_curator(audit, cur.Bootstrap()))
    np.testing.assert_array_equal(left.inside, right.inside)
    assert left.digests != right.digests


def test_summaries_hold_no_rows():
    trials = run(Audit(people(), cur.Clear(), "tree", ILL, splits=2, keep_predictions=False))
    assert trials.predictions is None
    plain = trials.to_dict()
    assert plain["groups"][0] == {"name": "everyone", "size": 600}
    assert len(plain["distance"]) == 2
    assert not plain["partial"]
    assert Lens("a", "age").columns == ("age",)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_calls_exit_does_not_end_the_audit(workers):
    """`sys.exit(0)` inside a curator or learner would end the whole run with the status of a pass."""

    def leaves(*_):
        raise SystemExit(0)

    trials = run(Audit(people(), leaves, lrn.Linkage(), ILL, splits=2, patience=5), workers=workers)
    assert [failure.kind for failure in trials.failures] == ["curator-crashed"] * 2
    trials = run(Audit(people(), cur.Clear(), {"leaves": leaves, "stays": lrn.Linkage()}, ILL, splits=2))
    assert [failure.kind for failure in trials.failures] == ["learner-crashed"] * 2
    assert np.isfinite(trials.distance[:, 1]).all()


def test_learners_share_nothing_that_one_of_them_could_change():
    def spoils(report, lens, target, rng):
        for name in ("key", "ill"):
            if isinstance(report, Table):
                report[name][:] = 0
            else:
                report[name] = 0

        def predictor(seen):
            seen["key"][:] = 0
            return np.zeros(seen.rows)

        return predictor

    alone = run(Audit(people(), cur.Clear(), lrn.Linkage(), ILL, splits=2))
    for curator in (cur.Clear(), cur.Function(lambda half: half.to_pandas())):
        for mode in ("retrain", "mask"):
            after = run(Audit(people(), curator, [spoils, lrn.Linkage()], ILL, splits=2, lens_mode=mode))
            assert not after.partial
            np.testing.assert_array_equal(after.distance[:, 1], alone.distance[:, 0])


def test_a_list_of_zeros_and_ones_is_not_taken_for_row_numbers():
    data = people()
    inside = np.random.default_rng(2).permutation(600) < 300
    release = {name: values[inside] for name, values in data.items()}
    for given in (inside.astype(int), inside.astype(int).tolist(), [0, 1, 1]):
        with pytest.raises(InvalidParameter, match="distinct row numbers"):
            single_shot(data, release, given, lrn.Linkage(), target=ILL)
    numbers = single_shot(data, release, np.flatnonzero(inside), lrn.Linkage(), target=ILL)
    truths = single_shot(data, release, inside, lrn.Linkage(), target=ILL)
    np.testing.assert_array_equal(numbers.distance, truths.distance)


def test_a_copy_of_the_data_in_another_form_is_noticed():
    pandas = pytest.importorskip("pandas")
    data = people()
    for copy in (pandas.DataFrame(data), Table.of(data).copy(), {"inner": [Table.of(data).copy()]}):

        def holds(report, lens, target, rng, copy=copy):
            return lambda seen: np.zeros(seen.rows)

        with pytest.raises(InvalidParameter, match="holds the data under audit"):
            run(Audit(data, cur.Clear(), holds, ILL, splits=1))
    other = pandas.DataFrame(people(seed=9))

    def innocent(report, lens, target, rng, public=other):
        return lambda seen: np.zeros(seen.rows)

    assert not run(Audit(data, cur.Clear(), innocent, ILL, splits=1)).partial


def test_a_dead_child_is_not_taken_for_a_slow_one_where_another_holds_its_pipe():
    """A process that the child left behind, or one forked beside it by another thread, keeps its pipe open."""
    import os

    from holdfast.coherence.isolation import isolated

    def dies():
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        os._exit(7)

    with pytest.raises(CuratorFailed, match="died with status 7"):
        isolated(dies, (), 1.0)


def test_a_child_may_use_the_thread_pools_that_its_parent_used():
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier(max_iter=5)
    from holdfast.coherence.isolation import isolated

    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(3000, 4)), rng.integers(0, 2, 3000)
    expected = boosting.fit(x, y).predict(x)
    found = isolated(lambda: boosting.fit(x, y).predict(x), (), 60.0, "learner")
    np.testing.assert_array_equal(found, expected)


def test_given_predictions_must_fit_and_say_that_splits_show_chance():
    data = people()
    for rows in (599, 601):
        with pytest.raises(InvalidParameter, match="one number for each of 600 rows"):
            single_shot(data, None, np.arange(300), lrn.Given(np.zeros(rows)), target=ILL)
    trials = run(Audit(data, cur.Clear(), lrn.Given(np.zeros(600)), ILL, splits=2))
    assert any("shows chance alone" in note for note in trials.notes)
    once = single_shot(data, None, np.arange(300), lrn.Given(np.zeros(600)), target=ILL)
    assert not any("shows chance alone" in note for note in once.notes)


def test_every_split_and_every_learner_has_coins_of_its_own():
    drawn = []

    def curator(half, rng):
        drawn.append(int(rng.integers(2**62)))
        return half

    flips = {"one": lrn.CoinFlip(), "other": lrn.CoinFlip()}
    trials = run(Audit(people(), curator, flips, ILL, splits=4, lenses={"key": ["key"], "age": ["age"]}))
    assert len(set(drawn)) == 4
    h = trials.predictions.reshape(-1, 600)
    assert len({tuple(row) for row in h}) == 16  # splits x learners x lenses


def test_the_row_left_out_to_make_rows_even_is_random():
    left = {int(np.setdiff1d(np.arange(5), even_rows(5, np.random.default_rng(seed)))[0]) for seed in range(60)}
    assert left == set(range(5))


def test_truth_values_of_a_group_are_by_row_of_the_data_also_where_rows_are_left_out():
    data = people(200)
    data["ill"] = np.where(np.arange(200) < 50, np.nan, data["ill"])
    late = np.arange(200) >= 100
    setting = prepare(Audit(data, cur.Clear(), lrn.Linkage(), ILL, GroupPlan({"late": late})))
    np.testing.assert_array_equal(setting.rows[setting.groups.mask("late")], np.arange(100, 200))


def test_at_alpha_is_coherent_and_an_emptied_group_is_partial():
    h = np.array([1.0, 1.0, -1.0, -1.0])
    whole = GroupPlan(min_size=1)
    trials = single_shot({"i": np.arange(4)}, None, [0, 2], lrn.Given(h), groups=whole)
    assert trials.distance.item() == 0
    trials = single_shot({"i": np.arange(4)}, None, [0, 1], lrn.Given(h * 0.25), groups=whole)
    assert trials.distance.item() == 0.5
    assert trials.bits(0.5).item() == 1
    assert trials.bits(0.499).item() == 0
    assert not trials.partial
    emptied = single_shot(
        {"i": np.arange(4)},
        None,
        [0, 1],
        lrn.Given(h),
        groups=GroupPlan({"pair": [True, True, False, False]}, min_size=1),
    )
    assert not emptied.failures
    assert emptied.partial
    assert verdict(significance(emptied, permutations=99), 0.5).exit_status != 0


def test_a_masked_lens_hides_the_other_columns_when_predicting():
    seen_by = []

    def learner(report, lens, target, rng):
        seen_by.append(lens.columns)

        def predictor(seen):
            assert "ill" not in seen
            hidden = [np.isnan(seen["age"]).all(), np.isnan(seen["z"]).all(), all(v is None for v in seen["town"])]
            return np.full(seen.rows, sum(hidden) / 4)

        return predictor

    lenses = {"z": ["z"], "both": ["z", "age"], "all": ["key", "age", "z", "town"]}
    trials = run(Audit(people(), cur.Clear(), learner, ILL, lenses=lenses, splits=2, lens_mode="mask"))
    assert not trials.partial
    assert trials.predictions[:, 0, :, 0].tolist() == [[0.5, 0.25, 0.0]] * 2
    assert seen_by == [("key", "age", "z", "town")] * 2  # learnt once a split, with everything but the target
