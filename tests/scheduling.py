"""Which tests go to which process."""

from xdist.scheduler import LoadGroupScheduling


class Files(LoadGroupScheduling):
    """A file's tests, or those of a named group, stay together: servers and tables that they share are made once.

    Handing out one test at a time costs the process that hands them out time that grows with the square of their
    number: at 13,000 tests a good part of a core.
    """

    def _split_scope(self, nodeid: str) -> str:
        alone = super()._split_scope(nodeid)
        return nodeid.split("::")[0] if alone == nodeid else alone
