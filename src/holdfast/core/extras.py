"""Packages that only some parts need: where one is missing, the error says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from holdfast.errors import NotInstalled

#: Each package that is imported where it is used, and the extra that brings it.
_EXTRAS = {
    "alembic": "guard",
    "altair": "plots",
    "cryptography": "guard",
    "deltalake": "delta",
    "duckdb": "tables",
    "grpc": "spark-connect",
    "httpx": "client",
    "ibis": "tables",
    "inspect_ai": "inspect",
    "lm_eval": "lm-eval",
    "mcp": "agents",
    "mlflow": "mlflow",
    "narwhals": "frames",
    "obstore": "stores",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "optuna": "optuna",
    "polars": "tables",
    "psycopg": "postgres",
    "pyarrow": "tables",
    "pyspark": "spark",
    "pyiceberg": "iceberg",
    "pymysql": "mysql",
    "sklearn": "sklearn",
    "sqlalchemy": "guard",
    "sqlglot": "tables",
    "torch": "gpu",
}


@contextmanager
def named_extras(extra: str | None = None) -> Iterator[None]:
    """Name the extra of a package that is missing; also a decorator, for public functions.

    Parameters
    ----------
    extra : str, optional
        The one that brings whatever a part needs; by default the smallest that brings the missing package.

    Raises
    ------
    NotInstalled
        In place of a `ModuleNotFoundError`, which it is too.

    Examples
    --------
    >>> with named_extras():
    ...     raise ModuleNotFoundError("No module named 'sqlglot'", name="sqlglot")
    Traceback (most recent call last):
        ...
    holdfast.errors.NotInstalled: the package sqlglot is needed here and is not installed; install it with
    `pip install 'holdfast[tables]'`
    """
    try:
        yield
    except NotInstalled:
        raise
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        named = _EXTRAS.get(missing) if extra is None else extra
        if named is None or missing in ("", "holdfast"):
            raise
        raise NotInstalled(
            f"the package {missing} is needed here and is not installed; install it with `pip install "
            f"'holdfast[{named}]'`",
            name=missing,
        ) from None


def require(package: str) -> None:
    """Refuse to go on without a package, in the same words, where nothing is imported yet that would notice.

    Examples
    --------
    >>> require("numpy")
    """
    if find_spec(package) is None:
        with named_extras():
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
