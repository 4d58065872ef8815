"""A payload that is not the one named, or from other versions, is refused before anything is unpickled: A13."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest

from bellwren.errors import PayloadError, VersionMismatch
from bellwren.payload import unpack
from bellwren.payload.envelope import MAGIC, header
from bellwren.payload.pack import pack, python_minor

Program = Callable[..., list[str]]
BOMB = b"cos\n_exit\n(I99\ntR."  # ends the process that unpickles it


def forged(**changes: object) -> bytes:
    """A payload of other versions, whose pickle must never be loaded."""
    head, _ = header(pack(len).data)
    head |= {"pickle": [0, len(BOMB)], "modules": [], "buffers": [], **changes}
    encoded = json.dumps(head).encode()
    return MAGIC + struct.pack("<Q", len(encoded)) + encoded + BOMB


def sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def test_another_python_is_refused_by_both_names_and_nothing_is_unpickled() -> None:
    data = forged(python="3.99")
    with pytest.raises(
        VersionMismatch, match=rf"packed by Python 3\.99, the worker runs Python {python_minor()}"
    ):
        unpack.load(data, sha256=sha256(data))


def test_another_cloudpickle_is_refused_by_both_names_and_nothing_is_unpickled() -> None:
    data = forged(cloudpickle="2.2.1")
    ours = cloudpickle.__version__
    with pytest.raises(VersionMismatch, match=rf"cloudpickle 2\.2\.1, the worker has cloudpickle {ours}"):
        unpack.load(data, sha256=sha256(data))


def test_other_bytes_are_refused_and_nothing_is_unpickled() -> None:
    data = forged()
    with pytest.raises(PayloadError, match="nothing was unpickled"):
        unpack.load(data, sha256="0" * 64)


def test_a_patch_level_may_differ() -> None:
    major, minor, _ = cloudpickle.__version__.split(".")
    unpack.check_versions(f"{python_minor()}.99", f"{major}.{minor}.99")
    unpack.check_versions(python_minor(), f"{major}.{minor}")


@pytest.mark.parametrize("data", [b"", b"<html>", b"BWPAYLD1", b"BWPAYLD1" + bytes(8), b"\x80\x05N."])
def test_what_is_no_payload_is_refused(data: bytes) -> None:
    with pytest.raises(PayloadError):
        unpack.load(data, sha256=sha256(data))


def test_a_module_that_the_worker_lacks_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "farlib.py").write_text("def f(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    import farlib

    payload = pack(farlib.f)
    assert payload.packages == ("farlib",)
    (tmp_path / "payload").write_bytes(payload.data)
    code = (
        "import sys; from bellwren.payload import unpack\n"
        "try: unpack.load(open('payload','rb').read(), sha256=sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    said = subprocess.check_output([sys.executable, "-c", code, payload.sha256], cwd=tmp_path, text=True)
    assert said.startswith(
        "PayloadError function 'f' needs the module 'farlib', which the worker does not have"
    )
    assert "requirements=" in said


@pytest.mark.parametrize("broken", ["open('data.csv')", "import sys; sys.exit('usage: ...')", "int(OTHER)"])
def test_a_module_that_cannot_be_imported_on_the_worker_says_why(program: Program, broken: str) -> None:
    files = {
        "helper.py": f"import os\nif 'HOME_ONLY' not in os.environ:\n    {broken}\ndef f(x): return x\n",
        "main.py": """
            import os
            import helper
            from far import pack, run_payloads
            del os.environ["HOME_ONLY"]
            try:
                run_payloads([(pack(helper.f), b"")])
            except RuntimeError as error:
                print(str(error).partition("PayloadError: ")[2])
        """,
    }
    text = "\n".join(program(files, HOME_ONLY="1"))
    assert text.startswith("function 'f' cannot be loaded on the worker: ")
    assert "must be there, or be read within the function" in text
    assert 'helper.py", line 3, in <module>' in text
    assert broken in text


def test_sources_stay_within_their_folder(tmp_path: Path) -> None:
    from bellwren.payload.envelope import ShippedModule
    from bellwren.payload.shipped import install

    names = ["../../evil", "a/b", "..", "odd-name", "x.y"]
    finder = install(
        [ShippedModule(name, "f.py", False, b"V = 1", b"") for name in names], str(tmp_path / "code")
    )
    assert finder is not None
    sys.meta_path.remove(finder)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == len(names)
    assert all(path.is_relative_to(tmp_path / "code") for path in written)


@pytest.mark.parametrize(
    "module", ["bellwren.payload.unpack", "bellwren.payload.outcome", "bellwren.payload.failure"]
)
def test_what_workers_import_loads_nothing_heavy(module: str) -> None:
    heavy = "{'cloudpickle','numpy','asyncio','boto3','botocore','traceback','pydantic','tqdm','tempfile'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert (
        subprocess.check_output([sys.executable, "-I", "-S", "-c", _path() + code], text=True).strip() == "[]"
    )


def _path() -> str:
    import bellwren

    return f"import sys; sys.path.insert(0, {str(Path(bellwren.__file__).parent.parent)!r}); "
