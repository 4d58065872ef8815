"""Rules between the fields that say what data is read and written: input, items, output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bellwren import layout
from bellwren.algorithms import parameters as algorithms
from bellwren.errors import Fault, SpecError
from bellwren.inputs.spec import OPTIONS, InputSpec
from bellwren.raw import RawForm
from bellwren.spec.draft import Draft
from bellwren.spec.sections import SOURCES
from bellwren.spec.uris import parse_s3_uri
from bellwren.spec.wording import found, listed, path

PARTS_OF_KIND = {"bsp": "partitions", "parameter_server": "shards"}
"""Kinds whose data is held in parts, and the field that gives the parts."""

_KINDS_WITH_ROWS = ("map", "map_reduce", "sort")
KINDS_OVER_A_JOB = ("map", "map_reduce")
"""Kinds that read the results of an earlier job."""

_DATA = ("input", "items", "items_payload")
_PART = re.compile(r"part-\d+\.")


def data_has_one_source(draft: Draft) -> Iterator[Fault]:
    """The records come from one place."""
    if draft.kind is None:
        return
    parts = PARTS_OF_KIND.get(draft.kind)
    if parts is not None and draft.given("items"):
        yield Fault("items", f"a list, in a job of kind {draft.kind}", f"the values as a list in `{parts}`")
    sources = [field for field in _DATA if draft.given(field) and not (parts and field == "items")]
    if parts is not None and isinstance(draft.document.get(parts), list):
        sources.append(parts)
    if len(sources) > 1 and sources[1] not in draft.faulty:
        yield Fault(
            sources[1],
            f"a value, beside `{sources[0]}`",
            f"one of {listed(sources, last='and')}; leave the rest out",
        )
    if not sources and not (parts and draft.given(parts)) and not draft.given("items"):
        yield _no_source(draft, parts)


def _no_source(draft: Draft, parts: str | None) -> Fault:
    other = f", or `{parts}`" if parts else ", or `items` with a list"
    if draft.builtin and (parts or "items" not in draft.builtin.inputs):
        other = ""
    return Fault(
        "input",
        "nothing",
        f'data in S3, such as {{"lines": "s3://bucket/folder/"}}{other}',
    )


def builtin_parts_have_an_input(draft: Draft) -> Iterator[Fault]:
    """The built-in algorithms of these kinds read their data; a list of states would be the user's own."""
    parts = PARTS_OF_KIND.get(draft.kind or "")
    if not parts or not draft.builtin:
        return
    if draft.given(parts) and not draft.given("input"):
        yield _no_source(draft, parts)
    if isinstance(draft.sound(parts), list):
        yield Fault(
            parts,
            found(draft.sound(parts)),
            f"a whole number; {draft.builtin.name} reads its data from `input`",
        )


def input_has_one_source(draft: Draft) -> Iterator[Fault]:
    """Exactly one of the sources names the data and with it the format."""
    section = draft.section("input")
    sources = [source for source in SOURCES if source in section]
    if "input" in draft.document and isinstance(draft.document["input"], dict) and not sources:
        yield Fault("input", "no source", f"exactly one of {listed(SOURCES)}, with the data's S3 address")
    for extra in sources[1:]:
        yield Fault(
            path(("input", extra)),
            f"a second source, beside `{sources[0]}`",
            f"exactly one of {listed(SOURCES)}",
        )


def input_is_available(draft: Draft) -> Iterator[Fault]:
    """The engine, and the built-in algorithm, must be able to read the format."""
    format_ = _format(draft)
    if format_ is not None and format_ not in draft.available_inputs:
        able = listed(source for source in SOURCES if source in draft.available_inputs)
        yield Fault(path(("input", format_)), "a source", f"{able}; this version cannot read `{format_}` yet")
    if format_ == "job" and draft.kind is not None and draft.kind not in KINDS_OVER_A_JOB:
        kinds = listed(f'"{kind}"' for kind in KINDS_OVER_A_JOB)
        yield Fault("input.job", f"a source, in a job of kind {draft.kind}", f"only in kind {kinds}")
    if draft.builtin is None:
        return
    wanted = [known for known in draft.builtin.inputs if known != "items"]
    if format_ is not None and format_ not in wanted:
        yield Fault(
            path(("input", format_)),
            "a source",
            f"{listed(wanted)}, which are what {draft.builtin.name} reads",
        )
    for field in ("items", "items_payload"):
        if draft.given(field) and "items" not in draft.builtin.inputs and draft.kind not in PARTS_OF_KIND:
            yield Fault(
                field, "items", f"`input` with {listed(wanted)}, which is what {draft.builtin.name} reads"
            )


def options_fit_the_format(draft: Draft) -> Iterator[Fault]:
    """Each format has its options, which must agree with each other."""
    format_ = _format(draft)
    if format_ is None:
        return
    known = OPTIONS.get(format_, ())
    section = draft.section("input")
    for option in section:
        if option not in SOURCES and option not in known:
            homes = listed(name for name, options in OPTIONS.items() if option in options)
            yield Fault(
                path(("input", option)), f"an option, beside `{format_}`", f"only for {homes}; leave it out"
            )
    if format_ in OPTIONS and "input" not in draft.faulty:
        try:
            InputSpec.from_dict({name: section[name] for name in section if name == format_ or name in known})
        except SpecError as refused:
            yield from refused.faults


def output_lies_outside_the_input(draft: Draft) -> Iterator[Fault]:
    """A second run would read what the first one wrote."""
    source, output = _input_uri(draft), (draft.sound("output") or {}).get("uri")
    if source is None or output is None:
        return
    reads, writes = parse_s3_uri(source), parse_s3_uri(output).as_folder()
    if reads.holds(writes) or (writes.key == reads.as_folder().key and writes.bucket == reads.bucket):
        yield Fault(
            "output.uri",
            found(output),
            f"a folder outside of the input {found(source)}, or the next run would read these results",
        )
    elif writes.holds(reads) and _PART.match(reads.key[len(writes.key) :]):
        yield Fault(
            "output.uri", found(output), "a folder in which the input is not itself a part of the results"
        )


def pickles_are_named_by_their_checksum(draft: Draft) -> Iterator[Fault]:
    """What is unpickled is what was checked."""
    places: list[tuple[str, ...]] = [("items_payload",), ("parameters_payload",), ("bundle",)]
    places += [("payload", role) for role in draft.section("payload")]
    for place in places:
        pickled = draft.sound(place[0]) or {}
        for step in place[1:]:
            pickled = pickled.get(step, {})
        if pickled and pickled["key"] != layout.code(pickled["sha256"].lower()):
            yield Fault(path((*place, "key")), found(pickled["key"]), "code/ and the sha256 beside it")


def requirements_come_with_their_bundle(draft: Draft) -> Iterator[Fault]:
    """Packages are resolved where the document is made: a worker that did it would do so at every cold start."""
    required = draft.sound("requirements")
    if required and not draft.given("bundle"):
        yield Fault(
            "requirements",
            found(required),
            "requirements of a job that the Python client submits (`bellwren submit` does too): it builds their"
            " `bundle`; or put the packages into the code zip, or deploy them with the workers",
        )
    if draft.given("bundle") and not required and "requirements" not in draft.faulty:
        yield Fault("bundle", "a bundle, and no requirements", "the requirements that it was built for")


def gives_raw(document: dict[str, Any], kind: str) -> bool:
    """Whether results can be the bytes that were read: those of a sort of lines or blocks."""
    return kind == "sort" and not {"lines", "blocks"}.isdisjoint(document.get("input") or {})


def the_output_format_fits(draft: Draft) -> Iterator[Fault]:
    """Only a sort of lines or blocks gives back the bytes that it read, and only dicts and pairs are rows."""
    if draft.kind is None:
        return
    given = (draft.sound("output") or {}).get("format")
    format_ = given or ("raw" if gives_raw({"input": draft.section("input")}, draft.kind) else None)
    if format_ == "raw":
        yield from _raw_output(draft, draft.kind)
    elif format_ == "parquet" and (draft.kind not in _KINDS_WITH_ROWS or _is_natural_sort(draft)):
        what = (
            "a sort of lines, blocks or plain items"
            if draft.kind == "sort"
            else f"a job of kind {draft.kind}"
        )
        yield Fault("output.format", '"parquet"', f'"jsonl" or "pickle" in {what}: a Parquet row is a dict')


def _raw_output(draft: Draft, kind: str) -> Iterator[Fault]:
    if kind != "sort":
        yield Fault("output.format", '"raw"', f'"jsonl", "pickle" or "parquet" in a job of kind {kind}')
        return
    format_ = _format(draft)
    if draft.faulty.isdisjoint(_DATA) and format_ not in ("lines", "blocks"):
        source = format_ or "items"
        yield Fault("output.format", '"raw"', f'"jsonl", "pickle" or "parquet" in a sort of {source}')
    if format_ == "lines" and "input" not in draft.faulty:
        raw = RawForm.of(InputSpec.from_dict(draft.section("input")), {})
        if raw and raw.ambiguous:
            yield Fault(
                "input.newline",
                found(draft.section("input")["newline"]),
                'a newline that does not overlap itself, or the output format "jsonl" or "pickle": raw lines would '
                "run into each other",
            )


def records_fit_the_sort(draft: Draft) -> Iterator[Fault]:
    """Sizes of records and keys mean something only where records are bytes."""
    params = draft.sound("params") or {}
    if draft.builtin is None or draft.builtin.name not in ("sort", "valsort"):
        return
    if "input" in draft.faulty or algorithms.problems("sort", params):
        return
    format_, record_bytes = _format(draft), params.get("record_bytes")
    if record_bytes is not None and format_ != "blocks":
        yield Fault("params.record_bytes", found(record_bytes), "nothing, or an `input` of `blocks`")
    if params.get("key_bytes") is not None and format_ not in ("lines", "blocks"):
        yield Fault(
            "params.key_bytes", found(params["key_bytes"]), "nothing, or an `input` of `lines` or `blocks`"
        )
    if format_ == "blocks" and record_bytes:
        chunk = InputSpec.from_dict(draft.section("input")).chunk_bytes
        if chunk % record_bytes:
            yield Fault(
                "input.chunk", f"{chunk:,}", f"a multiple of params.record_bytes, which is {record_bytes:,}"
            )


def _is_natural_sort(draft: Draft) -> bool:
    """Whether records are compared as they are."""
    return draft.builtin is not None and draft.builtin.name == "sort"


def _format(draft: Draft) -> str | None:
    """The one source of the input; nothing where there is none or more than one."""
    sources = [source for source in SOURCES if source in draft.section("input")]
    return sources[0] if len(sources) == 1 else None


def _input_uri(draft: Draft) -> str | None:
    format_ = _format(draft)
    section = draft.sound("input")
    return section[format_] if section and format_ and format_ != "job" else None


RULES = (
    data_has_one_source,
    builtin_parts_have_an_input,
    input_has_one_source,
    input_is_available,
    options_fit_the_format,
    output_lies_outside_the_input,
    pickles_are_named_by_their_checksum,
    requirements_come_with_their_bundle,
    the_output_format_fits,
    records_fit_the_sort,
)
