"""How the client reaches AWS, or the local cloud: boto3 clients and stores with one set of credentials."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import boto3

from bellwren.store import Store

if TYPE_CHECKING:
    from bellwren.local import LocalCloud


class Access(Protocol):
    """One set of credentials, and where to use them."""

    def client(self, service: str) -> Any:
        """A boto3 client."""

    def store_options(self) -> dict[str, Any]:
        """Options of `bellwren.store.Store`."""


class SessionAccess:
    """The account and region of a boto3 session, or of the environment."""

    def __init__(self, session: boto3.Session | None = None) -> None:
        self._session = session or boto3.Session()

    def client(self, service: str) -> Any:
        """A boto3 client of the session."""
        return self._session.client(service)  # type: ignore[call-overload]

    def store_options(self) -> dict[str, Any]:
        """The store asks boto3 for credentials as they run out: profiles, SSO and roles are boto3's to resolve."""
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415  imports boto3 at its top

        region = self._session.region_name
        options = {"region": region} if region else {}
        return {"credential_provider": Boto3CredentialProvider(self._session), **options}


class LocalAccess:
    """The local cloud of this machine, whatever the environment says about AWS."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud

    def client(self, service: str) -> Any:
        """A boto3 client of the local cloud."""
        return self._cloud.client(service)

    def store_options(self) -> dict[str, Any]:
        """Endpoint and credentials of the local cloud."""
        credentials = self._cloud.credentials
        return {
            "endpoint": self._cloud.endpoint,
            "region": self._cloud.region,
            "access_key_id": credentials["aws_access_key_id"],
            "secret_access_key": credentials["aws_secret_access_key"],
        }


class Clients:
    """What one connection uses, each made once. Every method may be called from any thread."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._made: dict[str, Any] = {}
        self._stores: dict[str, Store] = {}
        self._lock = (
            threading.Lock()
        )  # making a boto3 client is not safe in two threads at once; using one is

    def client(self, service: str) -> Any:
        """A boto3 client."""
        with self._lock:
            if service not in self._made:
                self._made[service] = self.access.client(service)
            return self._made[service]

    def store(self, bucket: str) -> Store:
        """A bucket."""
        with self._lock:
            if bucket not in self._stores:
                client = partial(self.access.client, "s3")
                self._stores[bucket] = Store(bucket, make_client=client, **self.access.store_options())
            return self._stores[bucket]
