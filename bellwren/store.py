"""One bucket, as the client, the control functions and the workers see it.

Built on obstore (Rust): importing it costs a tenth of boto3, and so does each request. Nothing here starts a thread or
the Rust runtime at import; the first request does, and so a process that wants to fork safely must fork before it.

Object names that the Rust library can't express (an empty or ``..`` path segment, a trailing slash, a control
character) are legal in S3 and do occur in users' buckets; requests for those go through boto3, which is imported only
then.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    NotModifiedError,
    PreconditionError,
)
from obstore.store import S3Store

from bellwren.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType

# S3 answers a burst on a fresh prefix with 503 SlowDown for a while; the library's retries are exponential with jitter.
# It draws each pause between the first one and `base` times the last, so 4 doubles them on average (2 would not grow:
# twelve tries in two seconds).
_RETRIES = {
    "max_retries": 12,
    "retry_timeout": timedelta(seconds=120),
    "backoff": {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(seconds=8), "base": 4},
}
_BROKEN = "kind: Interrupted"
"""How the library's error says that a connection broke before the whole answer was there."""
_CONFLICT = "status code: 409"
"""How it says that S3 could not decide whether the condition held, since another request for the key was under way."""
_BROKEN_S = (0.1, 0.4, 1.6, 6.4, 6.4)
"""Limits of the random pauses before a conditional write that was not decided is made again."""
_PAGE = 1000
"""Keys in an answer of S3 to a request for a listing."""
_LISTINGS = 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CLIENT = {"allow_http": True, "timeout": "300s", "connect_timeout": "10s"}


@dataclass(frozen=True)
class Entry:
    """One object of a listing."""

    key: str
    size: int
    """Bytes."""
    etag: str
    """With its quotes, as HTTP carries it."""


def _endpoint_in_china(region: str | None) -> str | None:
    """Where S3 is in a region of China; elsewhere the library knows it by itself."""
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
    return f"https://s3.{region}.amazonaws.com.cn" if region.startswith("cn-") else None


def parse_uri(uri: str) -> tuple[str, str]:
    """Split ``s3://bucket/key`` into bucket and key, the key verbatim (it is never URL-decoded).

    Raises:
        InputError: if ``uri`` is no S3 URI.
    """
    if not uri.startswith("s3://"):
        raise InputError(f"{uri!r} is not an S3 URI; write s3://bucket/key")
    bucket, _, key = uri[len("s3://") :].partition("/")
    if not bucket:
        raise InputError(f"{uri!r} names no bucket; write s3://bucket/key")
    return bucket, key


class Store:
    """Reads and writes of one bucket. Every method blocks and may be called from any thread."""

    def __init__(
        self,
        bucket: str,
        *,
        credential_provider: Any = None,
        make_client: Callable[[], Any] | None = None,
        **options: Any,
    ) -> None:
        """``options`` are obstore's (``region``, ``endpoint``, ``access_key_id``, ...), by default the environment's.

        ``make_client`` gives the boto3 client of the same credentials, for names that obstore can't express.
        """
        self.bucket = bucket
        self.requests = {"get": 0, "put": 0, "list": 0}
        """How many were made, as S3 counts them for their price: a HEAD is a GET, each page of a listing one. Tries
        again of the library's own are not seen here."""
        self._counting = threading.Lock()
        self._make_client = make_client or self._client_of_options
        endpoint = (
            options.get("endpoint")
            or os.environ.get("AWS_ENDPOINT_URL_S3")
            or os.environ.get("AWS_ENDPOINT_URL")
            or _endpoint_in_china(options.get("region"))
        )
        if endpoint:
            options["endpoint"] = endpoint
        self._options = options
        self._client: Any = None
        # Making a boto3 client is not safe in two threads at once; using one is.
        self._making = threading.Lock()
        self._s3 = S3Store(
            bucket,
            client_options=_CLIENT,  # type: ignore[arg-type]
            retry_config=_RETRIES,  # type: ignore[arg-type]
            # TLS keeps whole what is sent; a hash of it in each signature costs as much CPU as the rest of a write.
            unsigned_payload=True,
            credential_provider=credential_provider,
            **options,
        )

    def _count(self, kind: str) -> None:
        with self._counting:
            self.requests[kind] += 1

    def get(self, key: str, *, etag: str | None = None) -> bytes:
        """The whole object.

        Raises:
            FileNotFoundError: if there is none.
            InputError: if ``etag`` is given and the object is another one by now.
        """
        self._count("get")
        if not _expressible(key):
            return self._odd_get(key, etag=etag)
        with _named(self.bucket, key):
            return bytes(obstore.get(self._s3, key, options={"if_match": etag} if etag else None).bytes())

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """Bytes ``[start, end)``; shorter where the object ends before. Raises as ``get``."""
        if end <= start:
            return b""
        self._count("get")
        if not _expressible(key):
            return self._odd_get(key, etag=etag, range_=(start, end))
        options: Any = {"range": (start, end)}
        if etag:
            options["if_match"] = etag
        with _named(self.bucket, key):
            return bytes(obstore.get(self._s3, key, options=options).bytes())

    def find(self, key: str) -> bytes | None:
        """The whole object, or None where there is none."""
        try:
            return self.get(key)
        except FileNotFoundError:
            return None

    def get_with_metadata(self, key: str) -> tuple[bytes, dict[str, str]]:
        """The whole object and what its writer noted beside it. Raises as ``get``."""
        self._count("get")
        with _named(self.bucket, key):
            result = obstore.get(self._s3, key)
            return bytes(result.bytes()), {str(name): str(value) for name, value in result.attributes.items()}

    def find_with_etag(self, key: str) -> tuple[bytes, str] | None:
        """The object and its ETag, for a later ``replace``."""
        self._count("get")
        try:
            result = obstore.get(self._s3, key)
        except (NotFoundError, FileNotFoundError):
            return None
        return bytes(result.bytes()), str(result.meta["e_tag"])

    def find_changed(self, key: str, etag: str) -> tuple[str, bytes] | None:
        """The ETag and the object, without its bytes if it still is the one with ``etag``; None where there is none."""
        self._count("get")
        try:
            result = obstore.get(self._s3, key, options={"if_none_match": etag} if etag else None)
        except NotModifiedError:
            return etag, b""
        except (NotFoundError, FileNotFoundError):
            return None
        return str(result.meta["e_tag"]), bytes(result.bytes())

    def head(self, key: str) -> Entry | None:
        """Size and ETag, or None where there is no such object."""
        self._count("get")
        if not _expressible(key):
            return self._odd_head(key)
        try:
            meta = obstore.head(self._s3, key)
        except (NotFoundError, FileNotFoundError):
            return None
        return Entry(key, meta["size"], meta["e_tag"] or "")

    def put(self, key: str, data: bytes | BinaryIO, *, content_type: str | None = None) -> None:
        """Write the object, whatever was there. A browser opens one of a ``content_type`` that it knows."""
        self._count("put")
        if not _expressible(key):
            self._boto3().put_object(Bucket=self.bucket, Key=key, Body=data)
            return
        attributes = {"Content-Type": content_type} if content_type else None
        # In one request where it is in memory anyway: a multipart upload whose writer is killed would be left behind.
        multipart = False if isinstance(data, bytes) else None
        obstore.put(self._s3, key, data, use_multipart=multipart, attributes=attributes)

    def upload(self, key: str, data: bytes | BinaryIO) -> None:
        """Write an object of any size, or the rest of a file: large ones in several requests at once."""
        self._count("put")
        obstore.put(self._s3, key, data)

    def create(self, key: str, data: bytes | memoryview, metadata: dict[str, str] | None = None) -> bool:
        """Write the object only if there is none (``If-None-Match: *``); False if there was one.

        False does not mean that another writer was first: a response lost on the way makes the retry meet our own
        object. Where that matters the caller puts something of its own into ``data`` and reads it back.
        """
        try:
            self._put_if("create", key, data, metadata)
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    def replace(
        self, key: str, data: bytes | memoryview, etag: str, metadata: dict[str, str] | None = None
    ) -> bool:
        """Write the object only if it still is the one with this ETag (compare and swap); False if not."""
        try:
            self._put_if({"e_tag": etag}, key, data, metadata)
        except (PreconditionError, NotFoundError, FileNotFoundError):
            return False
        return True

    def swap(self, key: str, data: bytes, etag: str) -> str | None:
        """Compare and swap, or create where ``etag`` is empty: the new ETag, None if another object is there.

        A response lost on the way makes the retry meet our own object, which then counts as another's.
        """
        try:
            result = self._put_if({"e_tag": etag} if etag else "create", key, data)
        except (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError):
            return None
        return str(result["e_tag"])

    def _put_if(
        self, mode: Any, key: str, data: bytes | memoryview, metadata: dict[str, str] | None = None
    ) -> Any:
        """Write under a condition, and again where the connection broke, or where S3 asks for that (409).

        The library leaves the first at that, since it can't know whether the write was carried out. Here whoever writes
        under a condition can live with meeting its own object. The second it takes for an object that is there.
        """
        pauses_s = iter(_BROKEN_S)
        while True:
            self._count("put")
            try:
                return obstore.put(self._s3, key, data, mode=mode, use_multipart=False, attributes=metadata)
            except BaseError as error:
                limit_s = next(pauses_s, None)
                if limit_s is None or not (_BROKEN in str(error) or _CONFLICT in str(error)):
                    raise
            time.sleep(random.uniform(0, limit_s))  # noqa: S311  jitter

    def copy(self, source: str, target: str) -> None:
        """Copy an object of up to 5 GB within the bucket, without reading it.

        Raises:
            FileNotFoundError: if there is none.
        """
        if not (_expressible(source) and _expressible(target)):
            place = {"Bucket": self.bucket, "Key": source}
            self._boto3().copy_object(Bucket=self.bucket, Key=target, CopySource=place)
            return
        with _named(self.bucket, source):
            obstore.copy(self._s3, source, target)

    def delete(self, keys: list[str]) -> None:
        """Delete objects; a missing one is no error."""
        if keys:
            with contextlib.suppress(NotFoundError, FileNotFoundError):
                obstore.delete(self._s3, keys)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Every object whose key starts with ``prefix``, in key order, over as many pages as it takes."""
        # The Rust library lists path segments, so it is asked for the folder and the rest of the prefix is matched
        # here.
        folder = prefix.rpartition("/")[0]
        entries: list[Entry] = []
        self._count("list")
        try:
            for number, page in enumerate(obstore.list(self._s3, prefix=folder or None, chunk_size=_PAGE)):
                if number:
                    self._count("list")
                entries += [Entry(meta["path"], meta["size"], meta["e_tag"] or "") for meta in page]
        except Exception as error:
            if "invalid path" not in str(error) and "Could not parse" not in str(error):
                raise
            entries = list(self._odd_list(prefix))
        yield from sorted(
            (entry for entry in entries if entry.key.startswith(prefix)), key=lambda entry: entry.key
        )

    def list_all(self, prefixes: Sequence[str]) -> Iterator[Entry]:
        """Every object below any of several prefixes, which are listed at the same time."""
        if len(prefixes) == 1:
            yield from self.list(prefixes[0])
            return
        with ThreadPoolExecutor(_LISTINGS) as threads:
            for entries in threads.map(lambda prefix: list(self.list(prefix)), prefixes):
                yield from entries

    def list_verbatim(self, prefix: str = "") -> Iterator[Entry]:
        """As ``list``, and names that end in a slash keep it, where ``list`` gives ``in`` for ``in/``.

        Such objects are folder markers, and empty; where there are empty ones the listing is made by boto3.
        """
        entries = list(self.list(prefix))
        yield from entries if all(entry.size for entry in entries) else self._odd_list(prefix)

    def folders(self, prefix: str) -> Iterator[str]:
        """Prefixes of the next level below ``prefix``, which ends in a slash, as this does; not what is in them."""
        self._count("list")
        found = obstore.list_with_delimiter(self._s3, prefix)
        yield from (f"{name}/" for name in found["common_prefixes"])

    # -- documents ------------------------------------------------------------------------------------------------

    def find_json(self, key: str) -> Any | None:
        """The parsed document, or None where there is none."""
        data = self.find(key)
        return None if data is None else json.loads(data)

    def get_json(self, key: str) -> Any:
        """The parsed document.

        Raises:
            FileNotFoundError: if there is none.
        """
        return json.loads(self.get(key))

    def put_json(self, key: str, document: Any) -> None:
        """Write a document as strict JSON; a NaN or infinity in it is an error here, not at the reader's."""
        self.put(key, as_json(document))

    # -- names that the Rust library can't express ------------------------------------------------------------------

    def _boto3(self) -> Any:
        with self._making:
            self._client = self._client or self._make_client()
            return self._client

    def _client_of_options(self) -> Any:
        import boto3  # noqa: PLC0415  slow to import, hardly ever needed

        names = {
            "endpoint": "endpoint_url",
            "region": "region_name",
            "access_key_id": "aws_access_key_id",
            "secret_access_key": "aws_secret_access_key",
            "session_token": "aws_session_token",
        }
        module: ModuleType = boto3
        return module.client("s3", **{names[k]: v for k, v in self._options.items() if k in names})

    def _odd_get(self, key: str, *, etag: str | None, range_: tuple[int, int] | None = None) -> bytes:
        client = self._boto3()
        arguments: dict[str, Any] = {"Bucket": self.bucket, "Key": key}
        if etag:
            arguments["IfMatch"] = etag
        if range_:
            arguments["Range"] = f"bytes={range_[0]}-{range_[1] - 1}"
        try:
            return bytes(client.get_object(**arguments)["Body"].read())
        except client.exceptions.ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("NoSuchKey", "404"):
                raise FileNotFoundError(f"there is no object s3://{self.bucket}/{key}") from error
            if code in ("PreconditionFailed", "412"):
                raise _changed(self.bucket, key) from error
            raise

    def _odd_head(self, key: str) -> Entry | None:
        client = self._boto3()
        try:
            meta = client.head_object(Bucket=self.bucket, Key=key)
        except client.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return None
            raise
        return Entry(key, meta["ContentLength"], meta["ETag"])

    def _odd_list(self, prefix: str) -> Iterator[Entry]:
        pages = self._boto3().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        for page in pages:
            self._count("list")
            for item in page.get("Contents", ()):
                yield Entry(item["Key"], item["Size"], item["ETag"])


def as_json(document: Any) -> bytes:
    """Strict JSON, readable, keys in the order given."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode(
        "utf-8", "surrogatepass"
    )


def _expressible(key: str) -> bool:
    return bool(key) and not _CONTROL.search(key) and {"", ".", ".."}.isdisjoint(key.split("/"))


def _changed(bucket: str, key: str) -> InputError:
    return InputError(
        f"s3://{bucket}/{key} changed while the job ran; the job needs inputs that stay as they are"
    )


@contextlib.contextmanager
def _named(bucket: str, key: str) -> Iterator[None]:
    try:
        yield
    except (NotFoundError, FileNotFoundError) as error:
        raise FileNotFoundError(f"there is no object s3://{bucket}/{key}") from error
    except PreconditionError as error:
        raise _changed(bucket, key) from error


def is_local(endpoint: str | None) -> bool:
    """Whether an endpoint is an emulator on this machine."""
    host = urlsplit(unquote(endpoint or "")).hostname or ""
    return host in ("127.0.0.1", "localhost", "::1")
