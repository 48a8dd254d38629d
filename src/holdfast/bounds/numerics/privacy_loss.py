"""The distribution of the privacy loss of composed randomized responses: exact atoms, or a lattice that only overstates
it.

Every epsilon-DP mechanism on a pair of neighbours is a post-processing of randomized response with that epsilon, whose
loss is `+epsilon` with probability `e^epsilon/(1 + e^epsilon)` and `-epsilon` otherwise. So the largest delta that a
composition allows at `epsilon_total` is `E (1 - e^(epsilon_total - L))_+` for the sum L of such losses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import UNIT

Array = NDArray[np.float64]
ATOMS = 1 << 21
"""More atoms than this are not enumerated."""
_DEVIATIONS = 20.0  # Hoeffding: mass beyond 20 sqrt(k) heads on one side is below e^-800
_TAIL = 45.0  # mass that may wrap around the lattice, as a power of e
_KINDS = 256  # different epsilons that the lattice handles one by one
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


@dataclass(frozen=True)
class Loss:
    """A distribution of the loss: atoms at `values`, with probability `weights * exp(log_scale - tilt * values)`.

    `absolute` bounds the error of one weight and `relative` that of the logarithm of delta; both are negative for a
    distribution that understates.
    """

    values: Array
    weights: Array
    relative: float
    absolute: float = 0.0
    tilt: float = 0.0
    log_scale: float = 0.0

    def log_delta(self, epsilon: float) -> float:
        """Return the log of `E (1 - e^(epsilon - L))_+`, rounded up; -inf where the loss never exceeds epsilon."""
        excess = self.values - epsilon
        above = excess > 0
        if not above.any():
            return -math.inf
        if self.tilt:  # what lies further out weighs less than e^-100 in all; it is added below
            above &= excess < 100 / self.tilt
        excess, weights, values = excess[above], self.weights[above], self.values[above]
        decay = np.exp(-self.tilt * excess) if self.tilt else np.ones_like(excess)
        shape = -np.expm1(-excess) * decay
        side = -1 if self.relative < 0 else 1
        sharp = float(np.sum(weights * shape)) + self.absolute * (float(shape.sum()) + 1)
        sharp += side * 4 * UNIT * float(np.sum(weights * decay * np.abs(values)))  # rounding of the excess itself
        sharp += math.exp(-100) if self.tilt and side > 0 else 0.0
        if sharp <= 0:
            return -math.inf
        shift = self.log_scale - self.tilt * epsilon
        rounding = side * 8 * UNIT * (abs(self.log_scale) + self.tilt * epsilon)
        return min(0.0, math.log(sharp) + shift + rounding + self.relative)


def exact_loss(counts: Counter[float]) -> Loss | None:
    """Return all atoms of the composed loss, or None when there are more than `ATOMS` of them.

    `counts` says how many mechanisms have each epsilon; k of one kind have k + 1 atoms. Atoms with probability below
    e^-740 are left out.
    """
    counts = _positive(counts)
    sizes = [min(count, int(2 * _DEVIATIONS * math.sqrt(count)) + 1) + 1 for count in counts.values()]
    if math.prod(sizes) > ATOMS:
        return None
    values: Array = np.zeros(1)
    logs: Array = np.zeros(1)
    relative = 64 * UNIT * (len(counts) + 1)
    for epsilon, count in counts.items():
        tops, log_pmf, error = _heads(epsilon, count)
        values = np.add.outer(values, (2 * tops - count) * epsilon).ravel()
        logs = np.add.outer(logs, log_pmf).ravel()
        relative += error
    keep = logs > -740
    return Loss(values[keep], np.exp(logs[keep]), relative)


def lattice_loss(counts: Counter[float], tilt: float, *, upper: bool) -> Loss:
    """Return the composed loss on a lattice, from above or from below.

    From above, a randomized response between two lattice points is replaced by a random choice of the two neighbouring
    responses, from which it can be had by forgetting the choice; the replacement leaks at least as much. From below it
    is replaced by the response with the next smaller lattice epsilon. More than 256 different epsilons are first
    gathered in 256 groups, each taken at its largest (smallest) member.

    The distribution is multiplied by `e^(tilt L)` and normalised, so that its bulk lies where delta is made
    (`tilt_for_delta`, `tilt_for_epsilon`; every tilt is valid). The rounding error of the Fourier transform is then
    small next to delta, however small delta is, and is added on.
    """
    kinds = _gathered(_positive(counts), upper)
    size = 1 << (17 if len(kinds) <= 64 else 16)
    step = _step(kinds, size)
    tilt = min(tilt, 30 / step)
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    frequencies = np.arange(size // 2 + 1)
    log_scale = 0.0
    mean = 0.0
    for epsilon, count in kinds.items():
        points, masses = _on_lattice(epsilon, step, upper)
        tilted = masses * np.exp(tilt * step * points - tilt * epsilon)
        total = float(tilted.sum())
        tilted /= total
        log_scale += count * (math.log(total) + tilt * epsilon)
        mean += count * float(np.sum(tilted * points))
        factor = np.zeros_like(transform)
        for mass, point in zip(tilted, points.astype(int), strict=True):
            factor += mass * turn[(frequencies * point) % size]
        size_of = np.log(np.maximum(np.abs(factor), 1e-300))
        transform *= factor if count == 1 else np.exp(count * (size_of + 1j * np.angle(factor)))
    weights = np.fft.irfft(transform, size)
    places = np.arange(size) + round(mean) - size // 2  # unroll the circle around the tilted mean
    weights = weights[places % size]
    number = sum(kinds.values())
    peak = float(np.abs(weights).max())
    absolute = 16 * number * UNIT * float(np.abs(transform).mean()) + 8 * UNIT * math.log2(size) * math.sqrt(peak)
    absolute += math.exp(-_TAIL)
    relative = 16 * UNIT * (len(kinds) + number)
    if not upper:
        absolute, relative = -absolute, -relative
    return Loss(places.astype(float) * step, np.maximum(weights, 0.0), relative, absolute, tilt, log_scale)


def _positive(counts: Counter[float]) -> Counter[float]:
    return Counter({e: c for e, c in counts.items() if e > 0 and c > 0})


def _step(kinds: Counter[float], size: int) -> float:
    """A step such that tilted mass beyond the lattice is below e^-45 (Hoeffding), the lattice's own spread included."""
    step, wanted = 0.0, 1e-300
    while step < wanted:
        step = 2 * wanted if step else 1e-300
        variance = math.fsum(c * (e + step) ** 2 for e, c in kinds.items())
        support = 2 * math.fsum(c * (e + step) for e, c in kinds.items())
        wanted = min(math.sqrt(8 * variance * _TAIL), support) / (size - 8)
    return wanted


def _gathered(counts: Counter[float], upper: bool) -> Counter[float]:
    if len(counts) <= _KINDS:
        return counts
    ordered = sorted(counts.elements())
    gathered: Counter[float] = Counter()
    for group in np.array_split(np.asarray(ordered), _KINDS):
        gathered[float(group[-1] if upper else group[0])] += len(group)
    return gathered


def _on_lattice(epsilon: float, step: float, upper: bool) -> tuple[Array, Array]:
    """Points (whole multiples of `step`) and masses that stand for one randomized response."""
    low = math.floor(epsilon / step)
    if not upper:
        top = _top(low * step)
        return np.array([low, -low], dtype=float), np.array([top, 1 - top])
    high = low + 1
    share = _share(epsilon, low * step, high * step)
    tops = np.array([_top(low * step), _top(high * step)])
    parts = np.array([1 - share, share])
    masses = np.concatenate([parts * tops, parts * (1 - tops)])
    return np.array([low, high, -low, -high], dtype=float), masses


def _share(epsilon: float, low: float, high: float) -> float:
    """How often the larger response is taken, so that the probability of the likelier answer is kept; rounded up."""
    if epsilon <= low:
        return 0.0
    # p(a) - p(b) = sinh((a-b)/2) / (2 cosh(a/2) cosh(b/2)), so the quotient loses no digits.
    log_cosh = _log_cosh(high / 2) - _log_cosh(epsilon / 2)
    quotient = math.sinh((epsilon - low) / 2) / math.sinh((high - low) / 2) * math.exp(log_cosh)
    return min(1.0, quotient * (1 + 16 * UNIT) + 4 * UNIT * epsilon / (high - low))


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)


def _top(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon))


def tilt_for_epsilon(counts: Counter[float], epsilon: float) -> float:
    """Return the tilt under which the mean loss is `epsilon`; a response tilted by s has mean `e tanh((s + 1/2) e)`."""
    return _first_tilt(counts, lambda mean, log_mgf, tilt: mean >= epsilon)


def tilt_for_delta(counts: Counter[float], delta: float) -> float:
    """The tilt at which Chernoff's bound is `delta`, so that the mean loss is close to the epsilon looked for."""
    return _first_tilt(counts, lambda mean, log_mgf, tilt: log_mgf - tilt * mean <= math.log(delta))


def _first_tilt(counts: Counter[float], reached: Callable[[float, float, float], bool]) -> float:
    """The smallest tilt at which `reached(mean, log moment generating function, tilt)`, by bisection."""
    counts = _positive(counts)
    epsilons, numbers = np.array(list(counts)), np.array(list(counts.values()), dtype=float)
    limit = 30 / float(epsilons.min())  # beyond this the tilted distribution is all but one atom

    def there(tilt: float) -> bool:
        means = epsilons * np.tanh((tilt + 0.5) * epsilons)
        logs = np.logaddexp((2 * tilt + 1) * epsilons, 0.0) - tilt * epsilons - np.logaddexp(epsilons, 0.0)
        return reached(float(np.sum(numbers * means)), float(np.sum(numbers * logs)), tilt)

    low, high = 0.0, limit
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if there(middle) else (middle, high)
    return high


def _heads(epsilon: float, count: int) -> tuple[Array, Array, float]:
    """Numbers of likelier answers among `count`, their log-probabilities, and a bound on the error of those."""
    likely, unlikely = _top(epsilon), 1 / (1 + math.exp(min(epsilon, 700.0)))
    reach = _DEVIATIONS * math.sqrt(count)
    first = max(0, math.floor(count * likely - reach))
    last = min(count, math.ceil(count * likely + reach))
    tops = np.arange(first, last + 1, dtype=float)
    error = UNIT * (800 + 8 * reach)
    return tops, log_binomial(count, tops, likely, unlikely), error


def log_binomial(count: int, heads: Array, likely: float, unlikely: float) -> Array:
    """Log-probabilities of the binomial distribution by Loader's saddle-point form, which loses no digits for large
    counts.

    Examples
    --------
    >>> float(np.exp(log_binomial(4, np.array([2.0]), 0.5, 0.5))[0])
    0.375...
    """
    tails = count - heads
    if count == 0:
        return np.zeros_like(heads)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = (
            _stirling_error(np.array([float(count)]))
            - _stirling_error(heads)
            - _stirling_error(tails)
            - _deviance(heads, count * likely)
            - _deviance(tails, count * unlikely)
            + 0.5 * (math.log(count) - np.log(2 * math.pi * heads) - np.log(tails))
        )
    log_likely, log_unlikely = math.log(likely), math.log(unlikely) if unlikely > 0 else -math.inf
    inner = np.where(heads == count, count * log_likely, inner)
    return np.where(heads == 0, count * log_unlikely, inner)


def _stirling_error(n: Array) -> Array:
    """`log n! - log(sqrt(2 pi n) (n/e)^n)`; 0 where n is 0, which callers treat apart."""
    small = np.array([0.0] + [_stirling_exact(i) for i in range(1, 16)])
    large = np.maximum(n, 16.0)
    series = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series / (large * large) + coefficient
    return np.where(n < 16, small[np.minimum(n, 15).astype(int)], series / large)


def _stirling_exact(n: int) -> float:
    return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)


def _deviance(x: Array, mean: float) -> Array:
    """`x log(x/mean) + mean - x` without cancellation near the mean."""
    difference = x - mean
    ratio = difference / (x + mean)
    series = np.zeros_like(x)
    for power in range(9, 0, -1):
        series = series * ratio * ratio + 1.0 / (2 * power + 1)
    near = difference * ratio + 2 * x * series * ratio**3
    safe = np.maximum(x, 1e-300)
    far = np.where(x > 0, safe * np.log(safe / mean), 0.0) - difference
    return np.where(np.abs(ratio) < 0.1, near, far)
