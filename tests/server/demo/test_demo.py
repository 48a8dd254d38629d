"""The demo: a page on something alive, tokens that work, and a story whose numbers are those of the run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from holdfast.errors import InvalidParameter
from holdfast.server.demo import analysts
from holdfast.server.running import require_free
from holdfast.server.settings import Settings
from tests.server.pages.visiting import Visitor
from tests.services.ports import free_port

LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/sign-in#(hf_[0-9a-f]{16}_[0-9a-f]{64})")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[analysts.Played]:
    return list(analysts.play(tmp_path_factory.mktemp("demo") / "ledger.db"))


def test_the_rows_are_the_same_everywhere_and_the_hints_say_nothing() -> None:
    made = analysts.rows(2000)
    assert made == analysts.rows(analysts.ROWS)[:2000]
    assert [sum(one["gone"] for one in made), made[0]["age"], made[-1]["months"]] == [597, 30, 0]
    others = analysts.rows(2000, seed=3)
    assert others != made
    for hint in analysts.HINTS:  # 2,000 fair coins: further off than 0.115 with probability below 1e-22 each
        assert abs(sum(one[hint] == one["gone"] for one in made) / 2000 - 0.5) < 0.115


def test_ann_is_right_and_greg_is_corrected(played: list[analysts.Played]) -> None:
    counted = {name: Counter(one.outcome for one in played if one.step.analyst == name) for name in ("ann", "greg")}
    assert counted["ann"] == {"passed": 11, "answered with noise": 3}
    # After so many failures the room around a guess is wide, and a modest guess of his passes.
    assert counted["greg"]["passed"] <= 2
    asked = int(analysts.POLICY["questions"] * analysts.POLICY["analysts"]["greg"])
    assert counted["greg"]["corrected"] + counted["greg"]["passed"] == asked
    assert played[-1].outcome == "refused: analyst 'greg' may ask 24 questions, and all of them have been asked"


def test_the_first_page_tells_what_happens(played: list[analysts.Played]) -> None:
    best = analysts.best_of_greg(played)
    assert best.interval is not None
    told = analysts.STORY
    assert best.step.believed == told["believed"]
    assert [round(end, 2) for end in best.interval] == [told["low"], told["high"]]
    assert told["low"] <= 0.5 <= told["high"] < told["believed"]


def test_the_table_is_written(played: list[analysts.Played], tmp_path: Path) -> None:
    analysts.write(played, tmp_path / "a" / "answers.csv")
    lines = (tmp_path / "a" / "answers.csv").read_text().splitlines()
    assert lines[0] == ",".join(analysts.COLUMNS)
    assert len(lines) == len(played) + 1


def test_a_port_in_use_is_said_at_once(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidParameter, match="is in use"):
            require_free(Settings(folder=tmp_path, port=taken.getsockname()[1]))


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """`holdfast demo` as people start it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "demo", "--port", str(free_port())],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        end = time.monotonic() + 90
        while not any("Ctrl-C" in line for line in lines):
            assert process.poll() is None, lines
            assert time.monotonic() < end, lines
            time.sleep(0.1)
        yield process, lines
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(15)
        reader.join(5)
        process.stdout.close()


def test_the_page_opens_on_something_alive(running: tuple[subprocess.Popen[str], list[str]]) -> None:
    process, lines = running
    said = "".join(lines)
    found = LINK.findall(said)
    assert len(found) == 3
    address, token = found[0]
    end = time.monotonic() + 120
    while True:
        try:
            if httpx.get(address + "/healthz").status_code == 200:
                break
        except httpx.TransportError:
            assert time.monotonic() < end
        time.sleep(0.1)
    assert "Its tokens are printed in the terminal" in httpx.get(address + "/").text
    with Visitor(address, token) as steward:
        home = steward.get("/").text
        assert "The demo in one minute" in home
        at = re.search(r"/guards/g_[0-9a-f]{16}", home)
        assert at is not None
        text = steward.get(at[0]).text
        assert "<strong>ann</strong>" in text
        assert "<strong>greg</strong>" in text
        assert len(re.findall(r'class="entry answered"', text)) >= 18
        before = httpx.get(f"{address}/api/v1{at[0]}", headers={"Authorization": f"Bearer {token}"}).json()["entries"]
        while (
            httpx.get(f"{address}/api/v1{at[0]}", headers={"Authorization": f"Bearer {token}"}).json()["entries"]
            == before
        ):
            assert time.monotonic() < end, "nobody asks anything"
            time.sleep(0.3)
    for place, name in ((1, "ann"), (2, "greg")):
        with Visitor(address, found[place][1]) as analyst:
            assert f"You are <strong>{name}</strong>" in analyst.get("/").text
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
