"""How a program reaches a local cloud."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from bellwren import layout
from bellwren.local.deployment import digest_parameter
from bellwren.local.settings import ACCESS_KEY_ID, HOST, REGION, SECRET_ACCESS_KEY

# What may stand in a user's shell and would lead an AWS client elsewhere.
MISLEADING_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")

_NO_USER_SETTINGS = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
_CLIENT = Config(proxies={}, connect_timeout=5, retries={"max_attempts": 3, "mode": "standard"})


@dataclass(frozen=True)
class LocalCloud:
    """A local cloud that runs."""

    port: int
    stage: str
    """The stage that was started last; clients use it unless they name another."""
    directory: Path
    """Where everything of the cloud lies."""
    pid: int
    """Process of the server."""
    region: str = REGION

    @property
    def endpoint(self) -> str:
        """What ``AWS_ENDPOINT_URL`` is for a client."""
        return f"http://{HOST}:{self.port}"

    @property
    def credentials(self) -> dict[str, str]:
        """The caller's credentials, named as boto3 and obstore name them: those of a root user."""
        return {"aws_access_key_id": ACCESS_KEY_ID, "aws_secret_access_key": SECRET_ACCESS_KEY}

    @property
    def log(self) -> Path:
        """Log of the server, with the errors of its Lambda processes."""
        return self.directory / "cloud.log"

    def environment(self) -> dict[str, str]:
        """The variables with which any AWS client, and Bellwren, reaches this cloud."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "BELLWREN_STAGE": self.stage,
        }

    def client(self, service: str) -> Any:
        """A boto3 client of this cloud, whatever profile, region or proxy the user has set up for AWS."""
        core = botocore.session.Session(session_vars=_NO_USER_SETTINGS)
        session = boto3.session.Session(botocore_session=core, region_name=self.region, **self.credentials)
        return session.client(service, endpoint_url=self.endpoint, config=_CLIENT)  # type: ignore[call-overload]

    def deployment(self, stage: str | None = None) -> dict[str, Any] | None:
        """What the deployment of a stage publishes about itself; None where the stage is not deployed.

        Args:
            stage: by default the stage of this cloud.
        """
        value = self._parameter(layout.deployment_parameter(stage or self.stage))
        return None if value is None else dict(json.loads(value))

    def deployed_digest(self) -> str | None:
        """Digest of the sources that are deployed, or None."""
        return self._parameter(digest_parameter(self.stage))

    def note_digest(self, digest: str) -> None:
        """Write down which sources are deployed."""
        self.client("ssm").put_parameter(
            Name=digest_parameter(self.stage), Value=digest, Type="String", Overwrite=True
        )

    def _parameter(self, name: str) -> str | None:
        ssm = self.client("ssm")
        try:
            return str(ssm.get_parameter(Name=name)["Parameter"]["Value"])
        except ssm.exceptions.ParameterNotFound:
            return None
