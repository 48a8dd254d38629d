"""Tokens of an identity provider at the API: what is taken, and everything that must not be."""

from __future__ import annotations

import base64
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from joserfc.errors import SecurityWarning
from joserfc.jwk import RSAKey
from starlette.responses import RedirectResponse, Response

from holdfast.server.auth.oidc.provider import KEPT_SECONDS, PAUSE_SECONDS
from tests.server.live import CHECK, PEOPLE
from tests.server.oidc.conftest import Inside
from tests.server.oidc.provider import Held, OpenID, new_key

NOBODY = (401, "unauthenticated")


TWICE = b'{"alg":"RS256","alg":"none"}'


def part(value: Any) -> str:
    return encoded(json.dumps(value).encode())


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def signed_with_text(claims: dict[str, Any], key: Any) -> str:
    """What an attacker makes of a public key: its text as the secret of an HMAC."""
    said = f"{part({'alg': 'HS256', 'kid': key.kid})}.{part(claims)}"
    return f"{said}.{encoded(hmac.digest(key.as_pem(private=False), said.encode(), 'sha256'))}"


@pytest.mark.parametrize("kind", ["RSA", "EC", "OKP"])
def test_a_signed_token_is_taken(inside: Inside, provider: OpenID, kind: str) -> None:
    provider.rotate(kind)
    if kind == "OKP":  # by its old name too
        assert inside.get(provider.sign(provider.claims("ann"), alg="EdDSA")).status_code == 200
    me = inside.get(provider.token("ann")).json()
    assert (me["role"], me["name"], me["guards"]) == ("analyst", "oidc:u-1001", None)
    assert inside.get(provider.token("sam", aud=["other", "holdfast-tests"])).json()["role"] == "steward"
    assert inside.get(inside.steward).json()["name"] == "stew", "our own tokens are taken as before"


def test_an_analyst_asks_and_is_kept_to_the_role(inside: Inside, provider: OpenID) -> None:
    ann, sam = provider.token("ann"), provider.token("sam")
    head = {"Authorization": f"Bearer {sam}"}
    sample = inside.client.post(
        "/api/v1/samples", params={"name": "p"}, content=PEOPLE, headers=head | {"Content-Type": "text/csv"}
    ).json()
    policy = {"questions": 5, "analysts": {"oidc:u-1001": 1.0}}
    made = inside.client.post(
        "/api/v1/guards", json={"name": "g", "sample": sample["id"], "policy": policy}, headers=head
    )
    at = f"/api/v1/guards/{made.json()['id']}"
    head = {"Authorization": f"Bearer {ann}"}
    assert inside.client.post(f"{at}/ask", json={"question": CHECK}, headers=head).json()["sequence"] == 2
    assert inside.client.post(f"{at}/pause", json={}, headers=head).status_code == 403
    assert inside.get(provider.token("eve"), at).status_code == 404, "another subject is another analyst"
    local = inside.server.tokens.issue_for("analyst", "u-1001", days=1)
    assert inside.get(local, at).status_code == 404, "a local name cannot be the subject's"
    named = {"role": "analyst", "name": "oidc:u-1001"}
    forged = inside.client.post("/api/v1/tokens", json=named, headers={"Authorization": f"Bearer {inside.steward}"})
    assert forged.status_code == 422, "nor is one made with a colon"


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"exp": 1000, "iat": 900}, (401, "token-expired")),
        ({"exp": "later"}, NOBODY),
        ({"exp": None}, NOBODY),
        ({"iat": None}, NOBODY),
        ({"exp": True}, NOBODY),
        ({"exp": 10**400}, NOBODY),
        ({"iat": 1e11, "exp": 2e11}, NOBODY),
        ({"nbf": time.time() + 10**6}, NOBODY),
        ({"exp": time.time() + 10**6}, NOBODY),  # lives too long
        ({"aud": "another"}, NOBODY),
        ({"aud": []}, NOBODY),
        ({"aud": {"holdfast-tests": 1}}, NOBODY),
        ({"aud": None}, NOBODY),
        ({"iss": "https://evil.example"}, NOBODY),
        ({"iss": None}, NOBODY),
        ({"sub": None}, NOBODY),
        ({"sub": ""}, NOBODY),
        ({"sub": 7}, NOBODY),
        ({"sub": "x" * 300}, NOBODY),
        ({"events": {}}, NOBODY),  # a logout token
        ({"cnf": {"jkt": "x"}}, NOBODY),  # bound to a key that nobody showed
        ({"sub": "<script>alert(1)</script>"}, (403, "forbidden")),
        ({"sub": "line\nbreak"}, (403, "forbidden")),
        ({"sub": " blank"}, (403, "forbidden")),
    ],
)
def test_what_a_token_says_is_checked(
    inside: Inside, provider: OpenID, claims: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert inside.refused(provider.token("ann", **claims)) == expected
    assert inside.get(provider.token("ann")).status_code == 200


def test_clocks_may_differ_a_little(inside: Inside, provider: OpenID) -> None:
    now = time.time()
    assert inside.get(provider.token("ann", exp=now - 30, iat=now - 300)).status_code == 200
    assert inside.get(provider.token("ann", iat=now + 30, nbf=now + 30, exp=now + 300)).status_code == 200
    assert inside.refused(provider.token("ann", exp=now - 90, iat=now - 300)) == (401, "token-expired")
    assert inside.refused(provider.token("ann", iat=now + 90, exp=now + 300)) == NOBODY


def test_forgeries(inside: Inside, provider: OpenID) -> None:
    claims, key = provider.claims("sam"), provider.keys[-1]
    good = provider.sign(claims)
    head, body, seal = good.split(".")
    stranger = new_key()
    stranger_named = type(stranger).import_key(stranger.as_dict(private=True) | {"kid": key.kid})
    jwk = {"alg": "RS256", "jwk": stranger.as_dict(private=False)}
    forged = {
        "none": f"{part({'alg': 'none'})}.{part(claims)}.",
        "none with a seal": f"{part({'alg': 'none', 'kid': key.kid})}.{body}.{seal}",
        "None": f"{part({'alg': 'None', 'kid': key.kid})}.{body}.",
        "HS256 with the public key": signed_with_text(claims, key),
        "a stranger's key": provider.sign(claims, stranger),
        "a stranger's key by our name": provider.sign(claims, stranger_named),
        "a key in the header": f"{part(jwk)}.{provider.sign(claims, stranger).partition('.')[2]}",
        "an address of keys in the header": provider.sign(claims, stranger, jku=f"{provider.url}/evil"),
        "PS256 header over RS256": f"{part({'alg': 'PS256', 'kid': key.kid})}.{body}.{seal}",
        "another body": f"{head}.{part(claims | {'sub': 'u-1'})}.{seal}",
        "no seal": f"{head}.{body}.",
        "crit": provider.sign(claims, crit=["kid"]),
        "a list": f"{part([])}.{body}.{seal}",
        "alg is a list": f"{part({'alg': ['RS256']})}.{body}.{seal}",
        "alg twice": f"{encoded(TWICE)}.{body}.{seal}",
        "another type": provider.sign(claims, typ="logout+jwt"),
        "rubbish": "a.b.c",
        "long": f"{head}.{'A' * 20_000}.{seal}",
    }
    for name, token in forged.items():
        assert inside.refused(token) == NOBODY, name
    assert "/evil" not in provider.asked
    assert inside.get(good).json()["role"] == "steward"


def test_algorithms_are_allowed_by_name(provider: OpenID, tmp_path: Any) -> None:
    server = Inside(tmp_path, oidc_issuer=provider.url, oidc_audience=("holdfast-tests",), oidc_algorithms=("ES256",))
    try:
        provider.rotate("RSA")
        assert server.refused(provider.token()) == NOBODY
        server.clock.now += 60
        provider.rotate("EC")
        assert server.get(provider.token()).status_code == 200
    finally:
        server.close()


def test_rotated_keys_are_found_and_old_ones_forgotten(inside: Inside, provider: OpenID) -> None:
    old = provider.token()
    assert inside.get(old).status_code == 200
    fetched = provider.asked.count("/keys")
    for _ in range(5):
        assert inside.get(provider.token("sam")).status_code == 200
    assert provider.asked.count("/keys") == fetched, "keys are kept"
    provider.rotate()
    inside.clock.now += PAUSE_SECONDS + 1
    assert inside.get(provider.token()).status_code == 200, "a key that is not known is looked for"
    assert inside.refused(old) == NOBODY, "a key that is no longer published signs nothing"
    before = provider.asked.count("/keys")
    stranger = new_key()
    for _ in range(20):
        assert inside.refused(provider.sign(provider.claims("ann"), stranger)) == NOBODY
    assert provider.asked.count("/keys") <= before + 1, "strangers cannot have us ask again and again"
    inside.clock.now += KEPT_SECONDS / 2
    assert inside.get(provider.token()).status_code == 200
    assert provider.asked.count("/keys") == before + 1, "after a while they are fetched anew"


def test_a_provider_that_is_down_lets_nobody_in(inside: Inside, provider: OpenID) -> None:
    provider.faults["down"] = True
    done = inside.get(provider.token())
    assert (done.status_code, done.json()["code"]) == (503, "provider-unavailable")
    assert int(done.headers["retry-after"]) >= 1
    assert inside.get(inside.steward).status_code == 200, "our own tokens do not need it"
    asked = len(provider.asked)
    assert inside.refused(provider.token())[0] == 503
    assert len(provider.asked) == asked, "nor is it asked at every request"
    provider.faults.clear()
    inside.clock.now += PAUSE_SECONDS + 1
    assert inside.get(provider.token()).status_code == 200
    provider.faults["down"] = True
    inside.clock.now += KEPT_SECONDS / 2 + 1
    assert inside.get(provider.token()).status_code == 200, "keys that are not old are enough"
    inside.clock.now += PAUSE_SECONDS + 1
    assert inside.refused(provider.sign(provider.claims("ann"), new_key()))[0] == 503, "it cannot be decided"
    inside.clock.now += KEPT_SECONDS
    assert inside.refused(provider.token())[0] == 503, "old ones are not"


@pytest.mark.parametrize(
    "faults",
    [
        {"document": {"issuer": "https://evil.example"}},
        {"document": {"jwks_uri": "https://evil.example/keys"}},
        {"document": {"jwks_uri": "http://127.0.0.1:9/keys"}},
        {"document": {"jwks_uri": "file:///etc/passwd"}},
        {"document": {"jwks_uri": None}},
        {"keys": {"keys": [{"kty": "RSA", "n": "A" * 400_000, "e": "AQAB"}]}},
        {"keys": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}] * 100}},
        {"keys": {"keys": "many"}},
        {"keys": []},
        {"keys": Response("{" * 100_000, media_type="application/json")},
        {"keys": RedirectResponse("/elsewhere")},
        {"keys": Response(b"\x1f\x8b\x08", headers={"content-encoding": "gzip"})},
    ],
)
def test_what_a_provider_says_is_not_believed_blindly(inside: Inside, provider: OpenID, faults: dict[str, Any]) -> None:
    provider.faults |= faults
    assert inside.refused(provider.token())[0] == 503
    assert "/elsewhere" not in provider.asked


@pytest.mark.parametrize("fault", [{"slow": 4.0}, {"drips": 0.1}])
def test_a_slow_provider_is_waited_for_once_and_not_for_long(
    inside: Inside, provider: OpenID, fault: dict[str, float]
) -> None:
    """For two seconds: who waits for four is let in, and who waits for every letter waits for a hundred."""
    provider.faults |= fault
    begun = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(inside.refused, provider.token()) for _ in range(7)]
        assert {one.result()[0] for one in waiting} == {503}
    last = "/keys" if "drips" in fault else "/.well-known/openid-configuration"
    assert provider.asked.count(last) == 1, "one attempt for all of them"
    assert time.monotonic() - begun < 50


def test_a_slow_provider_keeps_nobody_else(provider: OpenID, tmp_path: Any) -> None:
    server = Inside(tmp_path, oidc_issuer=provider.url, oidc_audience=("holdfast-tests",), oidc_timeout=20.0)
    held = provider.faults["held"] = Held()
    try:
        with ThreadPoolExecutor(8) as pool:
            try:
                waiting = [pool.submit(server.get, provider.token()) for _ in range(7)]
                assert held.reached.wait(60)
                assert server.get(server.steward).status_code == 200
                assert not any(one.done() for one in waiting), "our own token did not wait for theirs"
            finally:
                held.go.set()
            assert {one.result().status_code for one in waiting} == {200}
    finally:
        server.close()


def test_odd_keys_are_left_out(inside: Inside, provider: OpenID) -> None:
    key = provider.keys[-1]
    right = key.as_dict(private=False)
    with pytest.warns(SecurityWarning):
        weak = RSAKey.generate_key(1024, {"kid": "weak"}, private=True)
    odd = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": key.kid},
        {"kty": "RSA"},
        {"kty": "XX", "kid": "x"},
        right | {"kid": 7},
        right | {"use": "enc"},
        right | {"alg": "RS512"},
        right | {"key_ops": ["sign"]},
        "text",
        None,
    ]
    provider.faults["keys"] = {"keys": [*odd, right, weak.as_dict(private=False)]}
    assert inside.get(provider.token()).status_code == 200
    assert inside.refused(provider.sign(provider.claims("ann"), weak)) == NOBODY
    provider.faults["keys"] = {"keys": [right | {"use": "enc"}]}
    inside.clock.now += KEPT_SECONDS
    assert inside.refused(provider.token()) == NOBODY


def test_a_steward_blocks_a_subject_and_lets_it_in_again(inside: Inside, provider: OpenID) -> None:
    token = provider.token("ann")
    identity = inside.get(token).json()["id"]
    head = {"Authorization": f"Bearer {inside.steward}"}
    listed = inside.client.get("/api/v1/tokens", headers=head).json()["tokens"]
    assert "oidc:u-1001" in [one["name"] for one in listed]
    assert "oidc$" not in json.dumps(listed)
    assert inside.client.delete(f"/api/v1/tokens/{identity}", headers=head).status_code == 200
    assert inside.refused(token) == (401, "token-revoked")
    assert inside.refused(provider.token("ann", email="new@example.org")) == (401, "token-revoked")
    assert inside.client.post(f"/api/v1/tokens/{identity}/restore", headers=head).json()["revoked"] is None
    assert inside.get(token).status_code == 200
    spare = inside.client.post("/api/v1/tokens", json={"role": "analyst", "name": "x"}, headers=head).json()["id"]
    inside.client.delete(f"/api/v1/tokens/{spare}", headers=head)
    assert inside.client.post(f"/api/v1/tokens/{spare}/restore", headers=head).status_code == 404
    asked = inside.client.post(f"/api/v1/tokens/{identity}/restore", headers={"Authorization": f"Bearer {token}"})
    assert asked.status_code == 403
    assert inside.refused(f"hf_{identity}_" + "0" * 64) == NOBODY, "the row is no token"


def test_names_and_roles_follow_the_settings(provider: OpenID, tmp_path: Any) -> None:
    server = Inside(
        tmp_path,
        oidc_issuer=provider.url,
        oidc_audience=("holdfast-tests",),
        oidc_name_claim="email",
        oidc_analyst_claim="/access/roles",
        oidc_analyst_value="asks",
    )
    access = {"access": {"roles": ["asks"]}}
    try:
        assert server.refused(provider.token("ann")) == (403, "forbidden"), "no role"
        assert server.get(provider.token("ann", **access)).json()["name"] == "oidc:ann@example.org"
        assert server.refused(provider.token("eve", **access)) == (403, "forbidden"), "an address nobody verified"
        taken = provider.token("eve", email_verified=True, **access)
        assert server.refused(taken) == (403, "forbidden"), "a name is its first bearer's"
        renamed = provider.token("ann", email="sam@example.org", **access)
        assert server.get(renamed).json()["name"] == "oidc:ann@example.org", "and stays"
        assert server.get(provider.token("sam", **access)).json()["role"] == "analyst", "no claim makes a steward"
    finally:
        server.close()


def test_an_address_nobody_verified_is_no_name_however_the_claim_is_written(provider: OpenID, tmp_path: Any) -> None:
    server = Inside(tmp_path, oidc_issuer=provider.url, oidc_audience=("holdfast-tests",), oidc_name_claim="/email")
    try:
        assert server.refused(provider.token("eve")) == (403, "forbidden")
        assert server.get(provider.token("ann")).json()["name"] == "oidc:ann@example.org"
    finally:
        server.close()


def test_wrong_tokens_count_against_an_address(inside: Inside, provider: OpenID) -> None:
    from holdfast.server.http import Failures

    inside.server.failures = Failures(3)
    wrong = provider.sign(provider.claims("ann"), new_key())
    assert [inside.refused(wrong)[0] for _ in range(6)][-1] == 429
    assert inside.get(provider.token("ann")).status_code == 200, "a right one passes all the same"
