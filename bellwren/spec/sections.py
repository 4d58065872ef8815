"""The objects inside a job document: ``code``, ``payload``, ``input``, ``output``."""

from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bellwren.inputs.compression import COMPRESSIONS
from bellwren.inputs.encodings import ERROR_HANDLERS
from bellwren.inputs.spec import OPTIONS, InputSpec
from bellwren.spec.fields import (
    Bytes,
    Character,
    ColumnNames,
    Encoding,
    JobId,
    Matching,
    S3Object,
    S3Prefix,
    Says,
    Sha256,
    Whole,
)
from bellwren.spec.uris import S3Uri, parse_s3_uri
from bellwren.spec.wording import listed

ROLES = ("map", "reduce", "combine", "step", "train", "key")
"""What a user's function can be for."""

SOURCES = (*OPTIONS, "job")
"""Fields of ``input`` of which exactly one is given; its name is the format."""

_WHERE = "s3://bucket/key for one object, s3://bucket/folder/ for all below it"


class Section(BaseModel):
    """An object of the document: every field is known, no value is converted, null means not given."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def to_dict(self) -> dict[str, Any]:
        """The section as plain JSON values of its own, without the fields that are not given."""
        given = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None:
                plain = value.to_dict() if isinstance(value, Section) else copy.deepcopy(value)
                given[field.alias or name] = plain
        return given


class Code(Section):
    """A zip of the user's modules."""

    uri: Annotated[S3Object, Says("Where the zip file lies", "the S3 address of one object, s3://bucket/key")]
    sha256: Annotated[
        Sha256, Says("Checksum of the zip file", "64 hexadecimal digits, as `sha256sum` prints them")
    ]


class Pickle(Section):
    """Something that the Python client pickled and put into the jobs bucket."""

    key: Annotated[
        str,
        Matching("code/[0-9a-f]{64}", "code/ and the sha256 in lower case"),
        Says("Key in the jobs bucket", "code/ and the sha256 in lower case"),
    ]
    sha256: Annotated[
        Sha256, Says("Checksum, compared before anything is unpickled", "64 hexadecimal digits")
    ]
    python: Annotated[
        str,
        Matching(r"3\.[0-9]{1,2}", 'major and minor version of Python, such as "3.11"'),
        Says("Python that pickled it", 'major and minor version, such as "3.11"'),
    ]
    cloudpickle: Annotated[
        str,
        Matching(r"[0-9][0-9A-Za-z.+-]{0,39}", 'a version, such as "3.1.2"'),
        Says("cloudpickle that pickled it", 'a version, such as "3.1.2"'),
    ]


class PickledItems(Pickle):
    """Items of the job that JSON cannot carry."""

    count: Annotated[
        int, Field(ge=0, le=2**53), Whole, Says("How many items there are", "a whole number from 0")
    ]


class Bundle(Section):
    """The packages that `requirements` ask for, resolved and built for the workers by the Python client."""

    key: Annotated[
        str,
        Matching("code/[0-9a-f]{64}", "code/ and the sha256 in lower case"),
        Says("Key in the jobs bucket", "code/ and the sha256 in lower case"),
    ]
    sha256: Annotated[Sha256, Says("Checksum, compared before anything is unpacked", "64 hexadecimal digits")]
    python: Annotated[
        str,
        Matching(r"3\.[0-9]{1,2}", 'major and minor version of Python, such as "3.11"'),
        Says("Python for which it was built", 'major and minor version, such as "3.11"'),
    ]
    unpacked_bytes: Annotated[
        int, Field(ge=0, le=2**53), Whole, Says("What it takes on a worker's disk", "a whole number from 0")
    ]
    resolved: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(max_length=1_000),
        Says("What is in it", "up to 1,000 distributions", 'such as "pandas==2.2.3"'),
    ] = Field(default_factory=list)


PICKLED = "an object with key, sha256, python, cloudpickle"


class Payload(Section):
    """The user's functions as the Python client pickled them, by role."""

    map: Annotated[Pickle | None, Says("Function that maps one record", PICKLED)] = None
    reduce: Annotated[Pickle | None, Says("Function that reduces the values of one key", PICKLED)] = None
    combine: Annotated[Pickle | None, Says("Function that combines before the shuffle", PICKLED)] = None
    step: Annotated[Pickle | None, Says("Function of one superstep", PICKLED)] = None
    train: Annotated[Pickle | None, Says("Function that trains on one shard", PICKLED)] = None
    key: Annotated[Pickle | None, Says("Function that gives the sort key of a record", PICKLED)] = None


class Hex(Section):
    """Bytes, where text will not do."""

    hex: Annotated[
        str,
        Matching("([0-9a-fA-F]{2}){1,16}", "1 to 16 bytes as pairs of hexadecimal digits"),
        Says("The bytes", '1 to 16 bytes as pairs of hexadecimal digits, such as "0d0a"'),
    ]


class Input(Section):
    """The data that the job reads: exactly one source, and the options of its format.

    What the options mean and what they are by default is told by :class:`bellwren.inputs.spec.InputSpec`.
    """

    lines: Annotated[S3Prefix | None, Says("Text, a record for each line", _WHERE)] = None
    csv: Annotated[S3Prefix | None, Says("CSV, a record for each row", _WHERE)] = None
    parquet: Annotated[S3Prefix | None, Says("Parquet, a record for each row", _WHERE)] = None
    objects: Annotated[S3Prefix | None, Says("Whole objects, a record for each", _WHERE)] = None
    blocks: Annotated[S3Prefix | None, Says("Bytes, a record for each chunk", _WHERE)] = None
    job: Annotated[JobId | None, Says("Results of an earlier job", "the id of a job")] = None
    chunk_bytes: Annotated[
        Bytes,
        Field(alias="chunk"),
        Says("Size of one task", 'a size from "1B" to "4GiB", such as "32MB", or a whole number of bytes'),
    ] = InputSpec.chunk_bytes
    encoding: Annotated[
        Encoding | None,
        Says("Encoding of the text", 'a text encoding that Python knows, such as "utf-16"; null for bytes'),
    ] = InputSpec.encoding
    errors: Annotated[
        Literal["surrogateescape", "strict", "replace", "ignore", "backslashreplace"],
        Says(
            "What becomes of bytes that are wrong in the encoding",
            listed(f'"{name}"' for name in ERROR_HANDLERS),
        ),
    ] = "surrogateescape"
    newline: Annotated[
        Character | Hex | None,
        Says(
            "What ends a line",
            'text of 1 to 16 characters, or bytes as {"hex": "0d0a"}; null for LF with or without CR',
        ),
    ] = None
    compression: Annotated[
        Literal["auto", "none", "gzip", "bzip2", "zstd"],
        Says("Compression of the objects", listed(f'"{name}"' for name in ("auto", *COMPRESSIONS))),
    ] = "auto"
    header: Annotated[bool, Says("The first row of each CSV object names its columns", "true or false")] = (
        InputSpec.header
    )
    columns: Annotated[
        ColumnNames | None,
        Says(
            "Columns to read, or the names of all of them where CSV has no header",
            "a list of different names",
        ),
    ] = None
    delimiter: Annotated[
        Annotated[str, Field(min_length=1, max_length=1)],
        Says("What stands between two columns of CSV", "one character that is no line end"),
    ] = InputSpec.delimiter
    quote: Annotated[
        Annotated[str, Field(min_length=1, max_length=1)] | None,
        Says("What encloses a column of CSV", "one character that is no line end; null for none"),
    ] = InputSpec.quote
    quoted_newlines: Annotated[bool, Says("Quoted columns of CSV may hold line ends", "true or false")] = (
        InputSpec.quoted_newlines
    )

    @property
    def format(self) -> str:
        """Which of :data:`SOURCES` is given."""
        return next(source for source in SOURCES if getattr(self, source) is not None)

    @property
    def uri(self) -> S3Uri | None:
        """Where the data lies; nothing where it is the results of a job."""
        return None if self.job is not None else parse_s3_uri(getattr(self, self.format))

    def to_dict(self) -> dict[str, Any]:
        """The source and the given options; null is kept, because it means something to some of them."""
        known = type(self).model_fields
        given = {name: getattr(self, name) for name in known if name in self.model_fields_set}
        return {
            known[name].alias or name: value.to_dict() if isinstance(value, Section) else copy.copy(value)
            for name, value in given.items()
        }


class Output(Section):
    """Where results go and in which form."""

    uri: Annotated[
        S3Prefix | None,
        Says("Folder for the results", "s3://bucket/folder/; leave it out to keep them with the job"),
    ] = None
    format: Annotated[
        Literal["jsonl", "pickle", "parquet", "raw"] | None,
        Says(
            "Form of the results",
            '"jsonl" (what holds if nothing is given), "pickle" or "parquet"; "raw" is the bytes of a sort',
        ),
    ] = None
