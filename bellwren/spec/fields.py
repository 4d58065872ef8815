"""The types of the document's fields: what each may hold, said once for checks, schema and messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from keyword import iskeyword
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.functional_validators import AfterValidator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from bellwren import layout
from bellwren.spec.identity import JOB_ID_PATTERN
from bellwren.spec.sizes import SIZE_PATTERN, parse_size
from bellwren.spec.uris import parse_s3_uri

Objection = "bellwren"
"""Type of the errors whose message is itself what is allowed."""


@dataclass(frozen=True)
class Says:
    """What a field is for and what it may hold; stands in the schema, and in every fault about the field."""

    meaning: str
    allowed: str
    each: str = ""
    """What one of the values in the field may be, where ``allowed`` is about all of them."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        allowed = f"{self.allowed}, each {self.each}" if self.each else self.allowed
        return {**schema, "description": f"{self.meaning}. Allowed: {allowed}."}


def object_to(allowed: str) -> PydanticCustomError:
    """An error that says what is allowed in the value's place."""
    return PydanticCustomError(Objection, "{allowed}", {"allowed": allowed})


def integral(value: Any) -> Any:
    """4.0 as 4; everything else as it is."""
    # JSON has one sort of number, and writers in other languages print 4 as 4.0. Text and true stay refused.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _size(value: Any) -> Any:
    value = integral(value)
    if not isinstance(value, str | int) or isinstance(value, bool):
        return value
    try:
        return parse_size(value)
    except ValueError as refused:
        raise object_to(str(refused)) from None


def _s3(*, key: bool) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            uri = parse_s3_uri(text)
        except ValueError as refused:
            raise object_to(str(refused)) from None
        if key and (not uri.key or uri.key.endswith("/")):
            raise object_to("the S3 address of one object, s3://bucket/key, and not a folder")
        return text

    return check


def at_most(limit: int, what: str) -> BeforeValidator:
    """Refuse a long list or object whole, before each of its values is judged."""

    def check(value: Any) -> Any:
        if isinstance(value, list | dict) and len(value) > limit:
            raise object_to(f"at most {limit:,} {what}")
        return value

    return BeforeValidator(check)


def _entry(text: str) -> str:
    module, colon, function = text.partition(":")
    names = module.split(".") + function.split(".")
    if (
        colon
        and not module.endswith(".py")
        and all(name.isidentifier() and not iskeyword(name) for name in names)
    ):
        return text
    hint = ""
    if not colon and "." in text and len(text) < 200:
        before, _, last = text.removesuffix("()").rpartition(".")
        hint = f'; write "{before}:{last}"' if last.isidentifier() and not text.endswith(".py") else ""
    elif module.endswith(".py"):
        hint = "; the module is written without .py and with dots for slashes"
    raise object_to(f'"module:function", as in "mymodule:tokenise"{hint}')


@dataclass(frozen=True)
class Matching:
    """Text that a pattern matches whole, in the checks and in the schema."""

    pattern: str
    """Without anchors."""
    allowed: str
    schema: str = ""
    """The pattern for JSON Schema, where its dialect (of JavaScript) lacks something that Python's has."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        compiled = re.compile(self.pattern)

        def check(text: str) -> str:
            if compiled.fullmatch(text) is None:
                raise object_to(self.allowed)
            return text

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": f"^{self.schema or self.pattern}$"}


def _encoding(name: str) -> str:
    allowed = 'the name of a text encoding that Python knows, such as "utf-8", "utf-16" or "latin-1"'
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", name) is None:
        raise object_to(allowed)
    try:
        "a\n".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise object_to(allowed) from None
    return name


def _lower(text: str) -> str:
    return text.lower()


Whole = BeforeValidator(integral)
"""Beside ``int``: a whole number may also be written 4.0."""

S3Prefix = Annotated[str, AfterValidator(_s3(key=False)), Field(json_schema_extra={"pattern": "^s3://"})]
"""One object, every object below a folder, or a whole bucket."""

S3Object = Annotated[
    str, AfterValidator(_s3(key=True)), Field(json_schema_extra={"pattern": "^s3://[^/]+/."})
]
"""One object."""

Sha256 = Annotated[
    str,
    Matching("[0-9a-fA-F]{64}", "64 hexadecimal digits, as `sha256sum` prints them"),
    AfterValidator(_lower),
]

JobId = Annotated[
    str, Matching(JOB_ID_PATTERN.strip("^$"), "the id of a job: lower-case letters, digits and hyphens")
]

Label = Annotated[
    str,
    Matching(
        layout.ALGORITHM.pattern,
        "1 to 64 letters, digits, hyphens, dots and underscores, the first a letter or digit",
    ),
]
"""Names a sort of work in keys of records and models."""

Entry = Annotated[
    str, AfterValidator(_entry), Field(max_length=500, json_schema_extra={"pattern": "^[^:]+:[^:]+$"})
]
"""``module:function``, found in the code of the job."""

MAX_CHUNK_BYTES = 4 * 2**30

Bytes = Annotated[
    int,
    Field(ge=1, le=MAX_CHUNK_BYTES),
    BeforeValidator(
        _size,
        json_schema_input_type=Annotated[int, Field(ge=1, le=MAX_CHUNK_BYTES)]
        | Annotated[str, Field(json_schema_extra={"pattern": SIZE_PATTERN})],
    ),
]
"""A size; becomes a number of bytes."""

Encoding = Annotated[str, AfterValidator(_encoding)]

Character = Annotated[str, Field(min_length=1, max_length=16)]


def _different(names: list[str]) -> list[str]:
    if len(set(names)) < len(names) or not names:
        raise object_to("a list of names, at least one and none of them twice")
    return names


ColumnNames = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=500)]],
    Field(max_length=10_000, json_schema_extra={"uniqueItems": True, "minItems": 1}),
    at_most(10_000, "names of columns"),
    AfterValidator(_different),
]

ExceptionName = Annotated[
    str,
    Matching(
        r"[^\W\d]\w{0,99}(\.[^\W\d]\w{0,99}){0,9}",
        'the name of an exception type, such as "TimeoutError" or "botocore.exceptions.ClientError"',
        schema="[^ ]+",
    ),
]

Requirement = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}([ \[(<>=!~;@][ -~]{0,300})?",
        'a package, with its versions if need be, such as "networkx>=3"; options of pip have no place here',
    ),
]

EnvironmentName = Annotated[
    str,
    Matching(
        r"(?!BELLWREN_|AWS_LAMBDA_|LAMBDA_)[A-Za-z_][A-Za-z0-9_]{0,127}",
        "a name of letters, digits and underscores that does not start with a digit,"
        " nor with BELLWREN_, LAMBDA_ or AWS_LAMBDA_, which belong to the platform",
    ),
]


def _array(value: Any) -> Any:
    if _shape(value) is None:
        raise object_to("a number, or an array: lists of equal length, in lists of equal length, of numbers")
    return value


def _shape(value: Any) -> tuple[int, ...] | None:
    """Lengths of the nested lists from the outside in; nothing where they are ragged or hold no numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ()
    if not isinstance(value, list):
        return None
    shapes = {_shape(part) for part in value}
    if len(shapes) > 1 or None in shapes:
        return None
    return (len(value), *(shapes.pop() or ())) if shapes else (0,)


Array = Annotated[
    Any,
    AfterValidator(_array),
    Field(json_schema_extra={"type": ["number", "array"]}),
]
"""A number, or nested lists of numbers that form a rectangle."""
