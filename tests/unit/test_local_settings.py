from __future__ import annotations

from pathlib import Path

from bellwren.local.settings import no_proxy, server_environment

PLACE = Path("/a place/cloud")


def test_functions_inherit_nothing_that_aws_would_not_give_them() -> None:
    shell = {
        "HOME": "/home/me",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": "/mine",
        "AWS_PROFILE": "work",
        "AWS_SECRET_ACCESS_KEY": "real",
        "BELLWREN_LOCAL_DIR": "/x",
        "TOKEN": "secret",
    }
    environment = server_environment(PLACE, 4566, "m", shell)
    assert environment["HOME"] == "/home/me"
    assert (
        not {"PYTHONHASHSEED", "PYTHONPATH", "AWS_PROFILE", "BELLWREN_LOCAL_DIR", "TOKEN"}
        & environment.keys()
    )
    assert environment["AWS_SECRET_ACCESS_KEY"] == "test"


def test_the_server_listens_on_this_machine_only_and_enforces_iam() -> None:
    environment = server_environment(PLACE, 4711, "m", {})
    assert environment["BIND_HOST"] == "127.0.0.1"
    assert environment["GATEWAY_PORT"] == "4711"
    assert environment["AUTH"] == "true"


def test_everything_that_is_kept_lies_in_the_directory_of_the_cloud() -> None:
    environment = server_environment(PLACE, 4711, "m", {})
    for name in ("TMPDIR", "STATE_DIR", "S3_DATA_DIR"):
        assert PLACE in Path(environment[name]).parents


def test_a_proxy_is_passed_on_but_never_stands_before_the_cloud() -> None:
    environment = server_environment(PLACE, 4711, "m", {"HTTP_PROXY": "http://proxy", "NO_PROXY": "intranet"})
    assert environment["HTTP_PROXY"] == "http://proxy"
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost"


def test_no_proxy_keeps_either_spelling_and_names_no_host_twice() -> None:
    value = "127.0.0.1,intranet,localhost"
    assert no_proxy({"no_proxy": "127.0.0.1,intranet"}) == {"NO_PROXY": value, "no_proxy": value}
