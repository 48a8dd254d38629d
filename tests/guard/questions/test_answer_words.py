"""Every kind words its own answers: Python, command line, agents, notebooks and the page begin with that sentence."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.cli.ask import _show
from holdfast.client.answers import read_answer
from holdfast.guard import Board, Guard, GuardedAnswer, Policy
from holdfast.guard.questions import Question
from holdfast.server.agents.tools import answer_words
from holdfast.server.pages import words

N = 2000
ROWS = {
    "id": list(range(N)),
    "age": [20 + i % 60 for i in range(N)],
    "income": [float(1000 + i) for i in range(N)],
    "arm": ["drug", "none"] * (N // 2),
    "label": [i % 2 for i in range(N)],
}
BOARD = Board("income", key="id", label="label", metric="accuracy")
KINDS = [name for name, kind in Question.kinds().items() if kind.__module__.startswith("holdfast.")]


def answered(kind: type[Question]) -> tuple[Mapping[str, Any], Mapping[str, Any], GuardedAnswer]:
    """What was asked, the same bound as the ledger holds it, and the answer to the example of a kind."""
    policy = Policy(questions=100, privacy=PureDP(1.0), spend=PureDP(0.05), boards=[BOARD])
    guard = Guard.open(None, hf.data.table(ROWS), Policy(boards=[BOARD], reserve=0.5) if kind.needs_contest else policy)
    if kind.needs_contest:
        guard.ask(hf.guard.score("income", dict.fromkeys(range(N), 0), 0.5))
    asked = dict(kind.example)
    answer = guard.ask(asked)
    return asked, list(guard.ledger.entries())[-1].body["question"], answer


@pytest.mark.parametrize("name", KINDS)
def test_the_sentence_of_an_answer_is_that_of_its_kind_everywhere(name: str, capsys: Any) -> None:
    kind = Question.kinds()[name]
    asked, bound, answer = answered(kind)
    sentence = kind.answer_words(bound, answer.to_dict())
    assert sentence.endswith(".")
    assert answer.sentence == words.sentence(answer.to_dict(), bound) == sentence
    assert str(answer).startswith(sentence)
    assert answer_words(answer, 0.95).startswith(sentence)
    _show(asked, answer, estimate=False, verbose=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"answer {sentence}" in shown
    received = read_answer(answer.to_dict(), asked)
    assert received.sentence == sentence
    assert html.escape(sentence) in received._repr_html_()


def test_an_answer_to_a_kind_that_is_not_known_here_is_worded_by_its_value() -> None:
    plain = answered(Question.kinds()["check"])[2].to_dict()
    said = read_answer(plain, {"kind": "of a newer server"}).sentence
    assert said == f"The answer is {plain['value']:.6g} in [{plain['interval'][0]:.6g}, {plain['interval'][1]:.6g}]."
