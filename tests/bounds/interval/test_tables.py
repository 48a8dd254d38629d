"""The tables of the specifications, to the digits they print."""

from __future__ import annotations

import pytest

from holdfast.bounds import interval
from holdfast.bounds.interval.mutual_information import russo_zou, russo_zou_kl, xu_raginsky
from holdfast.bounds.interval.published import bns, dfh, jung

COLUMNS = {
    "split-bin": lambda n, k, b: interval.splitting(n, k, b, method="paper"),
    "split": interval.splitting,
    "dfh-lap": lambda n, k, b: dfh(n, k, b, "laplace"),
    "dfh-gau": dfh,
    "bns-lap": lambda n, k, b: bns(n, k, b, "laplace", "paper"),
    "bns-gau": lambda n, k, b: bns(n, k, b, method="paper"),
    "rz-mon": lambda n, k, b: russo_zou(n, k, b, method="paper"),
    "rz-sum": lambda n, k, b: russo_zou(n, k, b, method="sum", information="zcdp"),
    "rz-best": lambda n, k, b: russo_zou(n, k, b, information="zcdp"),
    "rz-kl": lambda n, k, b: russo_zou_kl(n, k, b, method="paper"),
    "rz-kl-quarter": russo_zou_kl,
    "xr": lambda n, k, b: xu_raginsky(n, k, b, method="paper"),
    "jln-zcdp": lambda n, k, b: jung(n, k, b, method="paper"),
    "jln": lambda n, k, b: jung(n, k, b, method="exact"),
    "closed": interval.posterior_shift,
    "non-adaptive": interval.non_adaptive,
}

# spec-confidence-and-composition 5.1, k = n/10
TENTH = """
n k split-bin split dfh-lap dfh-gau bns-lap bns-gau rz-mon rz-sum rz-best xr jln-zcdp jln
100 10 0.4000 0.5473 4.133 3.764 3.825 2.480 1.937 1.411 1.162 1.760 1.578 1.281
400 40 0.5000 0.6074 3.510 2.693 2.901 1.775 1.034 0.9830 0.8173 1.285 1.137 0.9244
1600 160 0.5000 0.6620 2.926 2.173 2.174 1.269 0.7048 0.6957 0.5823 0.9385 0.8160 0.6653
6400 640 0.5000 0.7124 2.408 1.739 1.618 0.9082 0.4995 0.4973 0.4181 0.6844 0.5854 0.4783
25600 2560 0.5000 0.7595 1.962 1.383 1.200 0.6504 0.3581 0.3575 0.3015 0.4980 0.4199 0.3437
102400 10240 0.5000 0.8038 1.586 1.094 0.8872 0.4662 0.2579 0.2577 0.2177 0.3614 0.3013 0.2470
409600 40960 0.5000 0.8458 1.274 0.8621 0.6549 0.3343 0.1860 0.1859 0.1572 0.2618 0.2163 0.1774
"""
# spec-confidence-and-composition 5.1, n = 100000
LARGE = """
n k split-bin split dfh-gau bns-lap bns-gau rz-mon rz-best xr jln non-adaptive
100000 10 0.0140 0.0173 0.2124 0.1340 0.0749 0.0612 0.0368 0.0556 0.0398 0.0055
100000 100 0.0550 0.0644 0.3752 0.2521 0.1379 0.0797 0.0652 0.1044 0.0733 0.0064
100000 200 0.0820 0.0948 0.4430 0.3047 0.1656 0.0942 0.0780 0.1262 0.0881 0.0067
100000 500 0.1350 0.1573 0.5502 0.3914 0.2112 0.1186 0.0991 0.1619 0.1122 0.0070
100000 1000 0.2000 0.2302 0.6470 0.4732 0.2538 0.1418 0.1190 0.1954 0.1348 0.0073
100000 5000 0.4500 0.5524 0.9381 0.7364 0.3896 0.2160 0.1822 0.3017 0.2066 0.0078
100000 10000 0.5000 0.8031 1.099 0.8919 0.4689 0.2593 0.2189 0.3634 0.2484 0.0080
100000 100000 0.5000 2.757 1.846 1.700 0.8729 0.4765 0.4031 0.6717 0.4601 0.0087
"""
# spec-tighter-widths 0
SUMMARY = """
n k beta non-adaptive split jln rz-kl rz-kl-quarter closed
6400 640 0.05 0.0282 0.7124 0.4783 0.4089 0.2898 0.1975
100000 1000 0.05 0.0073 0.2302 0.1348 0.1168 0.0827 0.0565
100000 1000 0.001 0.0085 0.2693 0.1742 0.3345 0.2366 0.0757
1000000 10000 0.05 0.0025 0.2540 0.0785 0.0688 0.0487 0.0335
10000 100 0.05 0.0204 0.2036 0.2306 0.1967 0.1400 0.0939
100000 10 0.05 - - - - - 0.0152
100000 100 0.05 - - - - - 0.0297
100000 200 0.05 - - - - - 0.0361
100000 500 0.05 - - - - - 0.0466
100000 5000 0.05 - - - - - 0.0879
100000 10000 0.05 - - - - - 0.1061
100000 100000 0.05 - - - - - 0.1973
100 10 0.05 - - - - - 0.4813
400 40 0.05 - - - - - 0.3612
1600 160 0.05 - - - - - 0.2681
25600 2560 0.05 - - - - - 0.1447
102400 10240 0.05 - - - - - 0.1055
100000 1000 0.01 - - - - - 0.0652
100000 1000 0.0001 - - - - - 0.0847
"""
# spec-tighter-widths 0, scheduled noise: n, k, beta, width. The search may do better than the one that was printed.
SCHEDULED = [
    (6400, 640, 0.05, 0.1738),
    (100_000, 1000, 0.05, 0.0497),
    (100_000, 1000, 0.001, 0.0653),
    (1_000_000, 10_000, 0.05, 0.0295),
    (10_000, 100, 0.05, 0.0830),
    (100_000, 10, 0.05, 0.0139),
    (100_000, 200, 0.05, 0.0319),
    (100_000, 500, 0.05, 0.0411),
    (100_000, 5000, 0.05, 0.0773),
    (100, 10, 0.05, 0.4390),
    (400, 40, 0.05, 0.3215),
    (1600, 160, 0.05, 0.2367),
    (25_600, 2560, 0.05, 0.1273),
    (102_400, 10_240, 0.05, 0.0928),
    (100_000, 1000, 0.01, 0.0569),
    (100_000, 1000, 1e-4, 0.0727),
]


def _cells(text: str) -> list[tuple[str, int, int, float, str]]:
    head, *lines = text.strip().splitlines()
    names = head.split()
    first = 3 if "beta" in names else 2
    cells = []
    for line in lines:
        words = line.split()
        n, k, beta = int(words[0]), int(words[1]), float(words[2]) if first == 3 else 0.05
        cells += [(name, n, k, beta, w) for name, w in zip(names[first:], words[first:], strict=True) if w != "-"]
    return cells


@pytest.mark.parametrize(("name", "n", "k", "beta", "printed"), _cells(TENTH) + _cells(LARGE) + _cells(SUMMARY))
def test_printed_width(name: str, n: int, k: int, beta: float, printed: str) -> None:
    unit = 10.0 ** -len(printed.partition(".")[2])
    # the tables round to nearest, and in two cells up
    assert float(printed) - unit < COLUMNS[name](n, k, beta).half_width < float(printed) + 0.501 * unit


@pytest.mark.parametrize(("n", "k", "beta", "printed"), SCHEDULED)
def test_printed_schedule(n: int, k: int, beta: float, printed: float) -> None:
    found = interval.scheduled(n, k, beta).half_width
    assert 0.995 * printed < found < printed + 0.00005001


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("split-bin", (288, 1010)),
        ("bns-gau", (29, 407)),
        ("rz-mon", (254, 3729)),
        ("rz-best", (516, 7111)),
        ("jln", (323, 4425)),
    ],
)
def test_questions_answerable(name: str, counts: tuple[int, int]) -> None:
    """The counts of 5.1 are the last that fit, on the rules of the time (zCDP information, printed transfer)."""
    for tau, k in zip((0.1, 0.2), counts, strict=True):
        assert COLUMNS[name](100_000, k, 0.05).half_width <= tau < COLUMNS[name](100_000, k + 1, 0.05).half_width


def test_noise_scales() -> None:
    """Figure 4 of the thesis, as reproduced in 5.1: standard deviations at n = 1e5."""
    scales = {
        "rz-mon": ("5.09e-3", "9.40e-3", "1.49e-2", "2.49e-2", "4.23e-2"),
        "bns-gau": ("4.62e-3", "8.05e-3", "1.42e-2", "2.53e-2", "4.60e-2"),
        "dfh-gau": ("2.91e-2", "4.43e-2", "6.81e-2", "1.05e-1", "1.64e-1"),
    }
    for name, printed in scales.items():
        for k, text in zip((10, 100, 1000, 10_000, 100_000), printed, strict=True):
            assert COLUMNS[name](100_000, k, 0.05).sigma == pytest.approx(float(text), rel=0.006)
    for name, sd in {"rz-mon": 5.36e-2, "bns-gau": 5.55e-2, "dfh-gau": 0.187}.items():
        assert COLUMNS[name](6400, 640, 0.05).sigma == pytest.approx(sd, rel=0.004)
    for name, sd in {
        "bns-lap": 5.55e-2,
        "dfh-lap": 0.168,
    }.items():  # printed as deviations; a Laplace scale is sqrt 2 less
        assert 2**0.5 * COLUMNS[name](6400, 640, 0.05).sigma == pytest.approx(sd, rel=0.004)


def test_dependence_on_beta() -> None:
    for beta, rz, jln, sharp in [
        (0.05, 0.119, 0.135, 0.0708),
        (0.01, 0.187, 0.153, 0.0788),
        (0.001, 0.361, 0.174, 0.0885),
    ]:
        assert COLUMNS["rz-best"](100_000, 1000, beta).half_width == pytest.approx(rz, abs=6e-4)
        assert COLUMNS["jln"](100_000, 1000, beta).half_width == pytest.approx(jln, abs=6e-4)
        assert jung(100_000, 1000, beta).half_width == pytest.approx(sharp, abs=6e-5)
    assert jung(100_000, 1000, 1e-4).half_width == pytest.approx(0.0969, abs=6e-5)
    assert COLUMNS["rz-best"](100_000, 1000, 1e-4).half_width == pytest.approx(0.719, abs=6e-4)


def test_parameters_beside_the_widths() -> None:
    """The second and third numbers of the vectors of spec-confidence-and-composition 6."""
    assert dfh(6400, 640, 0.05, "laplace").tuning["epsilon_per_question"] == pytest.approx(0.001317340283, rel=1e-9)
    assert dfh(6400, 640, 0.05).tuning["rho_per_question"] == pytest.approx(3.500882082e-07, rel=1e-9)
    assert COLUMNS["rz-mon"](6400, 640, 0.05).tuning["information_nats"] == pytest.approx(17.38421159, rel=1e-9)
    assert COLUMNS["rz-mon"](100_000, 1000, 0.05).tuning["information_nats"] == pytest.approx(22.45911932, rel=1e-9)


def test_free_copies_beat_the_printed_choice() -> None:
    """4.2: at most 0.5304 and 0.1485, the values at s = 80."""
    assert bns(6400, 640, 0.05, method="optimised").half_width <= 0.53045
    assert bns(100_000, 1000, 0.05, method="optimised").half_width <= 0.14855
