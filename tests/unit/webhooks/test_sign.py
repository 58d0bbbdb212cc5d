"""Signatures fit Standard Webhooks 1.0.0, and nothing else verifies."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import UsageError
from service.webhooks import SignatureError, new_secret, sign, verify

# The published vector of the standard's own libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
HEADERS = {"webhook-id": MESSAGE, "webhook-timestamp": "1614265330", "webhook-signature": SIGNATURE}
WRONG = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="


def test_the_published_vector_is_met() -> None:
    assert sign([SECRET], MESSAGE, AT, BODY) == HEADERS
    verify([SECRET], HEADERS, BODY, AT)
    verify([SECRET.removeprefix("whsec_")], {name.title(): value for name, value in HEADERS.items()}, BODY, AT)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": ""}, {"webhook-timestamp": ""}, {"webhook-signature": ""}, {"webhook-id": "msg_other"},
        {"webhook-timestamp": "1614265331"}, {"webhook-timestamp": "hello"}, {"webhook-timestamp": "-1614265330"},
        {"webhook-timestamp": "1614265330.0"}, {"webhook-timestamp": "１614265330"}, {"webhook-timestamp": "9" * 5000},
        {"webhook-signature": "v1,"}, {"webhook-signature": SIGNATURE[:8]}, {"webhook-signature": "v1,\u00e9\ud800"},
        {"webhook-signature": SIGNATURE.replace("v1,", "v1a,")}, {"webhook-signature": SIGNATURE.replace("v1,", "v2,")},
        {"webhook-signature": WRONG}, {"webhook-signature": SIGNATURE.removeprefix("v1,")},
        {"webhook-signature": f"{WRONG} " * 100 + SIGNATURE},
    ],
)  # fmt: skip
def test_what_was_not_signed_does_not_verify(changed: dict[str, str]) -> None:
    with pytest.raises(SignatureError):
        verify([SECRET], {**HEADERS, **changed}, BODY, AT)


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_is_needed(name: str) -> None:
    with pytest.raises(SignatureError, match="lacks"):
        verify([SECRET], {key: value for key, value in HEADERS.items() if key != name}, BODY, AT)


@pytest.mark.parametrize(("seconds", "fits"), [(300, True), (-300, True), (301, False), (-301, False)])
def test_an_old_message_and_one_of_the_future_are_refused(seconds: int, fits: bool) -> None:
    now = AT + timedelta(seconds=seconds)
    if fits:
        verify([SECRET], HEADERS, BODY, now)
    else:
        with pytest.raises(SignatureError, match="300 seconds away"):
            verify([SECRET], HEADERS, BODY, now)


def test_one_fitting_signature_of_several_is_enough() -> None:
    several = f"{WRONG} {WRONG.replace('v1', 'v2')} {SIGNATURE} {WRONG}"
    verify([SECRET], {**HEADERS, "webhook-signature": several}, BODY, AT)


def test_while_a_secret_takes_the_others_place_receivers_of_both_are_served() -> None:
    new, old = new_secret(), SECRET
    headers = sign([new, old], MESSAGE, AT, BODY)
    assert headers["webhook-signature"].split(" ")[1] == SIGNATURE
    for secret in (new, old):
        verify([secret], headers, BODY, AT)
    with pytest.raises(SignatureError, match="no signature"):
        verify([new_secret()], headers, BODY, AT)


def test_a_new_secret_is_one_that_the_standard_allows() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert first.startswith("whsec_")
    assert 24 <= len(base64.b64decode(first.removeprefix("whsec_"), validate=True)) <= 64


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_c2hvcnQ=", "whsec_" + "A" * 200, "whsec_?" * 8, "whsec_é" * 9])
def test_a_secret_that_is_none_is_refused(secret: str) -> None:
    with pytest.raises(UsageError) as caught:
        sign([secret], MESSAGE, AT, BODY)
    assert secret not in str(caught.value) or len(secret) < 7


@given(st.binary(), st.binary())
def test_a_changed_body_does_not_verify(body: bytes, other: bytes) -> None:
    headers = sign([SECRET], MESSAGE, AT, body)
    verify([SECRET], headers, body, AT)
    if other != body:
        with pytest.raises(SignatureError):
            verify([SECRET], headers, other, AT)
