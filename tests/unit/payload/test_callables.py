"""Whatever can be called runs on a worker: A03, A05, A09, and what users wrap functions into."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from far import far_calls

from bellwren.payload.pack import describe, pack

Program = Callable[..., list[str]]


class Adder:
    def __init__(self, n: int = 1) -> None:
        self.n = n

    def __call__(self, x: int) -> int:
        return x + self.n

    def method(self, x: int) -> int:
        return x + self.n + 1

    @classmethod
    def build(cls, x: int) -> str:
        return f"{cls.__name__}{x}"

    @staticmethod
    def plain(x: int) -> int:
        return -x


CALLABLES: list[tuple[Callable[[Any], Any], Any, Any, str]] = [
    (functools.partial(pow, 2), 3, 8, "pow"),
    (functools.partial(functools.partial(max, 3), key=abs), -5, -5, "max"),
    (Adder(), 1, 2, "Adder"),
    (Adder(5).method, 1, 7, "Adder.method"),
    (Adder.build, 1, "Adder1", "Adder.build"),
    (Adder.plain, 1, -1, "Adder.plain"),
    (str.upper, "a", "A", "str.upper"),
    ("a-b".split, "-", ["a", "b"], "str.split"),
    (operator.itemgetter(0), (5,), 5, "itemgetter"),
    (operator.methodcaller("upper"), "a", "A", "methodcaller"),
    (len, [1], 1, "len"),
    (int, "3", 3, "int"),
    (dict, [(1, 2)], {1: 2}, "dict"),
    (math.sqrt, 4, 2.0, "sqrt"),
    (np.sqrt, 4.0, 2.0, "sqrt"),
    (np.linalg.norm, [3.0, 4.0], 5.0, "norm"),
    (lambda x: (x, None), 1, (1, None), "<lambda>"),
]


@pytest.mark.parametrize(("fn", "name"), [(fn, name) for fn, _, _, name in CALLABLES])
def test_a_callable_of_any_kind_has_a_name(fn: Callable[[Any], Any], name: str) -> None:
    assert describe(fn) == name
    assert pack(fn).name == name


def test_a_callable_of_any_kind_runs() -> None:
    assert far_calls((fn, item) for fn, item, _, _ in CALLABLES) == [result for _, _, result, _ in CALLABLES]


def test_functions_of_the_main_program_run(program: Program) -> None:
    main = """
        import abc, asyncio, collections, dataclasses, enum, functools, logging, typing
        import xml.dom.minidom
        from far import far_map

        def outer():
            def fact(n): return 1 if n < 2 else n * fact(n - 1)
            return fact
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != 0 and even(n - 1)
        class Node:
            def make(self): return Node()
        print(far_map(outer(), [5]), far_map(even, [4, 5]), far_map(lambda n: type(n.make()).__name__, [Node()]))

        def twice(f):
            def wrapper(*a, **k): return f(*a, **k) * 2
            return wrapper
        def wrapped(f):
            @functools.wraps(f)
            def wrapper(*a, **k): return f(*a, **k) * 2
            return wrapper
        @twice
        def a(x): return x
        @wrapped
        def b(x): "doc"; return x
        @functools.lru_cache(maxsize=3)
        def c(x): return x + 1
        @functools.cache
        def d(x): return c(x) + 1
        @functools.singledispatch
        def e(x): return "any"
        @e.register
        def _(x: int): return "int"
        def defaults(x, y=2, *, z=3): return x + y + z
        print(far_map(a, [1]), far_map(b, [1]), far_map(c, [1]), far_map(d, [1]), far_map(e, [1, "a"]),
              far_map(defaults, [1]))

        async def waits(x):
            await asyncio.sleep(0)
            return x + 1
        async def streams(x):
            for i in range(x):
                yield i
        def yields(x):
            yield from range(x)
        print(far_map(waits, [1]), far_map(streams, [3]), far_map(yields, [3]), far_map(lambda x: waits(x), [1]))

        @dataclasses.dataclass(frozen=True, slots=True)
        class Data:
            x: int
            tags: list = dataclasses.field(default_factory=list)
        class Colour(enum.Enum):
            RED = 1
            def shout(self): return self.name + "!"
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        class Square(Shape):
            def __init__(self, s): self.s = s
            @functools.cached_property
            def area(self): return self.s ** 2
            @property
            def side(self): return self.s
        Pair = collections.namedtuple("Pair", "a b", defaults=[9])
        class Triple(typing.NamedTuple):
            a: int
            b: int = 2
            def total(self): return self.a + self.b
        T = typing.TypeVar("T")
        class Box(typing.Generic[T]):
            def __init__(self, v: T): self.v = v
        def build(x):
            return [Data(x), Colour.RED, Square(x), Pair(x), Triple(x), Box[int](x)]
        made = far_map(build, [2])[0]
        print(made[0] == Data(2), made[1] is Colour.RED, type(made[2]) is Square, made[2].area, made[3] == (2, 9),
              type(made[3]) is Pair, made[4].total(), isinstance(made[4], Triple), type(made[5]) is Box)
        def use(item): return (item[0].x, item[1].shout(), item[2].side, item[3].b, item[4].total(), item[5].v)
        print(far_map(use, [build(3)]))

        log = logging.getLogger()
        own = logging.getLogger("own")
        print(far_map(lambda x: (log.info(x), own.warning(x), x)[2], [1]))
        def dom(x): return xml.dom.minidom.parseString(x).documentElement.tagName
        print(far_map(dom, ["<a/>"]), far_map(Square, [3])[0].area, far_map(Data, [1]))
        def wide(x, *, _seen=frozenset({"a", "b"})): return x in _seen and x in {"a", "c"}
        print(far_map(wide, ["a", "b"]))
    """
    assert program({"main.py": main}) == [
        "[120] [True, False] ['Node']",
        "[2] [2] [2] [3] ['int', 'any'] [6]",
        "[2] [[0, 1, 2]] [[0, 1, 2]] [2]",
        "True True True 4 True True 4 True True",
        "[(3, 'RED!', 3, 9, 5, 3)]",
        "[1]",
        "['a'] 9 [Data(x=1, tags=[])]",
        "[True, False]",
    ]


def test_a_result_of_the_users_class_leaves_the_class_as_it_is(program: Program) -> None:
    main = """
        from far import far_map
        calls = []
        class C:
            count = 0
            def hit(self): calls.append(1)
        method = C.hit
        C.count = 5
        back = far_map(lambda c: C(), [C(), C()])
        C.count = 7
        far_map(lambda c: C(), [C()])
        back[0].hit()
        print(C.hit is method, calls, C.count, [type(b) is C for b in back])
    """
    assert program({"main.py": main}) == ["True [1] 7 [True, True]"]


def test_two_classes_of_one_name_stay_two(program: Program) -> None:
    main = """
        from far import far_map
        class C: v = 1
        first = C
        class C: v = 2
        def make(n):
            class Local: v = n
            return Local
        one, two = make(1), make(2)
        back = far_map(lambda _: (first(), C(), one(), two(), make(3)()), [0])[0]
        print([b.v for b in back], [type(b) is t for b, t in zip(back, (first, C, one, two))])
        print([c.v for c in far_map(lambda c: c, [first(), C(), one(), two()])])
    """
    assert program({"main.py": main}) == ["[1, 2, 1, 2, 3] [True, True, True, True]", "[1, 2, 1, 2]"]


def test_results_of_a_class_load_in_another_process(program: Program) -> None:
    files = {
        "main.py": """
            import pickle, subprocess, sys, pathlib
            from far import far_frames
            class C:
                def __init__(self, v): self.v = v
                def double(self): return self.v * 2
            frames = far_frames(lambda x: C(x), [1, 2])
            pathlib.Path("frames").write_bytes(pickle.dumps([tuple(f) for f in frames]))
            print(len(frames[0].data) < 2500)
            for name in ("same.py", "other.py"):
                print(subprocess.run([sys.executable, name], capture_output=True, text=True, check=True).stdout, end="")
        """,
        "other.py": """
            import pickle
            from bellwren.framing import Frame
            from bellwren.payload.outcome import value_of
            a, b = [value_of(Frame(*f), index=0) for f in pickle.load(open("frames", "rb"))]
            print(a.double() + b.double(), type(a) is type(b))
        """,
        "same.py": """
            import pickle
            from bellwren.framing import Frame
            from bellwren.payload.outcome import value_of
            class C:
                def double(self): return 100
            a, b = [value_of(Frame(*f), index=0) for f in pickle.load(open("frames", "rb"))]
            print(a.double() + b.double(), type(a) is C)
        """,
    }
    assert program(files) == ["True", "200 True", "6 True"]


def test_a_function_that_is_not_one_is_refused() -> None:
    with pytest.raises(Exception, match="a function was expected, found int, a int, which cannot be called"):
        pack(3)  # type: ignore[arg-type]
