"""schemathesis against the running server: no 500, and nothing that its own OpenAPI document does not say."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.server.live import Live

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
FEW = {"/api/v1/samples": 3, "/api/v1/samples/register": 5, "/api/v1/tokens": 8}
"""Operations whose right requests start a process or a slow hash: fewer of them."""
_OURS = ("/close", "/override", "/pause")
"""Ends the guard that all other operations are tried on, so that these meet others."""

_bounded = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_that_the_document_does_not_say(live: Live, mode: GenerationMode) -> None:
    boards = [{"name": "b", "key": "id", "label": "sex", "metric": "accuracy"}]
    guard = live.guard(f"schema {mode.value}", {"questions": 10_000, "boards": boards})["id"]
    document = httpx.get(f"{live.url}/api/v1/openapi.json", timeout=30).json()
    for methods in document["paths"].values():  # the token is always sent; test_authorisation leaves it out
        for operation in methods.values():
            operation.pop("security", None)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=live.url)
    headers = {"Authorization": f"Bearer {live.steward_token}"}
    sent: dict[str, int] = {}

    for found in schema.get_all_operations():
        one: Any = found.ok()
        if mode is GenerationMode.NEGATIVE and not any(map(list, (one.query, one.headers, one.body))):
            continue  # nothing can be wrong: every text is a right one in an address

        @settings(_bounded, max_examples=FEW.get(one.path, 5))
        @given(case=one.as_strategy(generation_mode=mode))
        def check(case: Case) -> None:
            if "guard" in case.path_parameters and not case.path.endswith(_OURS):
                case.path_parameters["guard"] = guard
            # A stream says no line by line, after its 200.
            checks = CHECKS if not case.path.endswith("/stream") else CHECKS[:-1]
            done = case.call_and_validate(headers=headers, checks=checks)
            sent[case.path] = sent.get(case.path, 0) + (done.status_code < 300)

        check()
    if mode is GenerationMode.POSITIVE:
        assert sent["/api/v1/guards/{guard}/entries"] > 0, "right requests are understood"
