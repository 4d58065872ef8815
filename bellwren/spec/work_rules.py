"""Rules between the fields that say what is to be run: algorithm, kind, functions, code, parameters."""

from __future__ import annotations

from collections.abc import Iterator

from bellwren.algorithms.parameters import ALGORITHMS, Algorithm, problems
from bellwren.errors import Fault
from bellwren.spec.document import KINDS
from bellwren.spec.draft import Draft
from bellwren.spec.wording import found, listed, nearest, path

ROLES_OF_KIND: dict[str, tuple[str, ...]] = {
    "map": ("map",),
    "map_reduce": ("map", "reduce", "combine"),
    "sort": ("key",),
    "bsp": ("step", "combine"),
    "parameter_server": ("train",),
}
"""Functions that each kind of job has."""

NEEDED: dict[str, tuple[str, ...]] = {
    "map": ("map",),
    "map_reduce": ("map", "reduce"),
    "sort": (),
    "bsp": ("step",),
    "parameter_server": ("train",),
}
"""Those that it cannot do without, unless the algorithm is built in."""

OPTIONS_OF_KIND: dict[str, tuple[str, ...]] = {
    "bsp": ("partitions", "max_supersteps", "resident"),
    "parameter_server": ("shards", "parameters", "parameters_payload", "staleness"),
}

_BUILTIN = listed(ALGORITHMS)


def what_is_run(draft: Draft) -> Iterator[Fault]:
    """A built-in algorithm, or functions of the user's own together with their kind."""
    if draft.builtin or "algorithm" in draft.faulty:
        return
    if not draft.brings_code:
        yield from _nothing_to_run(draft)
    elif not draft.given("kind"):
        likely = [
            kind for kind in KINDS if NEEDED[kind] and set(NEEDED[kind]) <= {*draft.entries, *draft.pickled}
        ]
        hint = (
            f'; with {listed([*draft.entries, *draft.pickled], last="and")} it is "{likely[-1]}"'
            if likely
            else ""
        )
        yield Fault("kind", "nothing", f"{listed(_quoted(KINDS))}{hint}")


def _nothing_to_run(draft: Draft) -> Iterator[Fault]:
    label = draft.sound("algorithm")
    if label is not None:
        meant = nearest(label, list(ALGORITHMS))
        did_you_mean = f"did you mean `{meant}`? " if meant else ""
        yield Fault(
            "algorithm",
            f"{found(label)}, which is not built in, and no functions of your own",
            f"{did_you_mean}built in are {_BUILTIN}; any other label needs `kind`, `code` and functions",
        )
    elif draft.kind is not None and NEEDED[draft.kind]:
        for role in NEEDED[draft.kind]:
            yield _missing(role, draft.kind)
    elif not draft.given("kind"):
        yield Fault(
            "algorithm",
            "nothing",
            f"a built-in algorithm ({_BUILTIN}), or `kind` with `code` and functions of your own",
        )


def kind_fits_the_algorithm(draft: Draft) -> Iterator[Fault]:
    """A built-in algorithm runs as certain kinds of job."""
    if draft.builtin and draft.given("kind") and draft.kind and draft.kind not in draft.builtin.kinds:
        fitting = listed(_quoted(draft.builtin.kinds))
        yield Fault(
            "kind",
            found(draft.kind),
            f"{fitting} for {draft.builtin.name}; it may be left out, being implied",
        )


def kind_is_available(draft: Draft) -> Iterator[Fault]:
    """The engine has to have the kind."""
    if draft.kind and draft.kind not in draft.available_kinds:
        implied = "" if draft.given("kind") or not draft.builtin else f", the kind of {draft.builtin.name}"
        yield Fault(
            "kind",
            f"{found(draft.kind)}{implied}",
            f"{listed(_quoted(kind for kind in KINDS if kind in draft.available_kinds))};"
            " the document may be right, but this version cannot run the kind yet",
        )


def functions_fit_the_kind(draft: Draft) -> Iterator[Fault]:
    """Each function that a kind needs is given, once, and no other."""
    if draft.kind is None or not draft.brings_code:
        return
    for role in NEEDED[draft.kind]:
        if role not in draft.entries and role not in draft.pickled and "payload" not in draft.faulty:
            yield _missing(role, draft.kind)
    for role, place in [
        *((role, (role,)) for role in draft.entries),
        *((role, ("payload", role)) for role in draft.pickled),
    ]:
        if role not in ROLES_OF_KIND[draft.kind]:
            homes = listed(_quoted(kind for kind, roles in ROLES_OF_KIND.items() if role in roles))
            yield Fault(
                path(place), f"a function, in a job of kind {draft.kind}", f"`{role}` only in kind {homes}"
            )
    for role in draft.entries:
        if role in draft.pickled:
            yield Fault(role, f"a function, beside payload.{role}", "one of the two; leave the other out")
    if draft.document.get("payload") == {}:
        yield Fault("payload", "an object with no function", "at least one function; or leave it out")


def code_and_functions_belong_together(draft: Draft) -> Iterator[Fault]:
    """``module:function`` is looked up in ``code``, and code without it would not be used."""
    if draft.entries and not draft.given("code"):
        named = listed((f"`{role}`" for role in draft.entries), last="and")
        builtin = draft.sound("algorithm")
        way_out = f"; or leave {named} out, because {builtin} is built in" if builtin in ALGORITHMS else ""
        yield Fault(
            "code",
            f"nothing, although {named} {'is' if len(draft.entries) == 1 else 'are'} given",
            f'{{"uri": "s3://bucket/mycode.zip", "sha256": "..."}}, the zip that holds the module{way_out}',
        )
    if draft.given("code") and not draft.entries:
        needed = NEEDED.get(draft.kind or "", ())
        if not needed or draft.pickled:
            yield Fault(
                "code",
                "code, and no function in it that is named",
                'leave it out, or name one as "module:function"',
            )


def options_fit_the_kind(draft: Draft) -> Iterator[Fault]:
    """Options of one kind of job mean nothing to another."""
    for kind, options in OPTIONS_OF_KIND.items():
        for option in options:
            if draft.kind is not None and draft.kind != kind and draft.given(option):
                yield Fault(
                    option, f"a value, in a job of kind {draft.kind}", f'only in kind "{kind}"; leave it out'
                )
    if draft.given("parameters") and draft.given("parameters_payload"):
        yield Fault("parameters", "a value, beside parameters_payload", "one of the two; leave the other out")


def parameters_fit_the_algorithm(draft: Draft) -> Iterator[Fault]:
    """Built-in algorithms know their parameters; those of the user's own functions are free."""
    params = draft.sound("params")
    if draft.builtin is None or "params" in draft.faulty:
        return
    params = params or {}
    for name in params:
        if draft.builtin.parameter(name) is None:
            yield Fault(
                path(("params", name)), "an unknown parameter", _known_parameters(draft.builtin, name)
            )
    for problem in problems(draft.builtin.name, params):
        shown = "nothing" if problem.missing else found(params[problem.name])
        yield Fault(path(("params", problem.name)), shown, problem.allowed)


def _known_parameters(algorithm: Algorithm, name: str) -> str:
    known = [parameter.name for parameter in algorithm.parameters]
    meant = nearest(name, known)
    return f"{f'did you mean `{meant}`? ' if meant else ''}{algorithm.name} has {listed(known, last='and')}"


def _missing(role: str, kind: str) -> Fault:
    return Fault(
        role,
        "nothing",
        f'"module:function" in the code of the job; kind "{kind}" needs {listed(NEEDED[kind], last="and")}',
    )


def _quoted(words: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    return (f'"{word}"' for word in words)


RULES = (
    what_is_run,
    kind_fits_the_algorithm,
    kind_is_available,
    functions_fit_the_kind,
    code_and_functions_belong_together,
    options_fit_the_kind,
    parameters_fit_the_algorithm,
)
