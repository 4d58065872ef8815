"""The roles' permissions, as they are deployed, enforced on every request to the tests' storage, and counted."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from infra import permissions
from infra.settings import Settings
from infra.stage import Stage
from tests.engine.proxy import Proxy, answered, request

STAGE = "engine"
ROLES = ("prepare", "predict", "plan", "worker", "finish", "conclude")


@dataclass(frozen=True, order=True)
class Grant:
    """One thing that a role may do."""

    role: str
    action: str
    bucket: str
    """``jobs``, ``data``, ``records``, ``models``."""
    key: str
    """Pattern of the keys; empty for the bucket itself."""

    def __str__(self) -> str:
        return f"{self.role} {self.action} {self.bucket}/{self.key}"


def deployed() -> set[Grant]:
    """What the policies of the functions that jobs run on say of storage."""
    stage = Stage(Settings(stage=STAGE))
    found = set()
    for role in ROLES:
        for statement in getattr(permissions, role)(stage):
            document = statement.to_statement_json()
            for action in _listed(document["Action"]):
                for resource in _listed(document["Resource"]):
                    bucket, _, key = resource.partition(":::")[2].partition("/")
                    kind = bucket.removeprefix(f"bellwren-{STAGE}-").partition("-")[0]
                    found.add(Grant(role, action, kind, key))
    return found


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


@dataclass
class Guard:
    """Lets through what a role may do, and remembers by which grant."""

    grants: set[Grant]
    buckets: dict[str, str]
    """What each bucket is for, by its name."""
    removed: Grant | None = None
    used: set[Grant] = field(default_factory=set)
    """Grants without which a request would have been refused."""
    refused: list[str] = field(default_factory=list)

    def allows(self, role: str, action: str, bucket: str, key: str) -> bool:
        kind = self.buckets[bucket]
        by = {
            one
            for one in self.grants
            if (one.role, one.action, one.bucket) == (role, action, kind)
            and fnmatch.fnmatchcase(key, one.key)
            and one != self.removed
        }
        if len(by) == 1:
            self.used |= by
        if not by:
            self.refused.append(f"{role} {action} {kind}/{key}")
        return bool(by)


class GuardedProxy(Proxy):
    """A way to storage on which each door has a role."""

    def __init__(self, port: int, guard: Guard) -> None:
        super().__init__(port)
        self.guard = guard
        self.roles: dict[int, str] = {}
        """The role of a door; one that is not named is a worker's."""

    async def _one(
        self,
        door: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> bool:
        head, body, method, target = await request(reader)
        role = self.roles.get(door, "worker")
        bucket, key, wanted = _wanted(method, target, body)
        if method == "PUT" and re.search(rb"(?im)^if-match:", head):
            # S3 compares the object for whoever may read it, and answers 403 to others; to create takes no reading.
            wanted.append(("s3:GetObject", key))
        if not all(self.guard.allows(role, action, bucket, one) for action, one in wanted):
            writer.write(_denied(method))
            await writer.drain()
            return True
        answer, payload = await answered(method, head + body, server, to_server)
        missing = answer.split(b" ", 2)[1] == b"404"
        if missing and key and not self.guard.allows(role, "s3:ListBucket", bucket, ""):
            # Who may not list a bucket is not told that an object is not there.
            answer, payload = _denied(method), b""
        writer.write(answer + payload)
        await writer.drain()
        return True


def _wanted(method: str, target: str, body: bytes) -> tuple[str, str, list[tuple[str, str]]]:
    """The bucket and key of a request, and the actions that it takes, each with its key."""
    path, _, query = target.partition("?")
    bucket, _, key = unquote(path).lstrip("/").partition("/")
    if method == "POST" and query.startswith("delete"):
        return bucket, "", [("s3:DeleteObject", one) for one in re.findall("<Key>(.*?)</Key>", body.decode())]
    if method == "DELETE":
        action = "s3:AbortMultipartUpload" if "uploadId" in query else "s3:DeleteObject"
    elif method in ("PUT", "POST"):
        action = "s3:PutObject"
    else:
        action = "s3:GetObject" if key else "s3:ListBucket"
    return bucket, key, [(action, key)]


def _denied(method: str) -> bytes:
    body = (
        b""
        if method == "HEAD"
        else b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    )
    head = f"HTTP/1.1 403 Forbidden\r\ncontent-type: application/xml\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body
