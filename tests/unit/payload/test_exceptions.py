"""Exceptions come back as themselves without their constructors being called."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import botocore.exceptions
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.payload.exceptions import encode_exception, rebuild_exception

calls: list[str] = []


class Wanting(Exception):
    """Its constructor takes what is not in its args, and leaves a trace."""

    def __init__(self, a: int, b: int, *, c: int) -> None:
        calls.append("init")
        super().__init__(f"{a}-{b}")
        self.sum = a + b + c


class Slotted(Exception):
    __slots__ = ("code", "unset")

    def __init__(self, code: int) -> None:
        self.code = code


class Guarded(Exception):
    def __init__(self) -> None:
        self._hidden = 5

    @property
    def hidden(self) -> int:
        return self._hidden

    def __setattr__(self, name: str, value: Any) -> None:
        calls.append(f"set {name}")
        super().__setattr__(name, value)


class OwnNew(ValueError):
    def __new__(cls, only: int) -> OwnNew:
        calls.append("new")
        return super().__new__(cls, only, "extra")

    def __init__(self, only: int) -> None:
        super().__init__(only)


class Mixed(KeyError, OSError):
    pass


class Loud(Exception):
    def __reduce__(self) -> Any:
        return os._exit, (99,)


class Group(ExceptionGroup):
    def __new__(cls, errors: list[Exception]) -> Group:
        return super().__new__(cls, "several", errors)


def there_and_back(error: BaseException) -> BaseException:
    calls.clear()
    made = rebuild_exception(encode_exception(error))
    assert made is not None
    assert calls == []
    assert type(made) is type(error)
    return made


def raised(error: BaseException) -> BaseException:
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a", 1),
        KeyError("k"),
        OSError(2, "no file", "name.txt"),
        FileNotFoundError(2, "no file", "a", None, "b"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        SyntaxError("bad", ("f.py", 1, 2, "text")),
        ImportError("no", name="n", path="p"),
        StopIteration(5),
        SystemExit(0),
        KeyboardInterrupt(),
        AttributeError("x"),
        json.JSONDecodeError("bad", "doc", 1),
        Wanting(1, 2, c=3),
        Slotted(4),
        Guarded(),
        OwnNew(1),
        Mixed("k"),
        Loud("text"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_type_arguments_text_and_attributes_survive(error: BaseException) -> None:
    made = there_and_back(raised(error))
    assert made.args == error.args
    assert str(made) == str(error)
    assert vars(made) == vars(error)
    for name in (
        "errno",
        "filename",
        "name",
        "path",
        "object",
        "code",
        "value",
        "pos",
        "sum",
        "lineno",
        "hidden",
    ):
        assert getattr(made, name, None) == getattr(error, name, None)
    assert made.__traceback__ is None


def test_exceptions_of_libraries_survive() -> None:
    error = botocore.exceptions.ClientError({"Error": {"Code": "404", "Message": "m"}}, "GetObject")
    made = there_and_back(error)
    assert made.response == error.response  # type: ignore[attr-defined]
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(int).validate_python("x")
    made = rebuild_exception(encode_exception(caught.value))
    assert made is None or str(made) == str(caught.value)


def test_causes_contexts_and_notes_survive() -> None:
    def chain() -> None:
        try:
            try:
                {}["first"]
            except KeyError:
                raise ValueError("second")  # noqa: B904
        except ValueError as error:
            wanting = Wanting(1, 2, c=3)
            wanting.add_note("look here")
            raise wanting from error

    with pytest.raises(Wanting) as caught:
        chain()
    made = there_and_back(caught.value)
    assert made.__notes__ == ["look here"]
    assert isinstance(made.__cause__, ValueError)
    assert isinstance(made.__cause__.__context__, KeyError)
    assert made.__suppress_context__
    assert not made.__cause__.__suppress_context__


def test_groups_survive_with_all_their_members() -> None:
    error = ExceptionGroup("g", [Wanting(1, 2, c=3), ExceptionGroup("inner", [ValueError("v")])])
    made = there_and_back(error)
    assert isinstance(made, ExceptionGroup)
    assert made.message == "g"
    first, inner = made.exceptions
    assert (type(first), first.args) == (Wanting, ("1-2",))
    assert str(inner.exceptions[0]) == "v"  # type: ignore[union-attr]
    own = there_and_back(Group([KeyError("k")]))
    assert [type(part) for part in own.exceptions] == [KeyError]  # type: ignore[attr-defined]
    base = there_and_back(BaseExceptionGroup("b", [KeyboardInterrupt(), SystemExit(3)]))
    assert base.exceptions[1].code == 3  # type: ignore[attr-defined]


def test_a_part_that_cannot_be_pickled_costs_only_itself() -> None:
    error = ValueError("text", threading.Lock())
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    error.fine = 3  # type: ignore[attr-defined]
    made = there_and_back(error)
    assert made.args[0] == "text"
    assert made.args[1].startswith("<unlocked _thread.lock")
    assert made.lock.startswith("<unlocked _thread.lock")  # type: ignore[attr-defined]
    assert made.fine == 3  # type: ignore[attr-defined]


def test_a_part_that_is_enormous_is_replaced_by_its_text() -> None:
    error = ValueError("x")
    error.data = b"z" * 20_000_000  # type: ignore[attr-defined]
    assert len(encode_exception(error)) < 10_000
    assert "20000000 bytes" in there_and_back(error).data  # type: ignore[attr-defined]


def test_a_class_that_is_not_here_gives_no_exception_and_no_error() -> None:
    data = encode_exception(ValueError("x")).replace(b"ValueError", b"NoneSuchEr")
    assert rebuild_exception(data) is None
    assert rebuild_exception(b"") is None
    assert rebuild_exception(b"garbage") is None


def test_a_chain_that_goes_round_or_on_for_ever_ends() -> None:
    one, two = ValueError("1"), ValueError("2")
    one.__context__, two.__context__ = two, one
    assert isinstance(there_and_back(one).__context__, ValueError)
    error: BaseException = ValueError("last")
    for number in range(1000):
        outer = ValueError(number)
        outer.__context__ = error
        error = outer
    assert len(encode_exception(error)) < 10_000


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.lists(plain, max_size=4),
    st.dictionaries(st.from_regex("[a-z]{1,5}", fullmatch=True), plain, max_size=3),
)
def test_any_arguments_and_attributes_survive(arguments: list[Any], attributes: dict[str, Any]) -> None:
    error = RuntimeError(*arguments)
    vars(error).update(attributes)
    made = rebuild_exception(encode_exception(error))
    assert made is not None
    assert made.args == tuple(arguments)
    assert vars(made) == attributes
