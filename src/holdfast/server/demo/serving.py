"""The demo as a server: a guard over the demo's rows, two analysts who go on asking, and the pages that show it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError
from holdfast.guard.questions.score import Score
from holdfast.server import observability
from holdfast.server.app import create_app
from holdfast.server.auth.tokens import Caller
from holdfast.server.demo import analysts
from holdfast.server.demo.analysts import Step
from holdfast.server.running import require_free
from holdfast.server.settings import Settings
from holdfast.server.state import Server

if TYPE_CHECKING:
    from holdfast.coherence.report import Report


# --- Audits -----------------------------------------------------------------------------------------------------------
# Two audits of the demo's rows: the customer list as it is, and noisy counts in its place.
#
# The shop wonders what it may hand to a partner. Each audit takes a fraction of a second; its report is drawn from
# here.

ROWS, SPLITS = 1_500, 60
ALPHA = 0.3
"""How differently a group may be treated: as if the prediction for 15% of its members turned over."""
_SEED = 8321
Column = list[Any]


def reports() -> dict[str, Report]:
    """Return the reports by name, the worse one last, so that it is the first that a page lists."""
    from holdfast.coherence import curators, learners

    few = analysts.rows(ROWS)
    known: dict[str, Column] = {
        "plan": [row["plan"] for row in few],
        "is_new": [row["months"] < 6 for row in few],
        "calls_often": [row["calls"] > 3 for row in few],
        "gone": [row["gone"] for row in few],
    }
    domains = {"plan": analysts.PLANS} | dict.fromkeys(("is_new", "calls_often", "gone"), (False, True))
    marginals = [("gone", "plan"), ("gone", "is_new"), ("gone", "calls_often")]
    counts = curators.NoisyMarginals(domains, marginals, 1, source=curators.simulated)
    listed = {"customer": [row["customer"] for row in few]} | known
    return {
        "Noisy counts": _audited("noisy counts of customers, epsilon 1", known, counts, learners.NaiveBayes(), known),
        "Customer list": _audited("the customer list as it is", listed, curators.Clear(), learners.Linkage(), listed),
    }


def _audited(title: str, people: dict[str, Column], curator: Any, learner: Any, seen: dict[str, Column]) -> Report:
    from holdfast.coherence import Audit, GroupPlan, Target, run
    from holdfast.coherence.report import build
    from holdfast.coherence.significance import assess
    from holdfast.coherence.verdict import judge

    columns = [name for name in seen if name != "gone"]
    groups = GroupPlan(columns=["plan", "is_new"])
    audit = Audit(
        people,
        curator,
        learner,
        Target("gone"),
        groups,
        lenses={"all but gone": columns},
        splits=SPLITS,
        seed=_SEED,
    )
    trials = run(audit)
    assessed = assess(trials, permutations=999)
    return build(trials, assessed, judge(assessed, ALPHA), title=title, setting=[("release", title)])


# --- Serving ----------------------------------------------------------------------------------------------------------

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
        """Return the sign-in page with a token behind the `#`, which browsers do not send anywhere."""
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
        audited = beside.submit(reports)
        guard = _guard(server)
        for name, report in audited.result().items():
            published, _ = server.reports.add(name, to_json(report.to_dict()).encode(), "steward")
            server.reports.publish(published["id"], _STEWARD, True)
    steps = {"ann": analysts.ann(), "greg": analysts.greg()}
    for name, many in _AT_ONCE.items():
        guard.ask_all([step.question for step in islice(steps[name], many)], analyst=name)
        for submission in analysts.submissions(analysts.customers()):
            if submission.analyst == name:
                guard.ask(
                    Score(analysts.BOARD_NAME, submission.predictions, submission.claimed, name=submission.name),
                    analyst=name,
                )
    analysts.customers.cache_clear()
    return Demo(app, settings, tokens, tuple(_mixed(steps)))


def _guard(server: Server) -> Any:
    place = server.samples.fresh_upload("csv")
    with place.open("xb") as file:
        place.chmod(0o600)
        file.write(analysts.rows_csv().encode())
    known = server.samples.add(analysts.NAME, "upload", str(place), analysts.ROW_KEY)
    row = server.guards.create(GUARD, known["id"], analysts.POLICY | {"boards": [analysts.BOARD]})
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

    observability.set_up("warning")
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
