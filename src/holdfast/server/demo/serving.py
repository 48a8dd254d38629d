"""The demo as a server: a guard over the demo's rows, two analysts who go on asking, and the pages that show it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from holdfast.errors import HoldfastError
from holdfast.guard.questions import Score
from holdfast.server import logs
from holdfast.server.app import create_app
from holdfast.server.demo import analysts, audits, board, sample
from holdfast.server.demo.analysts import Step
from holdfast.server.roles import Caller
from holdfast.server.running import require_free
from holdfast.server.settings import Settings
from holdfast.server.state import Server
from holdfast.strict_json import to_json

GUARD = "shop customers"
_LIFE = timedelta(days=1)
_STEWARD = Caller("demo", "steward", "steward")
_AT_ONCE = {"ann": 9, "greg": 9}
"""How many questions of each are on the ledger when the page opens."""


@dataclass(frozen=True, repr=False)
class Demo:
    """A server that is ready to run, and the tokens that were made for it."""

    app: FastAPI
    settings: Settings
    tokens: dict[str, str]
    steps: tuple[Step, ...]

    @property
    def address(self) -> str:
        """Where it will be."""
        return f"http://{self.settings.host}:{self.settings.port}"

    def link(self, name: str) -> str:
        """The sign-in page with a token behind the `#`, which browsers do not send anywhere."""
        return f"{self.address}/sign-in#{self.tokens[name]}"


def prepare(folder: Path, port: int) -> Demo:
    """Make the guard in a folder, give out tokens, and let the analysts begin."""
    settings = Settings(folder=folder, port=port)
    require_free(settings)
    app = create_app(settings)
    app.state.tour = True
    server: Server = app.state.server
    expires = datetime.now(UTC) + _LIFE
    roles: dict[str, Any] = {"steward": "steward", "ann": "analyst", "greg": "analyst"}
    tokens = {name: server.tokens.issue(role, name, expires)[0] for name, role in roles.items()}
    with ThreadPoolExecutor(1) as beside:  # the rows are examined by a process of their own: meanwhile they are audited
        audited = beside.submit(audits.reports)
        guard = _guard(server)
        for name, report in audited.result().items():
            made, _ = server.reports.add(name, to_json(report.to_dict()).encode(), "steward")
            server.reports.publish(made["id"], _STEWARD, True)
    steps = {"ann": analysts.ann(), "greg": analysts.greg()}
    for name, many in _AT_ONCE.items():
        guard.ask_all([step.question for step in islice(steps[name], many)], analyst=name)
        for one in board.submissions(sample.customers()):
            if one.analyst == name:
                guard.ask(Score(board.NAME, one.predictions, one.claimed, name=one.name), analyst=name)
    sample.customers.cache_clear()
    return Demo(app, settings, tokens, tuple(_mixed(steps)))


def _guard(server: Server) -> Any:
    place = server.samples.fresh_upload("csv")
    with place.open("xb") as file:
        place.chmod(0o600)
        file.write(sample.rows_csv().encode())
    known = server.samples.add(sample.NAME, "upload", str(place), sample.ROW_KEY)
    row = server.guards.create(GUARD, known["id"], analysts.POLICY | {"boards": [board.BOARD]})
    return server.guards.opened(row["id"])


def _mixed(steps: dict[str, Iterator[Step]]) -> Iterator[Step]:
    """What is left of both, in turns; Greg's is cut where his share is used up for certain."""
    ann, greg = list(steps["ann"]), islice(steps["greg"], 40)
    for i, step in enumerate(greg):
        yield step
        if i < len(ann):
            yield ann[i]


def serve(demo: Demo, pace: float = 5.0) -> None:
    """Serve until a signal comes, while the analysts go on, a question every `pace` seconds."""
    import uvicorn

    logs.set_up("warning")
    config = uvicorn.Config(
        demo.app,
        host=demo.settings.host,
        port=demo.settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    ended = threading.Event()
    player = threading.Thread(target=play, args=(demo, ended, pace), daemon=True)
    player.start()
    try:
        uvicorn.Server(config).run()
    except KeyboardInterrupt:  # uvicorn has ended in order and passes Ctrl-C on; here it is the end that was meant
        pass
    finally:
        ended.set()
        player.join(5)


def play(demo: Demo, ended: threading.Event, pace: float) -> int:
    """Let both go on over the API, each with a token, until they are refused; how many questions were answered."""
    from holdfast.client import connect

    answered = 0
    going = {name: connect(demo.address, demo.tokens[name], patience=10) for name in ("ann", "greg")}
    for step in demo.steps:
        if ended.wait(pace):
            break
        if step.analyst not in going:
            continue
        try:
            going[step.analyst].ask(step.question)
            answered += 1
        except HoldfastError:  # refused, or the server is gone: either way they are done
            going.pop(step.analyst).shut()
            if not going:
                break
    return answered


__all__ = ["GUARD", "Demo", "play", "prepare", "serve"]
