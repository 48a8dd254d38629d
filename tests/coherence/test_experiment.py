"""The experiment: determinism, what each party sees, odd rows, lenses, and wrong descriptions."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast.coherence import Audit, GroupPlan, Lens, Table, Target, run, with_curator
from holdfast.coherence import curators as cur
from holdfast.coherence import learners as lrn
from holdfast.coherence.audit import even_rows, prepare
from holdfast.errors import InvalidParameter
from tests.coherence.people import ILL, people


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
    audit = Audit(data, cur.Clear(), "tree", Target("ill = 1", not_applicable="ill = -10"), splits=2, seed=3)
    trials = run(audit)
    assert trials.rows.size % 2 == 0
    assert (data["ill"][trials.rows] >= 0).all()
    left = int((data["ill"] == -10).sum())
    assert f"{left} rows were left out before the split: 'ill' does not apply to them" in trials.notes
    assert any("drawn at random" in note for note in trials.notes)


def test_groups_are_fixed_before_the_split():
    trials = run(Audit(people(), cur.Clear(), "constant", ILL, groups=GroupPlan(columns=["town"]), splits=3))
    assert (trials.inside_count + trials.outside_count == trials.groups.sizes).all()


def test_wrong_descriptions():
    data = people()
    for options, text in [
        ({"splits": 0}, "splits must be"),
        ({"metric": "x"}, "metric must be one of"),
        ({"lenses": ["nowhere"]}, "names column 'nowhere'"),
        ({"groups": ["nowhere"]}, "column 'nowhere' is not in the table"),
        ({"target": Target("nowhere = 1")}, "column 'nowhere' is not in the table"),
        ({"target": Target("ill = 7")}, "must be true of some rows and false of others"),
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
    present = replace(ILL, where_present=True)
    setting = prepare(Audit(data, cur.Clear(), lrn.Linkage(), present, GroupPlan({"late": late})))
    np.testing.assert_array_equal(setting.rows[setting.groups.mask("late")], np.arange(100, 200))


def test_missing_targets_are_never_left_out_or_counted_without_a_word():
    data = people(200)
    sick = data["ill"].astype(float)
    data["ill"] = np.where(np.arange(200) < 50, np.nan, sick)
    with pytest.raises(InvalidParameter, match=r"where_present=True .* null_as=True .* null_as=False"):
        prepare(Audit(data, cur.Clear(), lrn.Linkage(), ILL))
    table = Table.of(data)
    for said, rows in ((True, 50 + int((sick[50:] == 1).sum())), (False, int((sick[50:] == 1).sum()))):
        target = replace(ILL, null_as=said)
        assert target.applies(table).all()
        assert int(target.truth(table).sum()) == rows
    assert prepare(Audit(data, cur.Clear(), lrn.Linkage(), replace(ILL, where_present=True))).rows.min() >= 50
    with pytest.raises(InvalidParameter, match="must not both be given"):
        replace(ILL, where_present=True, null_as=True)


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


def test_an_audit_of_a_row_or_none_is_refused():
    for ill in ([1, 9], [9, 9]):
        data = {"key": np.arange(2), "ill": np.array(ill)}
        with pytest.raises(InvalidParameter, match=r"must be true of some rows|at least 2 rows to which the"):
            run(Audit(data, cur.Clear(), "constant", Target("ill = 1", not_applicable="ill = 9"), splits=1))
    with pytest.raises(InvalidParameter, match="data must have at least 2 rows to which the target applies, got 1"):
        run(Audit({"key": np.arange(1)}, cur.Clear(), "membership", splits=1))
