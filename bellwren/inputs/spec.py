"""What a user says about an input: one value that travels from the job document to the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from bellwren.errors import Fault, SpecError
from bellwren.inputs import options

Format = Literal["lines", "csv", "parquet", "objects", "blocks"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "lines": ("chunk", "encoding", "errors", "newline", "compression"),
    "csv": (
        *("chunk", "header", "columns", "delimiter", "quote", "quoted_newlines"),
        *("encoding", "errors", "compression"),
    ),
    "parquet": ("chunk", "columns"),
    "objects": ("chunk",),
    "blocks": ("chunk",),
}
"""The options that each format knows, by the names they have in the document and as keywords."""


@dataclass(frozen=True)
class InputSpec:
    """One input. Made by ``from_dict`` or the constructors in ``declare``, which check it."""

    format: Format
    uri: str
    """``s3://bucket/key`` of one object, or of a prefix."""
    chunk_bytes: int = 32_000_000
    """The most that one task reads at a time; for ``blocks`` the size of one block."""
    encoding: str | None = "utf-8"
    """None gives lines as bytes."""
    errors: str = "surrogateescape"
    newline: str | bytes | None = None
    """What ends a line. None: LF, and a CR right before it."""
    compression: str = "auto"
    """``auto`` looks at each object's first bytes, never at its name."""
    header: bool = True
    """Whether the first row of each CSV object holds the names of its columns."""
    columns: tuple[str, ...] | None = None
    """The columns to read; for CSV without a header the names of all its columns."""
    delimiter: str = ","
    quote: str | None = '"'
    """None: quotes have no meaning."""
    quoted_newlines: bool = True
    """Whether quoted CSV fields may hold line ends. If False, planning need not read the objects."""

    @property
    def bucket(self) -> str:
        """The bucket of the address."""
        return self.uri.removeprefix("s3://").partition("/")[0]

    @property
    def key(self) -> str:
        """Key or prefix, verbatim."""
        return self.uri.removeprefix("s3://").partition("/")[2]

    def newline_text(self, codec: str) -> str:
        """What ends a line, as text."""
        newline = "\n" if self.newline is None else self.newline
        return newline.decode(codec) if isinstance(newline, bytes) else newline

    def newline_bytes(self, codec: str) -> bytes:
        """What ends a line, as bytes; ``codec`` has a byte order of its own or is ``""`` for lines as bytes."""
        newline = "\n" if self.newline is None else self.newline
        return newline if isinstance(newline, bytes) else newline.encode(codec or "utf-8")

    def to_dict(self) -> dict[str, Any]:
        """The document form: ``{"lines": "s3://...", "chunk": 32000000, ...}``, options at their default left out."""
        document: dict[str, Any] = {self.format: self.uri, "chunk": self.chunk_bytes}
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in OPTIONS[self.format] and value != option.default:
                document[option.name] = options.as_json(value)
        return document

    @staticmethod
    def from_dict(document: Mapping[str, Any], *, field: str = "input") -> InputSpec:
        """Read and check an input as it stands in a job document.

        Raises:
            SpecError: with every fault, each under ``field``.
        """
        faults: list[Fault] = []
        formats = [name for name in OPTIONS if name in document]
        if len(formats) != 1:
            found = " and ".join(formats) or options.shown(sorted(map(str, document)))
            raise SpecError([Fault(field, found, f"exactly one of {', '.join(OPTIONS)} with its S3 address")])
        format_ = formats[0]
        values: dict[str, Any] = {}
        for name, value in document.items():
            try:
                values.update(_parsed(format_, str(name), value))
            except ValueError as refused:
                faults.append(Fault(f"{field}.{name}", options.shown(value), str(refused)))
        if format_ == "blocks" and "chunk" not in document:
            faults.append(Fault(f"{field}.chunk", "nothing", 'the size of one block, such as "1MB" or 100'))
        spec = InputSpec(format=format_, **{"uri": "", **values})  # type: ignore[arg-type]
        faults += [Fault(f"{field}.{name}", *fault) for name, *fault in options.conflicts(spec)]
        if faults:
            raise SpecError(faults)
        return spec


def _parsed(format_: str, name: str, value: Any) -> dict[str, Any]:
    if name == format_:
        return {"uri": options.uri(value)}
    if name not in OPTIONS[format_]:
        raise ValueError(f"no such option for {format_}; it knows {', '.join(OPTIONS[format_])}")
    return {"chunk_bytes" if name == "chunk" else name: options.PARSERS[name](value)}
