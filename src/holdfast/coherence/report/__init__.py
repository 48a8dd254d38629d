"""The report of an audit: one page that works offline, JSON and CSV next to it."""

from holdfast.coherence.report.content import Distribution, Report, build, distribution
from holdfast.coherence.report.files import places, write
from holdfast.coherence.report.page import SECTIONS, html
from holdfast.coherence.report.reading import read

__all__ = ["SECTIONS", "Distribution", "Report", "build", "distribution", "html", "places", "read", "write"]
