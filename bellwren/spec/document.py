"""The job document as one value. Its fields, bounds and defaults are here and nowhere else."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from bellwren.algorithms import parameters as algorithms
from bellwren.spec.fields import (
    Array,
    Entry,
    EnvironmentName,
    ExceptionName,
    Label,
    Requirement,
    Says,
    Whole,
    at_most,
)
from bellwren.spec.sections import (
    PICKLED,
    Bundle,
    Code,
    Input,
    Output,
    Payload,
    Pickle,
    PickledItems,
    Section,
)

Kind = Literal["map", "map_reduce", "sort", "bsp", "parameter_server"]
KINDS: tuple[str, ...] = get_args(Kind)

SETTLED_FIELDS = ("name", "algorithm", "kind")
"""Fields that a document may leave out and a :class:`JobSpec` always has."""

MAX_WORKERS = 10_000
MAX_PARTITIONS = 10_000
LONGEST_EXECUTION_S = 365 * 24 * 3_600
"""A STANDARD execution of Step Functions ends after a year."""

LONGEST_INVOCATION_S = 900
"""A Lambda invocation ends after 15 minutes."""

_FUNCTION = '"module:function" in the code of the job'
_PARTS = "a whole number from 1 to 10,000, or a list of up to 10,000 values"
_Parts = (
    Annotated[int, Field(ge=1, le=MAX_PARTITIONS), Whole]
    | Annotated[list[Any], Field(max_length=MAX_PARTITIONS), at_most(MAX_PARTITIONS, "values")]
)


class JobSpec(Section):
    """Everything that a job is told, valid and complete: defaults are filled in, and all fields agree."""

    bellwren: Annotated[
        Annotated[int, Field(ge=1, le=1), Whole],
        Says("Version of the job document", "1, the version that this deployment reads"),
    ]
    name: Annotated[
        Annotated[str, Field(min_length=1, max_length=200)],
        Says("What people call the job", "text of 1 to 200 characters"),
    ]
    algorithm: Annotated[
        Label,
        Says(
            "Built-in algorithm, or your own label under which runs are measured and forecast",
            f"{', '.join(algorithms.ALGORITHMS)}, or a label of 1 to 64 letters, digits, hyphens, dots and"
            " underscores, the first a letter or digit",
        ),
    ]
    kind: Annotated[
        Kind,
        Says("Shape of the job", ", ".join(f'"{kind}"' for kind in KINDS[:-1]) + f' or "{KINDS[-1]}"'),
    ]

    code: Annotated[Code | None, Says("Zip of your modules", "an object with uri and sha256")] = None
    payload: Annotated[
        Payload | None,
        Says("Pickled functions, written by the Python client", "an object with an object for each function"),
    ] = None
    map: Annotated[Entry | None, Says("map(record) gives a result, or (key, value) pairs", _FUNCTION)] = None
    reduce: Annotated[Entry | None, Says("reduce(key, values) gives a value", _FUNCTION)] = None
    combine: Annotated[Entry | None, Says("Like reduce, before the shuffle", _FUNCTION)] = None
    step: Annotated[Entry | None, Says("step(worker) computes one superstep", _FUNCTION)] = None
    train: Annotated[Entry | None, Says("train(worker) trains on one shard", _FUNCTION)] = None
    key: Annotated[Entry | None, Says("key(record) gives what a sort compares", _FUNCTION)] = None

    input: Annotated[
        Input | None,
        Says("Data in S3", 'an object with a source, such as {"lines": "s3://bucket/folder/"}'),
    ] = None
    items: Annotated[
        list[Any] | None,
        Says("Items in the document itself", "a list of any JSON values; data in S3 is named by `input`"),
    ] = None
    items_payload: Annotated[
        PickledItems | None,
        Says(
            "Pickled items, written by the Python client",
            f"{PICKLED} and count",
        ),
    ] = None
    output: Annotated[
        Output,
        Says("Where results go", 'an object such as {"uri": "s3://bucket/folder/", "format": "jsonl"}'),
    ] = Output()

    workers: Annotated[
        Annotated[int, Field(ge=1, le=MAX_WORKERS), Whole] | Literal["auto"],
        Says("Workers that run at once", '"auto" or a whole number from 1 to 10,000'),
    ] = "auto"
    memory_mb: Annotated[
        Annotated[int, Field(ge=128, le=10_240), Whole] | Literal["auto"],
        Says("Memory of a worker in MB", '"auto" or a whole number from 128 to 10,240'),
    ] = "auto"
    deadline_s: Annotated[
        Annotated[float, Field(gt=0, le=LONGEST_EXECUTION_S)] | None,
        Says("Seconds that the job may take", "a number greater than 0, at most a year (31,536,000)"),
    ] = None
    budget_usd: Annotated[
        Annotated[float, Field(gt=0, le=1_000_000)] | None,
        Says("US dollars that the job may cost", "a number greater than 0, at most 1,000,000"),
    ] = None
    objective: Annotated[
        Literal["cost", "time"], Says("What is made small within deadline and budget", '"cost" or "time"')
    ] = "cost"

    retries: Annotated[
        Annotated[int, Field(ge=0, le=10), Whole],
        Says("Further tries of an item whose runner was lost", "a whole number from 0 to 10"),
    ] = 2
    retry_on: Annotated[
        list[ExceptionName],
        Field(max_length=50),
        at_most(50, "names"),
        Says("Exceptions whose items are tried again", 'up to 50 names of types, such as "TimeoutError"'),
    ] = Field(default_factory=list)
    tolerate: Annotated[
        Annotated[float, Field(ge=0, le=1)],
        Says("Share of the items that may fail before the job does", "a number from 0 to 1"),
    ] = 0.0
    item_timeout_s: Annotated[
        Annotated[float, Field(gt=0, le=LONGEST_INVOCATION_S)] | None,
        Says("Seconds that one item may take", "a number greater than 0, at most 900"),
    ] = None

    params: Annotated[
        dict[str, Any],
        Field(max_length=1_000),
        at_most(1_000, "parameters; put large data in S3 and name it with `input`"),
        Says("Parameters of the algorithm", "an object of up to 1,000 names", "any JSON value"),
    ] = Field(default_factory=dict)
    context: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=100)],
            Annotated[str, Field(max_length=1_000)] | int | float | bool,
        ],
        Field(max_length=100),
        at_most(100, "properties"),
        Says(
            "Properties of this run, from which runtimes are learned",
            "an object of up to 100 names of 1 to 100 characters",
            "a text of up to 1,000 characters, a number, or true or false",
        ),
    ] = Field(default_factory=dict)
    requirements: Annotated[
        list[Requirement],
        Field(max_length=100),
        at_most(100, "requirements"),
        Says("Packages that the code needs", 'up to 100 requirements of pip, such as "networkx>=3"'),
    ] = Field(default_factory=list)
    bundle: Annotated[
        Bundle | None,
        Says(
            "The required packages, built by the Python client",
            "an object with key, sha256, python, unpacked_bytes",
        ),
    ] = None
    env: Annotated[
        dict[EnvironmentName, Annotated[str, Field(max_length=4_096, pattern=r"^[^\x00]*$")]],
        Field(max_length=100),
        at_most(100, "variables"),
        Says(
            "Environment variables of your functions",
            "an object of up to 100 names of letters, digits and underscores",
            "a text of up to 4,096 characters",
        ),
    ] = Field(default_factory=dict)

    partitions: Annotated[_Parts | None, Says("bsp: partitions, or their first states", _PARTS)] = None
    max_supersteps: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000), Whole] | None,
        Says("bsp: the job ends after so many supersteps", "a whole number from 1 to 1,000,000"),
    ] = None
    resident: Annotated[
        bool | None, Says("bsp: partitions stay in their workers between supersteps", "true or false")
    ] = None
    shards: Annotated[_Parts | None, Says("parameter_server: shards, or the data of each", _PARTS)] = None
    parameters: Annotated[
        dict[Annotated[str, Field(min_length=1, max_length=200)], Array] | None,
        Field(max_length=1_000),
        at_most(1_000, "parameters"),
        Says(
            "parameter_server: what is trained, as it starts",
            "an object of up to 1,000 names",
            "a number, or an array: lists of numbers, or of lists of equal length",
        ),
    ] = None
    parameters_payload: Annotated[
        Pickle | None,
        Says(
            "Pickled parameters, written by the Python client",
            "an object with key, sha256, python, cloudpickle",
        ),
    ] = None
    staleness: Annotated[
        Annotated[int, Field(ge=0, le=1_000_000), Whole] | None,
        Says(
            "parameter_server: pushes that a worker may miss; leave it out for no bound",
            "a whole number from 0 to 1,000,000",
        ),
    ] = None

    def function(self, role: str) -> dict[str, str] | None:
        """Where the function of a role is found, in the form that plans carry; nothing where it has none.

        ``{"builtin": name}``, or ``{"code": uri, "sha256", "entry"}``, or ``{"payload": key, "sha256",
        "python", "cloudpickle"}``. A built-in algorithm answers so for every role.
        """
        entry = getattr(self, role)
        if entry is not None and self.code is not None:
            return {"code": self.code.uri, "sha256": self.code.sha256, "entry": entry}
        pickled: Pickle | None = getattr(self.payload, role, None)
        if pickled is not None:
            return {
                "payload": pickled.key,
                "sha256": pickled.sha256,
                "python": pickled.python,
                "cloudpickle": pickled.cloudpickle,
            }
        return {"builtin": self.algorithm} if self.builtin else None

    @property
    def builtin(self) -> bool:
        """Whether the algorithm is one of Bellwren's own, and not just a label for the user's functions."""
        return self.code is None and self.payload is None

    def settled_params(self) -> dict[str, Any]:
        """The parameters, with the defaults of the algorithm where it is a built-in one."""
        return algorithms.complete(self.algorithm, self.params) if self.builtin else dict(self.params)

    def to_bytes(self) -> bytes:
        """The canonical text: equal documents give equal bytes, whatever their spelling."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    def sha256(self) -> str:
        """Checksum of the canonical text, in hexadecimal."""
        return hashlib.sha256(self.to_bytes()).hexdigest()
