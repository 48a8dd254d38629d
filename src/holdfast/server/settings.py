"""What a server is started with. Options of `holdfast serve`, or variables that begin with `HOLDFAST_SERVER_`."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from holdfast.server.auth.oidc.settings import OidcSettings, check_oidc

PORT = 8321


class Settings(OidcSettings):
    """The settings of a server: where it stores its data, which data stewards may register, and the limits on every
    request.

    The documentation's page of settings lists all of them.

    Examples
    --------
    >>> Settings(folder="data", workers=2).ledger_place
    'data/ledger.db'
    """

    model_config = SettingsConfigDict(env_prefix="HOLDFAST_SERVER_", frozen=True, extra="forbid")

    folder: Path = Field(
        default=Path("holdfast-server"), description="Uploaded samples, and the ledger unless it is elsewhere"
    )
    ledger: str | None = Field(default=None, repr=False, description="A SQLite file or a postgresql:// address")
    signing_key: Path | None = Field(
        default=None, description="The file of the signing key; servers that share a ledger share it"
    )
    host: str = Field(default="127.0.0.1", description="The address to listen on")
    port: int = Field(default=PORT, ge=0, le=65535, description="The port to listen on; 0 takes a free one")
    workers: int = Field(default=1, ge=1, le=256, description="Processes that share the ledger")
    proxies: str = Field(default="", description="Addresses of reverse proxies whose X-Forwarded-For is believed")
    public_url: str | None = Field(default=None, description="How the server is reached from outside, for links")

    allow_folder: tuple[Path, ...] = Field(
        default=(), description="Folders whose .csv and .parquet files stewards may register"
    )
    allow_source: dict[str, str] = Field(
        default_factory=dict, repr=False, description="Files and tables that may be registered by name"
    )

    threads: int = Field(default=8, ge=1, le=11, description="Guard calls at once; the ledger has 15 connections")
    queue: int = Field(
        default=256, ge=0, description="Requests that may wait for a thread, in one worker; beyond it: 503"
    )
    rate: float = Field(default=200.0, gt=0, description="Requests a second for one token, all workers together")
    burst: int = Field(default=400, ge=1, description="Requests at once for one token before the rate holds")
    failures: int = Field(default=20, ge=1, description="Wrong tokens a minute from one address")
    max_body: int = Field(default=1 << 20, ge=1024, description="Bytes of a request that is no upload")
    max_upload: int = Field(default=256 << 20, ge=1024, description="Bytes of an uploaded file")
    max_report: int = Field(default=8 << 20, ge=1024, description="Bytes of an uploaded audit report")
    max_model: int = Field(default=64 << 20, ge=1024, description="Bytes of a submitted model")
    model_seconds: float = Field(
        default=10.0, gt=0, le=100, description="For a submitted model; its evaluation always takes this long"
    )
    model_memory_mb: int = Field(default=2048, ge=1024, description="Address space of a submitted model's process")
    models_at_once: int = Field(default=1, ge=0, le=16, description="Models at work in one worker; 0 takes none")
    max_questions: int = Field(default=1000, ge=1, description="Questions in one batch")
    max_parts: int = Field(
        default=20_000,
        ge=1000,
        description="Words, signs, numbers and texts in the expressions of one request, counted before any is parsed",
    )
    free_work: float = Field(
        default=0.2,
        gt=0,
        description="Processor seconds a second that one analyst's estimates, refused and repeated questions may take, "
        "all workers together; beyond it: 429",
    )
    free_work_burst: float = Field(
        default=5.0, gt=0, description="Processor seconds of them at once, in each worker, before `free_work` holds"
    )
    memory_mb: int = Field(default=4096, ge=512, description="Address space of the process that reads an upload first")
    seconds: float = Field(default=30.0, gt=0, description="For one request")
    read_seconds: float = Field(
        default=10.0, gt=0, description="For the headers of a request to come, and for its body unless it is an upload"
    )
    unfinished: int = Field(
        default=16,
        ge=1,
        description="Bodies, and uploads, that one token or one address may have on their way at once in one worker",
    )
    upload_seconds: float = Field(default=300.0, gt=0, description="For an upload, a batch or a stream")
    answer_grid: float = Field(
        default=0.0,
        ge=0,
        le=10,
        description="Seconds: answers leave at multiples of this after their question came, so that how long the rows "
        "took cannot be seen; 0: at once",
    )
    shutdown_seconds: int = Field(
        default=20, ge=1, description="After which a server that was told to stop has ended, whatever is under way"
    )
    token_days: float = Field(default=90.0, gt=0, le=3650, description="Life of a token that names no other")
    open_metrics: bool = Field(default=False, description="Whether /metrics is shown without a token")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        check_oidc(self, self.public_url)
        return self

    @property
    def ledger_place(self) -> str:
        """The address of the ledger: a file or a postgresql:// address."""
        return self.ledger if self.ledger is not None else str(self.folder / "ledger.db")

    @property
    def uploads(self) -> Path:
        """The folder to which all uploaded files are written."""
        return self.folder / "uploads"
