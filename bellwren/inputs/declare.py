"""Inputs as users write them in Python: ``bellwren.lines("s3://bucket/books/")`` and its siblings.

A URI names one object, or a prefix: ``s3://b/in/`` is everything under ``in/`` and never ``in2/``; ``s3://b/in`` is the
object ``in``, or where there is none, everything under ``in/``.
"""

from __future__ import annotations

from collections.abc import Sequence

from bellwren.inputs.spec import InputSpec

Size = str | int
"""Bytes, or text such as ``"32MB"`` or ``"64MiB"``."""


def lines(
    uri: str,
    chunk: Size = "32MB",
    *,
    encoding: str | None = "utf-8",
    errors: str = "surrogateescape",
    newline: str | bytes | None = None,
    compression: str = "auto",
) -> InputSpec:
    """The lines of text objects, without their line ends.

    Args:
        uri: one object, or a prefix.
        chunk: the most that one task reads at a time.
        encoding: any of Python's; a byte order mark at the start is no part of the first line. None gives ``bytes``.
        errors: what becomes of bytes that are not valid in the encoding: ``surrogateescape`` keeps them (as lone
            surrogates, which encode back to the same bytes), ``strict`` fails the job and names the place; ``replace``,
            ``ignore`` and ``backslashreplace`` as everywhere in Python.
        newline: what ends a line, any text or bytes. By default LF, and CR LF; a CR elsewhere is text.
        compression: ``auto`` (by the first bytes of each object), ``none``, ``gzip``, ``bzip2`` or ``zstd``.

    Raises:
        SpecError: if an argument is wrong.

    >>> lines("s3://bucket/books/").chunk_bytes
    32000000
    """
    return InputSpec.from_dict(
        {
            "lines": uri,
            "chunk": chunk,
            "encoding": encoding,
            "errors": errors,
            "newline": newline,
            "compression": compression,
        }
    )


def csv(
    uri: str,
    chunk: Size = "32MB",
    *,
    header: bool = True,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    quote: str | None = '"',
    quoted_newlines: bool = True,
    encoding: str = "utf-8",
    errors: str = "surrogateescape",
    compression: str = "auto",
) -> InputSpec:
    """The rows of CSV objects (RFC 4180), read as Python's ``csv`` reads them.

    A row is a dict from column name to text where names are known, else a list of text. Blank lines are no rows.

    Args:
        uri: one object, or a prefix.
        chunk: the most that one task reads at a time.
        header: whether the first row of each object names its columns; it is no row itself.
        columns: with a header, the columns to read; without one, the names of all columns.
        delimiter: one character between fields.
        quote: one character around fields that hold delimiters, quotes (doubled) or line ends. None: no quoting.
        quoted_newlines: say False if no quoted field holds a line end; planning then need not read large objects. If
            one does after all, the job fails and names the place.
        encoding: any of Python's.
        errors: as for ``lines``.
        compression: as for ``lines``.

    Raises:
        SpecError: if an argument is wrong.
    """
    return InputSpec.from_dict(
        {
            "csv": uri,
            "chunk": chunk,
            "header": header,
            "columns": columns,
            "delimiter": delimiter,
            "quote": quote,
            "quoted_newlines": quoted_newlines,
            "encoding": encoding,
            "errors": errors,
            "compression": compression,
        }
    )


def parquet(uri: str, chunk: Size = "32MB", *, columns: Sequence[str] | None = None) -> InputSpec:
    """The rows of Parquet objects, each a dict from column name to value.

    A row group is never divided, so a task may read more than ``chunk``. Needs pyarrow where the job runs.

    Args:
        uri: one object, or a prefix.
        chunk: row groups are read together up to this size.
        columns: the columns to read (``a``, or ``a.b`` within a struct); nothing of the others is fetched.

    Raises:
        SpecError: if an argument is wrong.
    """
    return InputSpec.from_dict({"parquet": uri, "chunk": chunk, "columns": columns})


def objects(uri: str, chunk: Size = "32MB") -> InputSpec:
    """Whole objects, each a record ``(key, bytes)``; empty objects too.

    Args:
        uri: one object, or a prefix.
        chunk: small objects are read together up to this size.

    Raises:
        SpecError: if an argument is wrong.
    """
    return InputSpec.from_dict({"objects": uri, "chunk": chunk})


def blocks(uri: str, chunk: Size) -> InputSpec:
    """Blocks of ``chunk`` bytes, each a record of ``bytes``; the last block of an object may be shorter.

    Raises:
        SpecError: if an argument is wrong.
    """
    return InputSpec.from_dict({"blocks": uri, "chunk": chunk})
