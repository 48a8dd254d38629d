"""Curators: real commands that crash and hang, private counts, CART, libraries; and the learners that read them."""

import os
import select
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from holdfast.coherence import Audit, Lens, Table, Target, run
from holdfast.coherence import curators as cur
from holdfast.coherence import learners as lrn
from holdfast.coherence.failures import CuratorFailed
from holdfast.errors import InvalidParameter, NotInstalled

RNG = np.random.default_rng(1)
HALF = Table.of(
    {
        "age": RNG.integers(0, 90, 400),
        "town": np.array(["A", "B", None, 'it\'s, "D"'], dtype=object)[RNG.integers(0, 4, 400)],
        "pay": np.where(RNG.random(400) < 0.2, np.nan, RNG.normal(size=400)),
        "ill": RNG.integers(0, 2, 400),
    }
)
ILL = Target("ill = 1")


def rng():
    return np.random.default_rng(7)


def gone(reading, seconds):
    """Whether every process that could write into a named pipe is gone, or goes soon."""
    while True:
        try:
            if not os.read(reading, 64):
                return True
        except BlockingIOError:
            if not select.select([reading], [], [], seconds)[0]:
                return False


class TestShell:
    def test_a_copy_is_the_half(self):
        made = cur.Shell("cp {train} {release}")(HALF, rng())
        for name in HALF.names:
            assert made[name].dtype == HALF[name].dtype
            assert np.array_equal(made[name], HALF[name], equal_nan=name == "pay")

    def test_a_program_with_a_seed(self):
        program = "import csv,sys,random; r=list(csv.reader(open(sys.argv[1]))); random.seed(int(sys.argv[3])); "
        program += "csv.writer(open(sys.argv[2],'w')).writerows([r[0]]+random.sample(r[1:],50))"
        shell = cur.Shell(f'{sys.executable} -c "{program}" {{train}} {{release}} {{seed}}')
        one, again, other = shell(HALF, rng()), shell(HALF, rng()), shell(HALF, np.random.default_rng(8))
        assert one.rows == 50
        assert one["age"].tolist() == again["age"].tolist() != other["age"].tolist()

    @pytest.mark.parametrize(
        ("command", "text"),
        [
            ("echo no memory; exit 3; : {train} {release}", "ended with exit status 3"),
            ("kill -SEGV $$; : {train} {release}", "status -11"),
            ("true {train} {release}", "wrote no release"),
            ("head -1 {train} > {release}", "has no rows"),
            (": > {release}; : {train}", "no CSV file"),
            ("printf 'a,b\\n1\\n' > {release}; : {train}", "no CSV file"),
            ("/no/such/program {train} {release}", "status 127"),
        ],
    )
    def test_every_way_to_fail_is_said(self, command, text):
        with pytest.raises(CuratorFailed, match=text) as caught:
            cur.Shell(command)(HALF, rng())
        assert caught.value.kind == "curator-crashed"
        if "memory" in command:
            assert "no memory" in caught.value.detail

    def test_a_command_that_hangs_is_ended_with_its_children(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        command = f"exec 3> {pipe}; sleep 300 & echo >&3; sleep 300; : {{train}} {{release}}"
        with pytest.raises(CuratorFailed, match=r"past its limit of 1 s") as caught:
            cur.Shell(command, time_limit=1)(HALF, rng())
        assert caught.value.kind == "curator-hung"
        assert gone(reading, seconds=60)
        os.close(reading)

    def test_in_an_audit_the_result_is_partial(self):
        data = {name: HALF[name] for name in ("age", "ill")}
        trials = run(Audit(data, cur.Shell("sleep 30; : {train} {release}", time_limit=0.2), "tree", ILL, splits=2))
        assert trials.partial
        assert {f.kind for f in trials.failures} == {"curator-hung"}
        good = run(Audit(data, cur.Shell("cp {train} {release}"), "tree", ILL, splits=2, seed=3), workers=2)
        clear = run(Audit(data, cur.Clear(), "tree", ILL, splits=2, seed=3))
        np.testing.assert_array_equal(good.distance, clear.distance)

    def test_no_file_stays_behind(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        cur.Shell("cp {train} {release}")(HALF, rng())
        assert not list(Path(tmp_path).iterdir())

    def test_what_a_command_must_name(self):
        with pytest.raises(InvalidParameter, match="must name the files"):
            cur.Shell("cp {train} x")


class TestFunction:
    def test_forms(self):
        assert cur.Function(lambda frame: list(frame.columns), given="pandas")(HALF, rng()) == list(HALF.names)
        assert cur.Function(lambda table, r: float(r.random()))(HALF, rng()) == np.random.default_rng(7).random()

    def test_a_child_process_reports_returns_errors_and_deaths(self):
        made = cur.Function(lambda half: half.select(["age"]), time_limit=30)(HALF, rng())
        assert made["age"].tolist() == HALF["age"].tolist()
        with pytest.raises(CuratorFailed, match="raised ZeroDivisionError"):
            cur.Function(lambda half: 1 / 0, time_limit=30)(HALF, rng())
        with pytest.raises(CuratorFailed, match="ended unexpectedly, with exit status 9"):
            cur.Function(_die, time_limit=30)(HALF, rng())
        with pytest.raises(CuratorFailed, match="raised"):
            cur.Function(lambda half: lambda: None, time_limit=30)(HALF, rng())


def _die(half):
    import os

    os._exit(9)


def test_section_7_releases():
    shuffled = cur.ShuffledColumn("ill")(HALF, rng())
    assert shuffled.names == ("ill",)
    assert shuffled["ill"].sum() == HALF["ill"].sum()
    assert shuffled["ill"].tolist() != HALF["ill"].tolist()
    assert cur.Count("ill = 1")(HALF)["count"] == HALF["ill"].sum()
    assert cur.RandomSubset(10)(HALF, rng()).rows == 10
    with pytest.raises(InvalidParameter, match="rows must be at most 400"):
        cur.RandomSubset(500)(HALF, rng())
    assert set(cur.Bootstrap()(HALF, rng())["age"]) <= set(HALF["age"])


class TestPrivate:
    domains = {"town": ["A", "B"], "ill": [0, 1]}  # noqa: RUF012

    def test_without_noise_the_histogram_is_the_table(self):
        made = cur.NoisyHistogram(self.domains, None)(HALF, rng())
        assert made.rows == 400
        known = [t if t in ("A", "B") else None for t in HALF["town"]]  # anything undeclared counts as missing
        assert sorted(map(str, zip(made["town"], made["ill"], strict=True))) == sorted(
            map(str, zip(known, HALF["ill"].astype(float), strict=True))
        )

    def test_missing_values_without_a_cell_count_as_the_least_value(self):
        made = cur.NoisyHistogram({"town": ["A", "B"]}, None, missing=False)(HALF, rng())
        assert (made["town"] == "B").sum() == (HALF["town"] == "B").sum()
        assert (made["town"] == "A").sum() == 400 - (HALF["town"] == "B").sum()

    def test_the_noise_is_that_of_a_sensitivity_of_two(self):
        """Counts of a cell, 4,000 releases, against the distribution of scale 2/epsilon; error rate 1e-6 (DKW), with
        power."""
        one = Table.of({"x": np.zeros(1000, int)})
        marginal = cur.NoisyMarginals({"x": [0]}, [("x",)], 0.5, "counts", cur.simulated)
        counts = np.array([marginal(one, np.random.default_rng(i)).tables[("x",)][1] - 1000 for i in range(4000)])
        limit = np.sqrt(np.log(2 / 1e-6) / (2 * 4000))
        grid = np.arange(-40, 41)
        seen = (counts[:, None] <= grid).mean(axis=0)

        def law(scale):
            return stats.dlaplace.cdf(grid, 1 / scale)

        assert np.abs(seen - law(4)).max() < limit
        assert np.abs(seen - law(2)).max() > limit  # a sensitivity of one would be wrong for replaced rows

    def test_costs(self):
        assert cur.NoisyHistogram(self.domains, 0.5).cost.epsilon == 0.5
        assert cur.PrivateNaiveBayes("ill", self.domains, 2).cost.epsilon == 2
        assert cur.NoisyMarginals(self.domains, ["town"], None).cost is None

    def test_secure_noise_does_not_repeat(self):
        made = [cur.NoisyMarginals(self.domains, ["town"], 0.01, "counts")(HALF, rng()).tables for _ in range(2)]
        assert (made[0][("town",)] != made[1][("town",)]).any()

    def test_marginals_without_noise_keep_their_pairs(self):
        domains = {"a": [0, 1], "b": [0, 1, 2], "c": ["x", "y"]}
        r = rng()
        a = r.integers(0, 2, 20_000)
        b = np.where(r.random(20_000) < 0.8, a, 2)
        data = Table.of({"a": a, "b": b, "c": np.where(b == 2, "x", "y")})
        made = cur.NoisyMarginals(domains, [("a", "b"), ("b", "c")], None)(data, r)
        assert made.rows == 20_000
        for left, right in (("a", "b"), ("b", "c")):
            pairs = [
                np.unique([f"{x:g}|{y}" if right == "c" else f"{x:g}|{y:g}" for x, y in
                           zip(t[left], t[right], strict=True)], return_counts=True)
                for t in (data, made)
            ]  # fmt: skip
            assert pairs[0][0].tolist() == pairs[1][0].tolist()
            assert np.abs(pairs[0][1] - pairs[1][1]).max() < 5 * np.sqrt(20_000) / 2
        alone = cur.NoisyMarginals(domains, ["a", "b"], None)(data, r)
        assert abs(np.corrcoef(alone["a"], alone["b"])[0, 1]) < 0.05  # no shared marginal: independent

    def test_naive_bayes_from_counts_is_naive_bayes_from_rows(self):
        lens = Lens("town", ("town",))
        domains = {"town": ["A", "B", 'it\'s, "D"'], "ill": [0, 1]}
        counts = cur.PrivateNaiveBayes("ill", domains, None)(HALF, rng())
        seen = HALF.select(["town"])
        left = lrn.NaiveBayes()(counts, lens, ILL)(seen)
        np.testing.assert_allclose(left, lrn.NaiveBayes()(HALF, lens, ILL)(seen), atol=1e-12)
        made = cur.PrivateNaiveBayes("ill", domains, 1, "table", cur.simulated)(HALF, rng())
        assert set(made.names) == {"town", "ill"}

    def test_what_is_refused(self):
        with pytest.raises(InvalidParameter, match="epsilon"):
            cur.NoisyHistogram(self.domains, 0)
        with pytest.raises(InvalidParameter, match="declare the values of column 'x'"):
            cur.NoisyMarginals(self.domains, ["x"], 1)
        with pytest.raises(InvalidParameter, match="too large"):
            cur.NoisyHistogram({c: range(100) for c in "abcd"}, 1)
        with pytest.raises(InvalidParameter, match="declare the target"):
            cur.PrivateNaiveBayes("x", self.domains, 1)


def test_cart_copies_with_small_leaves_and_blurs_with_large():
    r = rng()
    x = r.normal(size=2000)
    data = Table.of({"x": x, "y": x + 0.01 * r.normal(size=2000), "t": np.where(x > 0, "up", "down")})
    near = cur.Cart(leaf=1)(data, rng())
    far = cur.Cart(leaf=200)(data, rng())
    assert near.rows == far.rows == 2000
    assert np.abs(near["y"] - near["x"]).mean() < 0.05 < np.abs(far["y"] - far["x"]).mean()
    assert set(near["y"]) <= set(data["y"])
    assert ((near["t"] == "up") == (near["x"] > 0)).mean() > 0.99
    assert cur.Cart(rows=10, columns=["t", "x"])(data, rng()).names == ("t", "x")


def test_libraries_that_are_not_there_and_one_that_is(monkeypatch):
    with pytest.raises(InvalidParameter, match="library must be one of"):
        cur.Library("magic", "x")
    if "synthcity" not in cur.installed():
        with pytest.raises(NotInstalled, match="not installed: Python finds no module 'synthcity'"):
            cur.Library("synthcity", "adsgan")(HALF, rng())

    class Model:
        def __init__(self, epochs):
            self.epochs = epochs

        def fit(self, frame, discrete):
            self.frame, self.discrete = frame, discrete

        def sample(self, rows):
            assert (self.epochs, self.discrete) == (3, ["town"])
            return self.frame.sample(rows, replace=True)

    fake = types.ModuleType("ctgan")
    fake.CTGAN = Model
    fake.__spec__ = types.SimpleNamespace(name="ctgan")
    monkeypatch.setitem(sys.modules, "ctgan", fake)
    assert "ctgan" in cur.installed()
    made = [cur.Library("ctgan", "CTGAN", {"epochs": 3})(HALF, rng()) for _ in range(2)]
    assert made[0].rows == 400
    assert made[0]["age"].tolist() == made[1]["age"].tolist()
    with pytest.raises(InvalidParameter, match="has no 'Nothing'"):
        cur.Library("ctgan", "Nothing")(HALF, rng())


class TestLearners:
    lens = Lens("all", ("age", "town", "pay"))

    @pytest.mark.parametrize("name", [n for n in lrn.tabular.NAMES if n != "boosting"])
    def test_every_built_in_predicts_in_range_from_unseen_values(self, name):
        made = lrn.named(name)
        from holdfast.coherence.protocol import call

        h = call(made, HALF, self.lens, ILL, rng())
        rows = Table.of({"age": [1, 500], "town": ["Z", None], "pay": [np.nan, 1e9]})
        found = h(rows)
        assert found.shape == (2,)
        assert np.abs(found).max() <= 1 + 1e-12

    def test_labels_and_confidences_differ(self):
        soft = lrn.named("forest")(HALF, self.lens, ILL, rng())(HALF)
        hard = lrn.named("forest", prediction="label")(HALF, self.lens, ILL, rng())(HALF)
        assert set(hard) == {-1.0, 1.0}
        assert np.unique(soft).size > 2
        assert (np.sign(soft)[soft != 0] == hard[soft != 0]).all()

    def test_memorisers_know_their_rows(self):
        unique = HALF.with_column("age", np.arange(400))
        truth = 2.0 * HALF["ill"] - 1
        for name in ("linkage", "tree", "nearest-neighbour"):
            from holdfast.coherence.protocol import call

            h = call(lrn.named(name), unique, Lens("age", ("age",)), ILL, rng())
            np.testing.assert_array_equal(h(unique), truth)

    def test_any_estimator(self):
        svm = pytest.importorskip("sklearn.svm")
        made = lrn.learner_of(svm.LinearSVC())
        assert made.name == "LinearSVC"
        found = made(HALF, Lens("age", ("age",)), ILL, rng())(HALF)
        assert np.abs(found).max() < 1
        with pytest.raises(InvalidParameter, match="cannot be imported"):
            lrn.named("sklearn.svm.Nothing")(HALF, self.lens, ILL, rng())
        with pytest.raises(InvalidParameter, match="must be a name"):
            lrn.learner_of(3)

    def test_one_class_only(self):
        well = HALF.take(HALF["ill"] == 0)
        assert set(lrn.named("tree")(well, self.lens, ILL, rng())(HALF)) == {-1.0}

    def test_scores(self):
        with pytest.raises(InvalidParameter):
            lrn.from_probability([1.5])
        with pytest.raises(InvalidParameter):
            lrn.from_scores([1.5], 0, 1)

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: cur.Function(5), "function must be callable"),
            (lambda: lrn.tabular.Estimator(5), "estimator must be a scikit-learn estimator or its dotted name"),
            (
                lambda: lrn.tabular.Estimator("sklearn.svm.SVC", options={"depth": 3}).fresh(),
                "estimator 'sklearn.svm.SVC' cannot be made with these options",
            ),
            (lambda: lrn.Linkage()(HALF, TestLearners.lens, None), "this learner predicts a target, but the audit has"),
            (
                lambda: lrn.Linkage()(HALF, TestLearners.lens, Target("ill = 1", not_applicable="ill in (0, 1)")),
                "the report has no row that the target applies to",
            ),
            (
                lambda: lrn.attackers.NearestRecord()(HALF.take([0]), TestLearners.lens, ILL),
                "the report must have at least 2 rows, so that distances can be measured",
            ),
            (
                lambda: lrn.attackers.Given({"street": [0.5]}).for_rows(np.arange(1), TestLearners.lens),
                "no predictions were given for lens 'all'",
            ),
            (
                lambda: lrn.attackers.Given([0.5]).for_rows(np.arange(2), TestLearners.lens),
                "predictions must be a list of one number for each row of the data",
            ),
        ],
    )
    def test_what_cannot_be_learnt_from_is_refused_with_the_reason(self, make, words):
        with pytest.raises(InvalidParameter, match=words):
            make()

    def test_text_where_the_report_has_numbers_is_no_known_value(self):
        h = lrn.Linkage()(HALF, Lens("x", ("age",)), ILL)
        numbers, words = Table.of({"age": [1000, 2000]}), Table.of({"age": ["old", "young"]})
        assert h(words).tolist() == h(numbers).tolist()
        empty = lrn.Linkage()(HALF.with_column("age", np.full(400, np.nan)), Lens("x", ("age",)), ILL)
        assert np.isfinite(empty(numbers)).all()
