"""A payload is a snapshot of the function, equal for equal functions, and no larger than it must be."""

from __future__ import annotations

import functools
import hashlib
import json
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from far import far_calls, far_frames, far_map, run_payloads

from bellwren.errors import PayloadError
from bellwren.payload.items import write_items
from bellwren.payload.outcome import value_of
from bellwren.payload.pack import Payload, pack

Program = Callable[..., list[str]]


def run_later(payloads: list[Payload], item: Any) -> list[Any]:
    with write_items([item]) as written:
        data = written.file.read()
    return [value_of(frames[0], index=0) for frames in run_payloads([(p, data) for p in payloads])]


def test_closures_made_in_a_loop_keep_the_value_of_their_turn() -> None:
    payloads = []
    for k in range(3):
        payloads.append(pack(lambda x: x * k))
    k = 99
    assert run_later(payloads, 10) == [0, 10, 20]


def test_data_that_changes_after_packing_does_not_reach_the_worker() -> None:
    data, array = [1, 2], np.arange(50_000)
    payload = pack(lambda _: (len(data), int(array[0])))
    data.append(3)
    array[0] = 7
    assert run_later([payload], None) == [(2, 0)]


def test_a_function_defined_anew_is_a_new_function(program: Program) -> None:
    main = """
        from far import far_map
        def job(x): return x*2
        a=far_map(job,[10])
        def job(x): return x*3
        b=far_map(job,[10]);  K=5
        def job(x): return x*K
        c=far_map(job,[10]); K=6; d=far_map(job,[10])
        print(a, b, c, d)
    """
    assert program({"main.py": main}) == ["[20] [30] [50] [60]"]


def test_equal_functions_make_equal_payloads_in_every_run_of_a_program(program: Program) -> None:
    main = """
        import functools
        import helper
        from far import pack
        class Model:
            names = ("a", "b")
            def run(self, x): return x in {"p", "q", "r"} or helper.f(x)
        K = 3
        @functools.lru_cache
        def cached(x): return Model().run(x) + K
        def outer(n):
            def inner(x): return x in {"one", "two", "three"} and cached(x) + n
            return inner
        print(pack(outer(3)).sha256, pack(Model().run).sha256, pack(outer(3)).sha256 == pack(outer(3)).sha256)
    """
    files = {"helper.py": "def f(x): return x in {'u', 'v', 'w', 'x', 'y', 'z'}\n", "main.py": main}
    one = program(files, PYTHONHASHSEED="1")
    assert one[0].endswith("True")
    assert program(files, PYTHONHASHSEED="2") == one


def test_a_payload_says_what_it_is() -> None:
    payload = pack(np.sqrt)
    assert payload.sha256 == hashlib.sha256(payload.data).hexdigest()
    assert payload.packages == ("numpy",)
    assert payload.reference("code/x") == {
        "payload": "code/x",
        "sha256": payload.sha256,
        "python": payload.python,
        "cloudpickle": payload.cloudpickle,
    }


def test_a_small_function_makes_a_small_payload() -> None:
    assert len(pack(lambda x: x + 1).data) < 1_500


def test_a_closure_of_200_mb_is_copied_once() -> None:
    text = b"x" * 100_000_000
    array = np.zeros(100_000_000, np.uint8)
    tracemalloc.start()
    try:
        payload = pack(lambda i: (len(text), array.shape, i))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 200_000_000 < len(payload.data) < 200_100_000
    assert peak < 230_000_000
    (frame,) = run_payloads([(payload, _items([1]))])[0]
    assert value_of(frame, index=0) == (100_000_000, (100_000_000,), 1)


def _items(items: list[Any]) -> bytes:
    with write_items(items) as written:
        return written.file.read()


def test_arrays_arrive_as_they_were() -> None:
    matrix = np.arange(60_000.0).reshape(200, 300)
    fixed = np.arange(30_000)
    fixed.flags.writeable = False
    turned, empty = matrix.T[::2], np.array([])

    def look(_: int) -> list[Any]:
        for array in (matrix, turned, empty):
            np.add(array, 1, out=array)  # a captured array can be written, as at home
        return [matrix, turned, empty, fixed.flags.writeable, fixed]

    results = far_map(look, [0, 1])
    for got, turned_got, empty_got, writeable, fixed_got in results:
        assert np.array_equal(got, matrix + 1)
        assert np.array_equal(turned_got, turned + 1)
        assert empty_got.shape == (0,)
        assert not writeable
        assert np.array_equal(fixed_got, fixed)


def test_both_spellings_of_an_import_are_refused_alike_where_workers_lack_the_package(
    program: Program,
) -> None:
    main = """
        import colorsys, networkx
        import networkx as nx
        from networkx import Graph
        from networkx.classes.graph import Graph as Named
        from far import far_map, pack
        def inside(x):
            import networkx
            return networkx.Graph().number_of_nodes()
        def maybe(x):
            try:
                import networkx
            except ImportError:
                return None
        fns = [lambda x: networkx.Graph(), lambda x: nx.Graph(), lambda x: Graph(), lambda x: Named(), inside]
        for fn in fns:
            try:
                pack(fn, worker_packages=["numpy", "Pandas"])
            except Exception as error:
                print(type(error).__name__, str(error).partition(",")[0], str(error).partition("Pass")[2])
            pack(fn, worker_packages=["NetworkX"])
        pack(maybe, worker_packages=[])
        pack(lambda x: colorsys.ONE_THIRD, worker_packages=[])
        print(far_map(lambda x: len(Graph()) + len(networkx.Graph()), [1]), far_map(inside, [1]))
    """
    *refused, last = program({"main.py": main})
    assert len(refused) == 5
    assert len(set(refused)) == 1
    assert refused[0].startswith("PayloadError the workers do not have the package 'networkx'")
    assert "requirements=['networkx==" in refused[0]
    assert last == "[0] [0]"


def test_a_package_is_known_by_its_distribution_or_its_import_name() -> None:
    import sklearn.utils

    fn = sklearn.utils.check_array
    assert pack(fn, worker_packages=["Scikit_Learn"]).packages == ("sklearn",)
    pack(fn, worker_packages=["sklearn"])
    with pytest.raises(PayloadError, match=r"requirements=\['scikit-learn=="):
        pack(fn, worker_packages=["numpy"])


def test_items_bring_the_packages_and_modules_that_they_need() -> None:
    with write_items([np.arange(3)]) as written:
        payload = pack(len, needs=written.needs)
        with pytest.raises(PayloadError, match="numpy"):
            pack(len, needs=written.needs, worker_packages=[])
    assert payload.packages == ("numpy",)


def test_two_payloads_of_a_job_share_the_users_modules_in_one_worker(program: Program) -> None:
    files = {
        "shared.py": "class P: pass\nkept = []\n"
        "def put(x):\n    kept.append(P())\n    return len(kept)\n"
        "def get(x): return isinstance(kept[0], P), len(kept)\n",
        "main.py": """
            from far import far_calls
            import shared
            print(far_calls([(shared.put, 0), (shared.get, 0)]))
        """,
    }
    assert program(files) == ["[1, (True, 1)]"]


def test_a_module_that_was_edited_after_its_import_is_warned_of(program: Program) -> None:
    files = {
        "helper.py": "def f(x): return 1\n",
        "main.py": """
            import importlib, pathlib, sys, warnings
            from far import far_map
            sys.dont_write_bytecode = True
            import helper
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                far_map(helper.f, [0])
                pathlib.Path("helper.py").write_text("def f(x): return 22\\n")
                print(far_map(helper.f, [0]), helper.f(0), len(seen), "importlib.reload" in str(seen[0].message))
                importlib.reload(helper)
                print(far_map(helper.f, [0]), helper.f(0), len(seen))
        """,
    }
    assert program(files) == ["[22] 1 1 True", "[22] 22 1"]


def test_a_function_of_a_notebook_is_equal_in_every_kernel_and_its_cell_is_shown(program: Program) -> None:
    main = """
        import linecache, os
        from far import far_failures, pack
        text = "def f(x):\\n    return 1 / x  # in a cell\\n"
        for kernel in (11, 12):
            file = f"/tmp/ipykernel_{kernel}/345.py"
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            exec(compile(text, file, "exec"))
            print(pack(f).sha256)
        print(far_failures(f, [0])[0][0].traceback)
    """
    one, two, _, place, line, *_ = program({"main.py": main})
    assert one == two
    assert '"<notebook cell 345.py>", line 2, in f' in place
    assert "return 1 / x  # in a cell" in line


def test_packing_in_many_threads_at_once_gives_what_one_gives() -> None:
    with ThreadPoolExecutor(8) as threads:
        hashes = list(threads.map(lambda k: pack(functools.partial(json.dumps, k % 3)).sha256, range(60)))
    assert hashes == [pack(functools.partial(json.dumps, k % 3)).sha256 for k in range(60)]
    assert len(set(hashes)) == 3


def test_a_30_mb_closure_and_small_items() -> None:
    big = bytes(30_000_000)
    assert far_map(lambda i: len(big) + i, [0, 1]) == [30_000_000, 30_000_001]


def test_results_and_items_of_any_size() -> None:
    sizes = (200_000, 262_144, 6_291_556, 20_000_000)
    results = far_map(lambda s: (len(s), s), ["x" * n for n in sizes])
    assert [(n, len(s)) for n, s in results] == [(n, n) for n in sizes]


def test_ten_thousand_small_items_cost_little_each() -> None:
    frames = far_frames(lambda x: x, range(10_000))
    assert sum(len(frame.data) for frame in frames) < 150_000
    assert far_calls([(len, [1])]) == [1]
