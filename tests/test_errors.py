"""Errors carry a code, the parameter, the value and what is allowed, wherever they are raised; and they read well."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast import errors
from holdfast.bounds.registry import catalogue
from holdfast.client.errors import error_of
from holdfast.core import arguments
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.server.http import CODES, problem_of

SOURCE = Path(__file__).parent.parent / "src" / "holdfast"
KINDS = [getattr(errors, name) for name in errors.__all__]

BOUNDARY: list[tuple[Callable[[], Any], str, Any, str]] = [
    (lambda: arguments.real("x", "a", above=0), "x", "'a'", "a number in (0, inf)"),
    (lambda: arguments.real("x", float("nan")), "x", None, "a number in (-inf, inf)"),
    (lambda: arguments.probability("beta", 1), "beta", 1, "a number in (0, 1)"),
    (lambda: arguments.whole("n", 2.5, at_least=1), "n", 2.5, "a whole number, at least 1"),
    (lambda: arguments.whole("n", [1, 2, 3]), "n", "a list", "a whole number"),
    (lambda: arguments.choice("noise", "loud", ["gaussian", "laplace"]), "noise", "'loud'", "one of gaussian, laplace"),
    (lambda: arguments.metric("f1_macro", ["accuracy", "f1"]), "metric", "'f1_macro'", "one of accuracy, f1"),
    (lambda: arguments.reals("epsilons", 3), "epsilons", 3, "a list of numbers"),
    (lambda: arguments.reals("epsilons", [1, -1], at_least=0), "epsilons[1]", -1, "a number in [0, inf)"),
    (lambda: hf.plan(10_000, confidence=2), "confidence", 2, "a number in (0, 1)"),
    (lambda: hf.accounting.PureDP(-1), "epsilon", -1, "a number in [0, inf)"),
    (lambda: hf.guard.Policy(questions=-1), "questions", -1, "a whole number, at least 1"),
]


def _error(call: Callable[[], Any]) -> HoldfastError:
    with pytest.raises(HoldfastError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(("call", "parameter", "value", "allowed"), BOUNDARY, ids=[row[1] for row in BOUNDARY])
def test_boundary_functions_fill_in_the_fields(
    call: Callable[[], Any], parameter: str, value: Any, allowed: str
) -> None:
    error = _error(call)
    assert (error.code, error.parameter) == ("invalid-parameter", parameter)
    assert error.allowed is not None
    assert error.allowed.startswith(allowed)
    assert error.value == value or (value is None and error.value != error.value)
    assert parameter in str(error)
    assert pickle.loads(pickle.dumps(error)).to_dict() == error.to_dict() or value is None


def test_every_parameter_of_every_theorem_names_itself() -> None:
    """What each annotated type refuses is refused with the type's own name and its own words."""
    tried = 0
    for theorem in catalogue().values():
        for parameter in theorem.parameters:
            if parameter.kind == "reals":
                continue
            for value in parameter.refused[:1]:
                error = _error(lambda p=parameter, v=value: p.checked(v))  # type: ignore[misc]
                assert error.parameter == parameter.name, theorem.id
                assert error.allowed, theorem.id
                tried += 1
    assert tried > 500


def test_a_list_of_rows_is_not_a_value() -> None:
    assert _error(lambda: arguments.real("x", [3.14159, 2.71828])).value == "a list"


def test_the_message_alone_is_enough_and_given_fields_win() -> None:
    read = InvalidParameter("low must be below high, got [1, 0]; swap them")
    assert (read.parameter, read.allowed, read.value) == ("low", "below high", "[1, 0]")
    given = InvalidParameter("say it otherwise", parameter="low", value=3, allowed="below 2")
    assert given.to_dict() == {
        "code": "invalid-parameter",
        "message": "say it otherwise",
        "parameter": "low",
        "value": 3,
        "allowed": "below 2",
    }
    plain = HoldfastError("all 5 questions were asked")
    assert (plain.parameter, plain.value, plain.allowed) == (None, None, None)


def test_codes_are_those_of_the_server_and_come_back_through_it() -> None:
    for kind in KINDS:
        problem = problem_of(kind("tolerance must be at least 0.1, got 0.05"))
        assert problem.code in CODES
        if kind in (HoldfastError, errors.NotInstalled):  # no problem of their own
            continue
        assert problem.code == kind.code
        body = problem.to_dict("1")
        assert (body["parameter"], body["value"], body["allowed"]) == ("tolerance", "0.05", "at least 0.1")
        remote = error_of(problem.status, body)
        assert type(remote) is kind
        assert remote.to_dict() == kind("tolerance must be at least 0.1, got 0.05").to_dict()


def test_a_value_that_json_lacks_goes_as_text() -> None:
    assert problem_of(_error(lambda: arguments.real("x", float("inf")))).to_dict()["value"] == "inf"


# --- The language of messages -----------------------------------------------------------------------------------------

#: Forms that the rules of the house's words exclude from messages, and what to write in their place.
EXCLUDED = {
    r"\bshall\b": "will, must",
    r"\bfor ever\b": "forever",
    r"\bdear\b": "expensive",
    r"\bbeside\b": "next to",
    r"\bsays? nothing\b": "gives no guarantee, is vacuous",
    r"\bthe door\b|\bone door\b": "the guard",
    r"\bdoes not stand\b|\bstood\b": "failed, passed",
    r"\bthe house\b": "the architecture",
}


def messages() -> Iterator[tuple[str, str]]:
    """Every text that is written where an error is raised, with its file; what is filled in is shown as `{}`."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                for argument in node.exc.args[:1]:
                    if text := _text(argument):
                        yield str(path.relative_to(SOURCE)), text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return ""


def faults(text: str) -> list[str]:
    """The rules that a message breaks: excluded words, no verb, an end that is a full stop, two sentences run on."""
    found = [f"write {better}" for form, better in EXCLUDED.items() if re.search(form, text, re.IGNORECASE)]
    if text.endswith(".") and not text.endswith("..."):
        found.append("no full stop at the end: the command line adds what follows")
    if text[:1].isupper() and text[1:2].islower() and text.split()[0].removesuffix("'s") not in _NAMES:
        found.append("begin in lower case, as `holdfast: ...` continues")
    return found


_NAMES = set("Algorithm Bonferroni Gaussian Laplace Lemma No Parquet Python Secure Spark Theorem Thresholdout".split())


def test_messages_keep_the_rules_of_words() -> None:
    read = list(messages())
    assert len(read) > 900
    assert [(path, text[:80], fault) for path, text in read for fault in faults(text)] == []


@pytest.mark.parametrize("text", ["it shall be a number", "The guess must be given.", "an interval that says nothing"])
def test_the_rules_notice(text: str) -> None:
    assert faults(text)
