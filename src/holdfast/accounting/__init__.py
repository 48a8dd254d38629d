"""Accounting: costs, and the filters and odometers that add them up soundly when they are chosen adaptively.

A filter says before release whether a cost may still be spent; `default_filter` is the one to start with. An odometer
says at any time what has been spent; `default_odometer` is the one to start with.
"""

from holdfast.accounting.costs import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.accounting.filters import (
    AllOf,
    AnyOf,
    BasicFilter,
    BitsFilter,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    RenyiCurveFilter,
    RenyiFilter,
    RogersFilter,
    WhitehouseFilter,
    ZCDPFilter,
    default_filter,
)
from holdfast.accounting.individual import IndividualFilter, gaussian_row_costs
from holdfast.accounting.odometers import (
    BasicOdometer,
    InversionOdometer,
    LineOdometer,
    MinimumOdometer,
    MixtureOdometer,
    Odometer,
    RenyiOdometer,
    RogersOdometer,
    StitchedOdometer,
    ZCDPOdometer,
    default_odometer,
)

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "AllOf",
    "AnyOf",
    "ApproxDP",
    "BasicFilter",
    "BasicOdometer",
    "Bits",
    "BitsFilter",
    "Cost",
    "Filter",
    "FilterFromOdometer",
    "GDPFilter",
    "IndividualFilter",
    "InversionOdometer",
    "LineOdometer",
    "MinimumOdometer",
    "MixtureOdometer",
    "Odometer",
    "PointwiseDP",
    "PureDP",
    "RenyiCurveFilter",
    "RenyiFilter",
    "RenyiOdometer",
    "RogersFilter",
    "RogersOdometer",
    "StitchedOdometer",
    "WhitehouseFilter",
    "ZCDPFilter",
    "ZCDPOdometer",
    "default_filter",
    "default_odometer",
    "gaussian_row_costs",
]
