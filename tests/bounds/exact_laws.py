"""Exact distributions against which the bounds are audited: no sampling, only enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def leaky_response(epsilon: float, delta: float, n: int, prior: float = 0.5) -> tuple[Array, Array]:
    """Loss of `n` independent bits answered by randomized response that leaks each with probability delta.

    The mechanism is (epsilon, delta)-DP. Returns probabilities and losses (nats) of the information loss of sample and
    output. A multinomial over the kinds of row: leaked or not, bit, answer.
    """
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    kinds: dict[float, float] = {}
    for bit, chance in ((0, 1 - prior), (1, prior)):
        leaked = -math.log(chance)
        kinds[leaked] = kinds.get(leaked, 0.0) + chance * delta
        for answer in (0, 1):
            given = right if answer == bit else 1 - right
            marginal = sum(c * (right if answer == b else 1 - right) for b, c in ((0, 1 - prior), (1, prior)))
            loss = math.log(given / marginal)
            kinds[loss] = kinds.get(loss, 0.0) + chance * (1 - delta) * given
    items = [(loss, chance) for loss, chance in kinds.items() if chance > 0]
    probabilities, losses = [], []
    for counts in _compositions(n, len(items)):
        log_chance = math.lgamma(n + 1) + sum(
            c * math.log(chance) - math.lgamma(c + 1) for c, (_, chance) in zip(counts, items, strict=True)
        )
        probabilities.append(math.exp(log_chance))
        losses.append(sum(c * loss for c, (loss, _) in zip(counts, items, strict=True)))
    return np.array(probabilities), np.array(losses)


def excess(law: tuple[Array, Array], nats: float) -> float:
    """The exact failure probability at an exponent: `E[(1 - exp(k - Z))_+]`."""
    probabilities, losses = law
    over = losses > nats
    return float(np.sum(probabilities[over] * -np.expm1(nats - losses[over])))


def geometric_count(epsilon: float, delta: float, n: int, prior: float = 0.5) -> Array:
    """Joint table of the number of ones among `n` bits and its release with geometric noise, clamped to 0..n.

    With probability delta the exact number is shown instead, under other names: (epsilon, delta)-DP. The sample enters
    through the number of ones alone, so this table has the max-information of the whole sample.
    """
    counts = np.arange(n + 1)
    chance = np.array([math.comb(n, k) * prior**k * (1 - prior) ** (n - k) for k in counts])
    ratio = math.exp(-epsilon)
    channel = (1 - ratio) / (1 + ratio) * ratio ** np.abs(counts[:, None] - counts[None, :]).astype(float)
    channel[:, 0] = ratio**counts / (1 + ratio)
    channel[:, n] = ratio ** (n - counts) / (1 + ratio)
    return chance[:, None] * np.hstack([(1 - delta) * channel, delta * np.eye(n + 1)])


def interleaved_table(
    rng: np.random.Generator, n: int, epsilon: float, look_sizes: tuple[int, int], sure: bool
) -> Array:
    """Joint table of an interaction with `n` binary rows: look, private answers, look, private answers.

    The looks are functions of the sample and the transcript, `sure` or noisy. The private answers are randomized
    response on every row, half of epsilon each time, so together epsilon-DP whatever the looks say.
    """
    samples = list(itertools.product((0, 1), repeat=n))
    chances = rng.choice([0.02, 0.1, 0.3, 0.5], size=n)
    prior = np.array([np.prod([c if x else 1 - c for c, x in zip(chances, s, strict=True)]) for s in samples])
    right = math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    replies = list(itertools.product((0, 1), repeat=n))
    answer = np.array([[right ** sum(a == b for a, b in zip(s, r, strict=True)) for r in replies] for s in samples])
    answer *= np.array(
        [[(1 - right) ** sum(a != b for a, b in zip(s, r, strict=True)) for r in replies] for s in samples]
    )

    def look(size: int) -> Array:
        if sure:
            return np.eye(size)[rng.integers(size, size=len(samples))]
        return rng.dirichlet(np.full(size, 0.3), size=len(samples))

    first = look(look_sizes[0])
    columns = []
    for i in range(look_sizes[0]):
        flips = rng.integers(2, size=n)  # the private step may depend on the look: which rows are relabelled
        relabelled = [replies.index(tuple(int(a) ^ int(f) for a, f in zip(r, flips, strict=True))) for r in replies]
        for j in range(len(replies)):
            reached = prior * first[:, i] * answer[:, relabelled[j]]
            second = look(look_sizes[1])
            for k in range(look_sizes[1]):
                columns.extend((reached * second[:, k])[:, None] * answer[:, [m]] for m in range(len(replies)))
    return np.hstack(columns)


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(total - first, parts - 1)]
