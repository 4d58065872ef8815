from __future__ import annotations

import pytest

from bellwren import layout
from bellwren.learning.registry import PublishedMeanwhile, Registry, UnknownModel
from bellwren.learning.state import LearningState
from tests.unit.learning.memory import Bucket


@pytest.fixture
def models() -> Bucket:
    return Bucket("models")


@pytest.fixture
def registry(models: Bucket) -> Registry:
    made = Registry(models)  # type: ignore[arg-type]
    for version in ("20260101T000000Z-a", "20260102T000000Z-b", "20260103T000000Z-c"):
        made.add("grep", version, b"onnx", {"version": version, "mre": 9.0}, ["r1"])
        made.publish("grep", version, made.current("grep"))
    return made


def test_versions_are_kept_in_order_and_one_of_them_serves(registry: Registry) -> None:
    assert [version[-1] for version in registry.versions("grep")] == ["a", "b", "c"]
    assert registry.current("grep").version == "20260103T000000Z-c"
    assert registry.trained_on("grep", "20260101T000000Z-a") == {"r1"}
    assert list(registry.algorithms()) == ["grep"]


def test_a_rollback_takes_the_version_before_and_can_be_taken_back(registry: Registry) -> None:
    assert registry.roll_back("grep") == ("20260103T000000Z-c", "20260102T000000Z-b")
    assert registry.current("grep").version == "20260102T000000Z-b"
    assert registry.roll_back("grep", "20260103T000000Z-c")[1] == "20260103T000000Z-c"


def test_two_rollbacks_swap_the_same_two_versions(registry: Registry) -> None:
    registry.roll_back("grep")
    assert registry.roll_back("grep")[1] == "20260103T000000Z-c"


def test_a_version_that_was_published_twice_is_rolled_back_to_the_one_before_it(registry: Registry) -> None:
    registry.publish("grep", "20260103T000000Z-c", registry.current("grep"))
    assert registry.roll_back("grep")[1] == "20260102T000000Z-b"


def test_a_version_that_is_not_whole_is_none(registry: Registry, models: Bucket) -> None:
    models.put(layout.model("grep", "20260104T000000Z-d"), b"onnx")
    assert len(registry.versions("grep")) == 3
    with pytest.raises(UnknownModel, match=r"no version '20260104T000000Z-d' .* 20260101T000000Z-a"):
        registry.roll_back("grep", "20260104T000000Z-d")


def test_what_is_not_there_is_said_with_what_is(registry: Registry) -> None:
    with pytest.raises(UnknownModel, match=r"no model of 'sort'; there are models of: grep"):
        registry.roll_back("sort")
    with pytest.raises(UnknownModel, match="no version 'x' of"):
        registry.card("grep", "x")


def test_of_two_who_publish_at_once_the_second_is_told(registry: Registry) -> None:
    before = registry.current("grep")
    registry.publish("grep", "20260101T000000Z-a", before)
    with pytest.raises(PublishedMeanwhile, match="bellwren models show grep"):
        registry.publish("grep", "20260102T000000Z-b", before)
    assert registry.current("grep").version == "20260101T000000Z-a"


def test_a_pointer_that_is_damaged_is_replaced_by_the_next_model(registry: Registry, models: Bucket) -> None:
    models.put(layout.current_model("grep"), b"<html>")
    before = registry.current("grep")
    assert before.version is None
    registry.publish("grep", "20260102T000000Z-b", before)
    assert registry.current("grep").version == "20260102T000000Z-b"


def test_a_move_whose_answer_was_lost_is_the_ones_who_made_it() -> None:
    class Lossy(Bucket):
        """Does what it is asked, and says that somebody else was faster: what a retry after a lost answer meets."""

        def create(self, key: str, data: bytes) -> bool:
            return super().create(key, data) and False

        def replace(self, key: str, data: bytes, etag: str) -> bool:
            return super().replace(key, data, etag) and False

    bucket = Lossy("models")
    registry = Registry(bucket)  # type: ignore[arg-type]
    for version in ("1", "2"):
        registry.publish("grep", version, registry.current("grep"))
    assert registry.current("grep").version == "2"
    state = LearningState(bucket, "grep")  # type: ignore[arg-type]
    assert state.take("batch")
    assert state.take_up("batch", "first")
    assert not state.take("other")
