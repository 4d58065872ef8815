"""Bundles as CDK assets, for the platform of each group of functions."""

from __future__ import annotations

from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_lambda as lambda_

from infra import python_support
from infra.function import Runtime
from infra.packaging import CONTROL, PREDICT, TRAIN, WORKER, Group, Packer
from infra.settings import Settings
from infra.wheels import Target

_PLATFORMS = {
    "arm64": ecr_assets.Platform.LINUX_ARM64,
    "x86_64": ecr_assets.Platform.LINUX_AMD64,
}


class FunctionCode:
    """The runtime and code of each group of functions, by the settings of the deployment."""

    def __init__(self, settings: Settings, packer: Packer) -> None:
        self._settings = settings
        self._packer = packer

    def control(self) -> Runtime:
        """Prepare, Plan and Finish unpickle nothing, but run beside the workers and like them."""
        return self._runtime(CONTROL, self._settings.python, self._settings.worker_architecture)

    def worker(self) -> Runtime:
        """The Python of the clients, whose functions travel as pickles."""
        return self._runtime(WORKER, self._settings.python, self._settings.worker_architecture)

    def worker_platforms(self) -> list[str]:
        """Platform tags of wheels that load on the workers; none where they run in this machine's Python."""
        settings = self._settings
        if settings.packaging != "aws":
            return []
        return Target(settings.python, settings.worker_architecture).platforms()

    def worker_packages(self) -> list[str] | None:
        """Distributions in the workers' bundle; None where the workers have what is installed on this machine."""
        settings = self._settings
        if settings.packaging != "aws":
            return None
        bundle = self._packer.bundle(WORKER, Target(settings.python, settings.worker_architecture))
        infos = sorted(bundle.folder.glob("*.dist-info"))
        return [info.name.removesuffix(".dist-info").rpartition("-")[0] for info in infos]

    def predict(self) -> Runtime:
        """A Python that onnxruntime has wheels for."""
        python = self._settings.python
        if self._settings.packaging == "aws":
            python = python_support.for_prediction(python)
        return self._runtime(PREDICT, python, self._settings.prediction_architecture)

    def train(self) -> Runtime:
        """A container image with PyTorch on AWS; the same source, in this environment, where there is an emulator."""
        settings = self._settings
        if settings.packaging != "aws":
            return self._runtime(TRAIN, settings.python, settings.prediction_architecture)
        python = python_support.for_prediction(settings.python)
        bundle = self._packer.bundle(TRAIN, Target(python, settings.prediction_architecture))
        code = lambda_.Code.from_asset_image(
            str(bundle.folder),
            build_args={"PYTHON": python},
            platform=_PLATFORMS[settings.prediction_architecture],
            asset_name="bellwren-train",
        )
        return Runtime(python=python, architecture=settings.prediction_architecture, code=code, image=True)

    def _runtime(self, group: Group, python: str, architecture: str) -> Runtime:
        bundle = self._packer.bundle(group, Target(python, architecture))
        code = lambda_.Code.from_asset(str(bundle.folder), asset_hash=bundle.sha256)
        return Runtime(python=python, architecture=architecture, code=code)
