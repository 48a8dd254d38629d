"""The ledger's one-way order."""

from __future__ import annotations

import math

import pytest

from holdfast.bounds.approximate_dp import approx_dp
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.max_information import description_length, general_line, pure_dp
from holdfast.bounds.max_information_ledger import MaxInformationLedger
from holdfast.bounds.transfer import interleaved
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict

EMPTY = MaxInformationLedger(10_000)


def test_private_steps_are_converted_once() -> None:
    ledger = EMPTY
    for _ in range(10):
        ledger = ledger.with_private(0.0001)
    assert ledger.epsilon == 0.001
    assert ledger.phase == "private"
    assert ledger.max_information(0.01).bits == pytest.approx(pure_dp(0.001, 10_000, 0.01).bits)
    ledger = ledger.with_private(0.001, 1e-12)
    assert ledger.max_information(0.01).bits == pytest.approx(approx_dp(0.002, 1e-12, 10_000, 0.01).bits)
    assert EMPTY.private == ()  # every step returned a new ledger


def test_there_is_no_way_back() -> None:
    ledger = EMPTY.with_private(0.001, 1e-12).with_look(4)
    assert ledger.phase == "general"
    with pytest.raises(LedgerConflict, match=r"Theorem 3\.9"):
        ledger.with_private(0.001, 1e-12)
    with pytest.raises(LedgerConflict, match=r"Theorem 3\.9"):
        ledger.with_bound(MaxInformation(1.0, 0.01, "product"))
    assert ledger.with_private(0.001, 1e-12, unsafe=True).max_information(0.025).bits == math.inf
    forced = ledger.with_bound(MaxInformation(1.0, 0.01, "product"), unsafe=True)
    assert forced.max_information(0.025).bits == math.inf
    with pytest.raises(GuaranteeUnavailable):
        forced.transfer(0.025)


def test_pure_steps_after_a_look_cost_the_general_line() -> None:
    ledger = EMPTY.with_private(0.001).with_look(4)
    more = ledger.with_private(0.0005)
    assert more.max_information(0.025).bits == pytest.approx(
        ledger.max_information(0.025).bits + general_line(0.0005, 10_000)
    )
    assert more.transfer(0.025).bits == pytest.approx(interleaved(4, 0.0015, 10_000, 0.025).bits)


def test_neighbouring_looks_are_one_look() -> None:
    assert EMPTY.with_look(3).with_look(4).max_information(0.01) == EMPTY.with_look(7).max_information(0.01)
    assert EMPTY.with_look(7).max_information(0.01).bits == description_length(7, 0.01).bits
    assert EMPTY.with_look(7).max_information(0.01).scope == "any"
    apart = EMPTY.with_look(3).with_private(0.0001).with_look(4)
    assert apart.max_information(0.01).bits > EMPTY.with_look(7).with_private(0.0001).max_information(0.01).bits


def test_beta_is_shared_out_well() -> None:
    ledger = EMPTY.with_private(0.001, 1e-12).with_look(4)
    best = ledger.max_information(0.025)
    for share in (0.01, 0.1, 0.2, 0.5, 0.9):
        fixed = approx_dp(0.001, 1e-12, 10_000, share * 0.025).bits + description_length(4, (1 - share) * 0.025).bits
        assert best.bits <= fixed + 1e-9
    assert best.beta == 0.025
    assert ledger.transfer(0.025).bits < best.bits


def test_bounds_by_hand_keep_their_beta() -> None:
    ledger = EMPTY.with_bound(MaxInformation(5.0, 0.02, "any")).with_look(1)
    assert ledger.max_information(0.03).bits == pytest.approx(5 + description_length(1, 0.01).bits)
    with pytest.raises(GuaranteeUnavailable, match="already use up beta"):
        ledger.max_information(0.02)
    with pytest.raises(GuaranteeUnavailable, match="transfer"):
        ledger.transfer(0.03)
    with pytest.raises(InvalidParameter, match="MaxInformation"):
        ledger.with_bound(interleaved(1, 0.1, 10, 0.1))  # type: ignore[arg-type]


def test_nothing_released_costs_nothing() -> None:
    assert EMPTY.max_information(0.01).bits == 0
    assert EMPTY.transfer(0.01).bits == 0


def test_separated_looks_share_beta() -> None:
    # two groups of looks with a pure step between them: each group gets half of what is left
    ledger = EMPTY.with_look(3).with_private(0.0001).with_look(4)
    by_hand = description_length(3, 0.005).bits + general_line(0.0001, 10_000) + description_length(4, 0.005).bits
    assert ledger.max_information(0.01).bits == pytest.approx(by_hand, rel=1e-12)
    three = ledger.with_private(0.0002).with_look(1).with_look(1)
    by_hand = sum(description_length(b, 0.01 / 3).bits for b in (3, 4, 2)) + general_line(0.0003, 10_000)
    assert three.max_information(0.01).bits == pytest.approx(by_hand, rel=1e-12)


def test_transfer_prices_what_the_order_forbids() -> None:
    first = EMPTY.with_private(0.001, 1e-12).with_look(4)
    last = EMPTY.with_look(4).with_private(0.001, 1e-12, unsafe=True)
    assert last.unsound
    assert last.max_information(0.025).bits == math.inf
    assert last.transfer(0.025) == first.transfer(0.025)
    both = first.with_private(0.002, 3e-12, unsafe=True).with_private(0.0005)
    assert both.transfer(0.025).bits == interleaved(4, 0.0035, 10_000, 0.025, 4e-12).bits
    assert both.transfer(0.025).bits > first.transfer(0.025).bits
    with pytest.raises(GuaranteeUnavailable, match="sum to"):
        first.with_private(0.1, 0.999999999999, unsafe=True).transfer(0.025)
