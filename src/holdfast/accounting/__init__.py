"""Accounting: costs, and the filters and odometers that add them up soundly when they are chosen adaptively.

A filter says before release whether a cost may still be spent; `default_filter` is the one to start with. An odometer
says at any time what has been spent; `default_odometer` is the one to start with.
"""

from holdfast.accounting.costs import GDP, RDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.accounting.filters.all_of import AllOf
from holdfast.accounting.filters.any_of import AnyOf
from holdfast.accounting.filters.base import Filter
from holdfast.accounting.filters.basic import BasicFilter
from holdfast.accounting.filters.bits import BitsFilter
from holdfast.accounting.filters.default import default_filter
from holdfast.accounting.filters.from_odometer import FilterFromOdometer
from holdfast.accounting.filters.gdp import GDPFilter
from holdfast.accounting.filters.individual import IndividualFilter, gaussian_row_costs
from holdfast.accounting.filters.renyi import RenyiFilter
from holdfast.accounting.filters.renyi_curve import RenyiCurveFilter
from holdfast.accounting.filters.rogers import RogersFilter
from holdfast.accounting.filters.whitehouse import WhitehouseFilter
from holdfast.accounting.filters.zcdp import ZCDPFilter
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.odometers.basic import BasicOdometer
from holdfast.accounting.odometers.default import default_odometer
from holdfast.accounting.odometers.inversion import InversionOdometer
from holdfast.accounting.odometers.line import LineOdometer
from holdfast.accounting.odometers.minimum import MinimumOdometer
from holdfast.accounting.odometers.mixture import MixtureOdometer
from holdfast.accounting.odometers.renyi import RenyiOdometer
from holdfast.accounting.odometers.rogers import RogersOdometer
from holdfast.accounting.odometers.stitched import StitchedOdometer
from holdfast.accounting.odometers.zcdp import ZCDPOdometer

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
