"""What becomes of one item: its result, or a failure that tells everything, whatever user code does. Group C."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from far import failure, far_failures, far_frames, far_map

from bellwren.errors import PayloadError
from bellwren.framing import Frame, Kind
from bellwren.payload.exceptions import kinds
from bellwren.payload.failure import decode_failure
from bellwren.payload.outcome import failed, rebuild, value_of

Program = Callable[..., list[str]]


class Http(Exception):
    def __init__(self, status: int, *, body: str) -> None:
        super().__init__(f"{status} {body}")
        self.status = status


class NoArg(Exception):
    def __init__(self) -> None:
        super().__init__("fixed text")


class Bad(Exception):
    def __reduce__(self) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no str")

    __repr__ = __str__


def test_odd_constructors_come_back_as_themselves_and_the_others_succeed() -> None:
    def f(x: int) -> int:
        if x == 1:
            raise Http(503, body="busy")
        if x == 2:
            raise NoArg
        return x

    zero, one, two, three = far_failures(f, range(4))
    assert (zero, three) == (0, 3)
    assert (failure(one).type, failure(one).message, failure(one).index) == ("Http", "503 busy", 1)
    assert (failure(two).type, failure(two).message, failure(two).item) == ("NoArg", "fixed text", "2")
    assert 'raise Http(503, body="busy")' in failure(one).traceback
    assert type(one[1]) is Http
    assert (one[1].args, one[1].status) == (("503 busy",), 503)
    assert type(two[1]) is NoArg


def test_an_exception_that_cannot_be_described_is_told_by_its_type() -> None:
    def f(x: str) -> None:
        raise Bad(x)

    (entry,) = far_failures(f, ["x"])
    assert failure(entry).type == "Bad"
    assert failure(entry).message == "<its __str__ raises RuntimeError>"
    assert "raise Bad(x)" in failure(entry).traceback
    assert type(entry[1]) is Bad
    assert entry[1].args == ("x",)


def test_exits_and_interrupts_are_failures_of_their_item_and_of_nothing_else() -> None:
    def leave(x: Any) -> Any:
        if x == "keyboard":
            raise KeyboardInterrupt
        if x == "generator":
            raise GeneratorExit("g")
        if x == "stop":
            raise StopIteration(3)
        if x == "fine":
            return x
        sys.exit(x)

    entries = far_failures(leave, [0, 1, "bye", None, "keyboard", "generator", "stop", "fine"])
    kinds = [failure(entry).type for entry in entries[:-1]]
    assert kinds == ["SystemExit"] * 4 + ["KeyboardInterrupt", "GeneratorExit", "StopIteration"]
    assert [entry[1].code for entry in entries[:4]] == [0, 1, "bye", None]
    assert entries[6][1].value == 3
    assert entries[-1] == "fine"


def test_exits_within_a_coroutine_are_failures_too() -> None:
    async def leave(x: int) -> int:
        if x:
            sys.exit(0)
        return x

    zero, one = far_failures(leave, [0, 1])
    assert zero == 0
    assert failure(one).type == "SystemExit"
    assert "asyncio" not in failure(one).traceback


def test_the_remote_traceback_starts_at_the_users_code_and_shows_its_lines(program: Program) -> None:
    files = {
        "helper.py": "def inner(x):\n    return 1 / x  # in helper\n",
        "main.py": """
            import helper
            from far import far_failures

            def f(x):
                y = x - x
                return helper.inner(y)

            print(far_failures(f, [3])[0][0].traceback)
            print(far_failures(helper.inner, [0])[0][0].traceback)
        """,
    }
    lines = program(files)
    text = [line.strip() for line in lines if line.strip("^~ ")]
    assert text[0] == "Traceback (most recent call last):"
    assert text[1].startswith('File "')
    assert text[1].endswith('main.py", line 7, in f')
    assert text[2] == "return helper.inner(y)"
    assert text[3].endswith('helper.py", line 2, in inner')
    assert text[4] == "return 1 / x  # in helper"
    assert text[5] == "ZeroDivisionError: division by zero"
    assert text[7].endswith('helper.py", line 2, in inner')
    assert "bellwren/payload" not in "".join(lines)


def test_results_that_cannot_be_shipped_fail_their_item_and_name_the_type() -> None:
    def make(x: int) -> Any:
        if x == 0:
            return [(i for i in "a")]
        if x == 1:
            return {"f": [open("/dev/null")]}
        if x == 2:
            return threading.Lock()
        return lambda: 7

    generator, file, lock, function = far_failures(make, range(4))
    assert failure(generator).type == "PayloadError"
    assert failure(generator).message.startswith(
        "result not serialisable: list. element 0 of the result is a gen"
    )
    assert "element 0 of key 'f' of the result is an open file" in failure(file).message
    assert failure(lock).message.startswith("result not serialisable: _thread.lock. the result is a lock")
    assert "results.py" not in failure(lock).traceback
    assert function() == 7


def test_an_exception_within_a_generator_is_the_items() -> None:
    def numbers(x: int) -> Iterator[int]:
        yield 1
        yield 10 // x

    good, bad = far_failures(numbers, [5, 0])
    assert good == [1, 2]
    assert failure(bad).type == "ZeroDivisionError"


def test_none_keeps_its_place_among_results() -> None:
    frames = far_frames(lambda x: x if x % 2 else None, range(4))
    assert [frame.kind for frame in frames] == [Kind.NONE, Kind.VALUE, Kind.NONE, Kind.VALUE]
    assert far_map(lambda x: x, [None, 0, "", [], False]) == [None, 0, "", [], False]


def test_an_item_that_cannot_be_loaded_fails_alone() -> None:
    class Broken:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    good, bad = far_failures(str, [1, Broken()])
    assert good == "1"
    assert failure(bad).type == "ValueError"
    assert failure(bad).item == ""


def test_a_missing_module_within_a_function_comes_with_the_way_out() -> None:
    def f(x: int) -> None:
        import no_such_module_anywhere  # noqa: F401

    (entry,) = far_failures(f, [1])
    assert failure(entry).type == "ModuleNotFoundError"
    assert (
        "pass requirements=[...] with the package that provides 'no_such_module_anywhere'"
        in failure(entry).message
    )


def test_deep_recursion_and_endless_messages_are_cut_to_a_bound() -> None:
    def deep(x: int) -> int:
        return even(x + 1)

    def even(x: int) -> int:
        return deep(x + 1)

    def wordy(x: int) -> None:
        raise ValueError("w" * 10_000_000)

    (entry,) = far_failures(deep, [0])
    assert failure(entry).type == "RecursionError"
    assert len(failure(entry).traceback) < 70_000
    (entry,) = far_failures(wordy, [0])
    assert len(failure(entry).message) < 11_000
    assert "characters left out" in failure(entry).message


def test_the_summary_of_an_item_is_short_and_never_fails() -> None:
    def f(x: Any) -> None:
        raise ValueError

    for entry in far_failures(
        f, ["x" * 10**6, b"y" * 10**6, list(range(10**5)), {1: "a" * 999}, NoRepr(), None]
    ):
        assert len(failure(entry).item) <= 200
    assert failure(entry).item == "None"


class NoRepr:
    def __repr__(self) -> str:
        raise SystemExit


def test_what_retry_on_matches_is_the_type_and_its_bases() -> None:
    assert kinds(ConnectionResetError("x"))[:4] == (
        "ConnectionResetError",
        "ConnectionError",
        "OSError",
        "Exception",
    )
    assert kinds(Http(1, body=""))[0].endswith("test_outcome.Http")


def test_a_failure_is_read_without_unpickling_anything() -> None:
    frame = failed(ValueError("a\ud800b"), index=7, item="item")
    told, exception = decode_failure(frame.data)
    assert (told.index, told.type, told.message, told.item) == (7, "ValueError", "a\ud800b", "item")
    assert exception


def test_a_result_that_cannot_be_loaded_here_names_its_item() -> None:
    with pytest.raises(PayloadError, match="the result of item 3 cannot be loaded here: ModuleNotFoundError"):
        value_of(Frame(Kind.VALUE, b"cnowhere_at_all\nf\n."), index=3)


def test_catching_a_failure_lets_go_of_what_the_function_held() -> None:
    class Held:
        pass

    import weakref

    def f() -> weakref.ref[Held]:
        held = Held()
        reference = weakref.ref(held)
        try:
            int(str(held))
        except ValueError as error:
            failed(error, index=0)
        return reference

    assert f()() is None


def test_results_of_one_job_are_items_of_another_failed_ones_included(program: Program) -> None:
    main = """
        import io
        from far import far_frames, pack, run_payloads
        from bellwren.framing import FrameWriter
        from bellwren.payload.outcome import value_of
        class Point:
            def __init__(self, x): self.x = x
        def first(x): return Point(1 // x) if x < 2 else None
        def second(p): return getattr(p, "x", None), type(p).__name__, getattr(p, "index", None)
        out = io.BytesIO()
        writer = FrameWriter(out.write)
        for frame in far_frames(first, [1, 0, 2]):
            writer.add(*frame)
        writer.close()
        (frames,) = run_payloads([(pack(second), out.getvalue())])
        print([value_of(f, index=0) for f in frames])
    """
    assert program({"main.py": main}) == [
        "[(1, 'Point', None), (None, 'TaskFailure', 1), (None, 'NoneType', None)]"
    ]


def test_functions_are_items_too(program: Program) -> None:
    files = {
        "helper.py": "import json\ndef late(x):\n    import other\n    return other.V + x\n",
        "other.py": "V = 30\n",
        "main.py": """
            import helper
            from far import far_map
            def call(task):
                fn, args, kwargs = task
                return fn(*args, **kwargs)
            K = 2
            def inner(x, *, y): return x * y * K
            def lazy(x):
                import other
                return other.V - x
            tasks = [(inner, (3,), {"y": 2}), (helper.late, (1,), {}), (lazy, (1,), {}), (max, (1, 2), {})]
            print(far_map(call, tasks))
        """,
    }
    assert program(files) == ["[12, 31, 29, 2]"]


def test_the_same_failure_is_rebuilt_again_and_again() -> None:
    frame = failed(ValueError("x"), index=1)
    assert rebuild(frame.data)[0] == rebuild(frame.data)[0]
