"""Modules and packages of the user's own reach a worker that has none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

Program = Callable[..., list[str]]
HELPER = "K = 3\ndef f(x): return x * K\n"


def test_a_function_of_a_second_file_runs(program: Program) -> None:
    main = """
        import importlib.util, sys
        import helper
        from helper import f
        from far import far_map
        print(far_map(helper.f, [1, 2]), far_map(lambda x: helper.f(x), [1, 2]), far_map(lambda x: f(x), [1, 2]))
        spec = importlib.util.spec_from_file_location("my-mod", "helper.py")
        m = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(m)
        print(far_map(m.f, [1]), far_map(lambda x: m.f(x), [1]))          # in no table of modules
        sys.modules["my-mod"] = m
        print(far_map(m.f, [1]), far_map(lambda x: m.f(x), [1]))
    """
    assert program({"helper.py": HELPER, "main.py": main}) == ["[3, 6] [3, 6] [3, 6]", "[3] [3]", "[3] [3]"]


PACKAGE: Mapping[str, str] = {
    "shop/__init__.py": "from .tax import rate\nfrom shop import stock\n",
    "shop/tax.py": "import enum\nclass Kind(enum.Enum):\n    A = 1\ndef rate(x): return x * 2\n",
    "shop/stock/__init__.py": "NAMES = ['a', 'b']\n",
    "shop/stock/deep.py": """
from ..tax import rate, Kind
from . import NAMES
class Base:
    def run(self, x): return rate(x)
class Special(Base):
    def run(self, x):
        from .. import late
        return super().run(x) + late.EXTRA
def kind(_): return Kind.A
def names(_): return NAMES
def special(x): return Special().run(x)
def make(n):
    def inner(x): return rate(x) + n
    return inner
""",
    "shop/late.py": "import json as _json\nEXTRA = 1000\n",
    "shop/unused.py": "raise RuntimeError('never imported')\n",
}


def test_a_package_is_shipped_with_what_it_imports_and_not_the_rest(program: Program) -> None:
    main = """
        from far import far_map, pack
        from shop.stock import deep
        from shop.tax import Kind
        print(far_map(deep.special, [1]), far_map(deep.Special().run, [2]), far_map(deep.make(7), [1]))
        print(far_map(deep.kind, [1]) == [Kind.A], far_map(deep.names, [0]))
        print(sorted(pack(deep.special).modules))
        def lazily(x):
            from shop.stock.deep import special
            return special(x)
        print(far_map(lazily, [1]))
    """
    assert program({**PACKAGE, "main.py": main}) == [
        "[1002] [1004] [9]",
        "True [['a', 'b']]",
        "['shop', 'shop.late', 'shop.stock', 'shop.stock.deep', 'shop.tax']",
        "[1002]",
    ]


def test_a_program_run_as_a_module_of_its_package_imports_relatively(program: Program) -> None:
    files = {
        "app/__init__.py": "",
        "app/part.py": "V = 5\n",
        "app/__main__.py": """
            from far import far_map
            from . import part
            def f(x):
                from .part import V
                return x + V + part.V
            print(far_map(f, [1]))
        """,
        "main.py": "import runpy\nrunpy.run_module('app', run_name='__main__', alter_sys=True)\n",
    }
    assert program(files) == ["[11]"]


def test_modules_imported_by_a_computed_name_come_with_their_package(program: Program) -> None:
    files = {
        "plug/__init__.py": "import importlib\ndef load(n): return importlib.import_module(f'plug.{n}').V\n",
        "plug/one.py": "V = 1\n",
        "plug/two/__init__.py": "V = 2\n",
        "other.py": "V = 3\n",
        "main.py": """
            import importlib
            import plug
            from far import far_map
            print(far_map(plug.load, ["one", "two"]))
            print(far_map(lambda x: importlib.import_module("other").V, [0]))
            print(far_map(lambda name: __import__(name).V, ["other"], modules=["other"]))
        """,
    }
    assert program(files) == ["[1, 2]", "[3]", "[3]"]


def test_folders_without_init_within_each_other_come_with_a_computed_import_too(program: Program) -> None:
    """The import system cannot look for the inner one unless the outer one is imported."""
    files = {
        "plug/__init__.py": "import importlib\ndef load(n): return importlib.import_module(f'plug.{n}').V\n",
        "plug/outer/inner/one.py": "V = 1\n",
        "main.py": """
            import plug
            from far import far_map
            print(far_map(plug.load, ["outer.inner.one"]))
        """,
    }
    assert program(files) == ["[1]"]


def test_folders_without_init_are_packages_too(program: Program) -> None:
    files = {
        "src/part/calc.py": "def f(x): return x + 1\n",
        "main.py": """
            from far import far_map
            from src.part.calc import f
            import src.part.calc
            print(far_map(f, [1]), far_map(lambda x: src.part.calc.f(x), [1]))
        """,
    }
    assert program(files) == ["[2] [2]"]


def test_an_editable_install_is_the_users_own(program: Program) -> None:
    files = {
        "project/src/mylib/__init__.py": "from mylib.core import f\n",
        "project/src/mylib/core.py": "def f(x): return x - 1\n",
        "site-packages/mylib-1.0.dist-info/METADATA": "Name: mylib\nVersion: 1.0\n",
        "main.py": """
            import sys
            sys.path[:0] = ["project/src", "site-packages"]
            from far import far_map, pack
            import mylib
            print(far_map(mylib.f, [1]), pack(mylib.f).modules)
        """,
    }
    assert program(files) == ["[0] ('mylib', 'mylib.core')"]


def test_what_pip_installed_into_a_folder_of_its_own_is_a_package_and_not_shipped(program: Program) -> None:
    files = {
        "libs/tool/__init__.py": "def f(x): return x\n",
        "libs/tool-2.1.dist-info/RECORD": "tool/__init__.py,,\n",
        "libs/tool-2.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 2.1\n",
        "libs/tool-2.1.dist-info/top_level.txt": "tool\n",
        "main.py": """
            import sys
            sys.path.insert(0, "libs")
            from far import pack
            from bellwren.errors import PayloadError
            import tool
            print(pack(tool.f).modules, pack(tool.f).packages)
            try:
                pack(lambda x: tool.f(x), worker_packages=["numpy"])
            except PayloadError as error:
                print(error)
        """,
    }
    lines = program(files)
    assert lines[0] == "() ('tool',)"
    assert "do not have the package 'tool'" in lines[1]
    assert "requirements=['tool==2.1']" in lines[1]


def test_a_module_of_the_users_own_hides_one_of_the_same_name(program: Program) -> None:
    files = {
        "colorsys.py": "def f(x): return 'mine'\n",  # hides one of the standard library
        "functions.py": "def g(x): return colorsys.f(x) + '!'\nimport colorsys\n",
        "main.py": """
            from far import far_map
            import functions
            print(far_map(functions.g, [1]))
        """,
    }
    assert program(files) == ["['mine!']"]


def test_source_of_any_encoding_arrives_as_it_is(program: Program, tmp_path: object) -> None:
    files = {
        "main.py": """
            import pathlib
            pathlib.Path("latin.py").write_bytes("# -*- coding: latin-1 -*-\\nV = 'é'\\n".encode("latin-1"))
            pathlib.Path("grüße.py").write_text("def hallo(x): return 'ß' + x\\n", encoding="utf-8")
            from far import far_map
            import latin, grüße
            print(ascii(far_map(lambda x: latin.V, [1]) + far_map(grüße.hallo, ["ü"])))
        """,
    }
    assert program(files) == [ascii(["é", "ßü"])]


def test_a_zipped_module_is_shipped(program: Program) -> None:
    main = """
        import sys, zipfile
        with zipfile.ZipFile("lib.zip", "w") as z:
            z.writestr("zipped.py", "def f(x): return x + 40\\n")
        sys.path.insert(0, "lib.zip")
        import zipped
        from far import far_map
        print(far_map(zipped.f, [2]))
    """
    assert program({"main.py": main}) == ["[42]"]


def test_a_module_made_at_run_time_travels_by_value(program: Program) -> None:
    main = """
        import sys, types
        from far import far_map
        made = types.ModuleType("made")
        exec("Z = 4\\ndef f(x): return x + Z\\nclass C:\\n    v = 1\\n", made.__dict__)
        print(far_map(made.f, [1]), far_map(lambda x: made.f(x) + made.C.v, [1]))
        sys.modules["made"] = made
        print(far_map(made.f, [1]), far_map(lambda x: made.f(x) + made.C.v, [1]))
        print(type(far_map(made.C, []) or made.C()) is made.C)
    """
    assert program({"main.py": main}) == ["[5] [6]", "[5] [6]", "True"]


def test_things_that_modules_make_for_themselves_are_made_again_on_the_worker(program: Program) -> None:
    files = {
        "tools.py": """
            import functools, logging, threading, boto3
            lock = threading.Lock()
            log = logging.getLogger(__name__)
            client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
            _lazy = None
            @functools.lru_cache
            def slow(x): return x * 2
            @functools.singledispatch
            def kind(x): return "any"
            @kind.register
            def _(x: int): return "int"
            def f(x):
                global _lazy
                _lazy = _lazy or threading.Lock()
                with lock, _lazy:
                    log.info("x")
                    return slow(x), kind(x), client.meta.region_name
        """,
        "main.py": """
            from far import far_map
            import tools
            tools.f(1)                       # makes the lazy lock
            print(far_map(tools.f, [1, "a"]), far_map(tools.slow, [3]), far_map(tools.kind, [3]))
        """,
    }
    assert program(files) == ["[(2, 'int', 'us-east-1'), ('aa', 'any', 'us-east-1')] [6] ['int']"]


def test_what_the_client_set_in_a_module_is_set_on_the_worker(program: Program) -> None:
    files = {
        "conf.py": """
            import os
            K = 5
            TABLE = {"a": 1}
            HOME = os.getcwd()
            def one(): return 1
            class Box:
                def __init__(self, v): self.v = v
            REGISTRY = {}
            def register(f):
                REGISTRY[f.__name__] = f
                return f
            @register
            def two(): return 2
        """,
        "user.py": """
            import conf
            from conf import K, one
            def f(x):
                return (conf.K, K, conf.TABLE, getattr(conf, "NEW", None), conf.one(), one(), sorted(conf.REGISTRY),
                        conf.REGISTRY["two"] is conf.two, conf.HOME == "changed")
        """,
        "main.py": """
            from far import far_map, pack
            import conf, user
            print(far_map(user.f, [0])[0])
            plain = pack(user.f).sha256
            assert pack(user.f).sha256 == plain
            conf.K = 6
            conf.TABLE["b"] = 2
            conf.NEW = conf.Box(3)
            conf.one = lambda: 11
            print([v if not hasattr(v, "v") else v.v for v in far_map(user.f, [0])[0]])
            assert pack(user.f).sha256 != plain
            conf.K = 5
            del conf.TABLE["b"], conf.NEW
            conf.one = user.one
            assert pack(user.f).sha256 == plain
        """,
    }
    before, after = program(files)
    assert before == "(5, 5, {'a': 1}, None, 1, 1, ['two'], True, False)"
    assert after == "[6, 5, {'a': 1, 'b': 2}, 3, 11, 1, ['two'], True, False]"


def test_a_table_that_a_module_fills_is_filled_on_the_worker_and_not_shipped(program: Program) -> None:
    files = {
        "table.py": """
            SIZE = 20_000
            SQUARES = {}
            for n in range(SIZE):
                SQUARES[n] = n * n
            NAMES = []
            NAMES.extend(str(n) for n in range(SIZE))
            def f(x): return SQUARES[x], NAMES[x], SIZE
        """,
        "main.py": """
            import table
            from far import far_map, pack
            print(len(pack(table.f).data) < 3_000, far_map(table.f, [7]))
            table.SIZE = 10
            print(far_map(table.f, [7]))
        """,
    }
    assert program(files) == ["True [(49, '7', 20000)]", "[(49, '7', 10)]"]


def test_a_module_that_is_no_python_is_refused_by_name(program: Program) -> None:
    main = """
        import helper, pathlib
        from far import pack
        pathlib.Path("helper.py").write_text("def f(:\\n")
        try:
            pack(helper.f)
        except Exception as error:
            print(type(error).__name__, error)
    """
    (line,) = program({"helper.py": HELPER, "main.py": main})
    assert line.startswith("PayloadError module 'helper' (")
    assert "invalid syntax" in line


def test_a_compiled_extension_of_the_users_own_is_refused_with_the_way_out(program: Program) -> None:
    main = """
        import importlib.machinery, pathlib
        from far import pack
        pathlib.Path("fast" + importlib.machinery.EXTENSION_SUFFIXES[0]).write_bytes(b"")
        def f(x):
            import fast
            return fast.f(x)
        try:
            pack(f)
        except Exception as error:
            print(type(error).__name__, error)
    """
    (line,) = program({"main.py": main})
    assert line.startswith(
        "PayloadError module 'fast', imported by function 'f', is an extension compiled for"
    )
    assert line.endswith("build it into a wheel and name it in requirements")


@pytest.mark.parametrize("spelling", ["import pandas as pd", "from pandas import DataFrame as pd"])
def test_a_small_helper_of_a_module_with_large_imports_ships_little(program: Program, spelling: str) -> None:
    main = """
        from far import far_map, pack
        import helper
        first = pack(helper.f)
        assert len(first.data) < 2_000, len(first.data)
        assert pack(helper.f).sha256 == first.sha256
        print(far_map(helper.f, [1, 2]))
    """
    assert program({"helper.py": f"{spelling}\n{HELPER}", "main.py": main}) == ["[3, 6]"]
