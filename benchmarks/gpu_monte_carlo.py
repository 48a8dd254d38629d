"""MCIndep's null replicates on a GPU against NumPy: `python -m benchmarks.gpu_monte_carlo`, where PyTorch sees a GPU.

Not part of `make bench`. Each row tests `tables` noisy tables, each against `m` replicates of its own: multinomial,
noise, two-step estimate, statistic. Times include moving tables to the GPU and p-values back.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from holdfast.inference.private_tests import gaussian, independence_batch, laplace, simulate_tables
from holdfast.inference.private_tests.gpu import independence_p_values

#: Name, table, records, noise, tables, replicates of each.
CASES: list[tuple[str, tuple[int, int], int, Any, int, int]] = [
    ("one test", (2, 2), 10_000, gaussian(0.00125), 1, 999),
    ("one test, many replicates", (2, 2), 10_000, gaussian(0.00125), 1, 1_000_000),
    ("a level study", (2, 2), 10_000, gaussian(0.00125), 2_500, 999),
    ("a level study, Laplace", (2, 2), 10_000, laplace(0.1), 2_500, 999),
    ("redrawing often", (2, 2), 1_500, gaussian(0.00005), 2_500, 999),
    ("5 by 5", (5, 5), 50_000, gaussian(0.00125), 2_500, 999),
    ("10 by 10", (10, 10), 200_000, gaussian(0.00125), 250, 999),
]


def numpy_p_values(noisy: Any, n: int, noise: Any, m: int, seed: int) -> Any:
    """The same with the library's NumPy engine, on one core."""
    rng = np.random.default_rng(seed)
    return independence_batch(noisy, n, noise, method="monte-carlo", m=m, rng=rng).p_value


def _best(run: Any, repeats: int) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - start)
    return best, found


def main() -> int:
    """Print one line a case; 2 where there is no GPU."""
    try:
        import torch
    except ImportError:
        print("no PyTorch here")
        return 2
    gpu = torch.cuda.is_available()
    device = "cuda" if gpu else "cpu"
    cores = len(os.sched_getaffinity(0))
    print(f"{torch.cuda.get_device_name() if gpu else 'no GPU'}; torch {torch.__version__}, numpy {np.__version__}")
    heads = ("tables x m", 14), ("1 core s", 10), (f"{cores} cores s", 12), ("GPU s", 9), ("x 1", 7), (f"x {cores}", 7)
    print(f"{'case':28}" + "".join(f"{head:>{width}}" for head, width in heads) + "  p-values")
    for number, (name, shape, n, noise, tables, m) in enumerate(CASES):
        law = np.full(shape, 1 / (shape[0] * shape[1]))
        noisy = simulate_tables(n, law, noise, tables, np.random.default_rng(number))
        independence_p_values(noisy[:2], n, noise, m=99, device=device)
        repeats = 2 if tables * m > 10**5 else 5
        one, ours = _best(lambda a=(noisy, n, noise, m, 1): numpy_p_values(*a), repeats)
        many = float("nan")
        if tables >= cores:
            with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
                parts = [(part, n, noise, m, i) for i, part in enumerate(np.array_split(noisy, cores))]
                list(pool.map(numpy_p_values, *zip(*[(p[0][:2], *p[1:]) for p in parts], strict=True)))  # warm
                many, _ = _best(lambda p=parts, q=pool: list(q.map(numpy_p_values, *zip(*p, strict=True))), 2)
        fast, theirs = _best(
            lambda a=(noisy, n, noise), k=m: independence_p_values(*a, m=k, device=device), max(repeats, 3)
        )
        gap = float(np.nanmax(np.abs(ours - theirs)))
        print(
            f"{name:28}{f'{tables:,} x {m:,}':>14}{one:10.4f}{many:12.4f}{fast:9.4f}{one / fast:7.1f}{many / fast:7.1f}"
            f"  mean {np.nanmean(ours):.4f} {np.nanmean(theirs):.4f}, largest gap {gap:.4f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
