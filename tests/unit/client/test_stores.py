"""The client's buckets: one set of credentials, whatever the object is called."""

from __future__ import annotations

from typing import Any

import boto3

from bellwren.clients import Clients, SessionAccess


def test_names_that_obstore_cannot_express_are_asked_for_with_the_sessions_credentials(
    monkeypatch: Any,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-environment")
    session = boto3.Session("of-the-session", "secret", "token", region_name="eu-west-3")
    store = Clients(SessionAccess(session)).store("a-bucket")
    client = store._boto3()
    found = client._request_signer._credentials
    assert (found.access_key, found.secret_key, found.token) == ("of-the-session", "secret", "token")
    assert client.meta.region_name == "eu-west-3"
    assert store._boto3() is client
