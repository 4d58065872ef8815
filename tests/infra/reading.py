"""Reading synthesised templates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Region": "eu-west-1",
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
}


@dataclass(frozen=True)
class Resource:
    """One resource of a template, with its intrinsic functions worked out."""

    stack: str
    id: str
    type: str
    properties: dict[str, Any]
    raw: dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """The templates of a synthesised app."""

    raw: dict[str, dict[str, Any]]
    """By what the stack is for: ``storage``, ``compute``, ..."""

    def of_type(self, type_: str, stack: str | None = None) -> list[Resource]:
        """Every resource of a type, in every stack or in one."""
        return [resource for resource in self.all(stack) if resource.type == type_]

    def named(self, type_: str, name_property: str, name: str) -> Resource:
        """The one resource of a type with a name."""
        (found,) = [found for found in self.of_type(type_) if found.properties.get(name_property) == name]
        return found

    def all(self, stack: str | None = None) -> Iterator[Resource]:
        for name, template in self.raw.items():
            if stack in (None, name):
                for id_, raw in template["Resources"].items():
                    yield Resource(name, id_, raw["Type"], worked_out(raw.get("Properties", {})), raw)


def worked_out(value: Any) -> Any:
    """A template's value as CloudFormation would make it; a reference becomes ``<id>`` or ``<id.Attribute>``."""
    if isinstance(value, list):
        return [worked_out(one) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Ref"}:
        return PSEUDO.get(value["Ref"], f"<{value['Ref']}>")
    if set(value) == {"Fn::GetAtt"}:
        return f"<{'.'.join(value['Fn::GetAtt'])}>"
    if set(value) == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        return separator.join(worked_out(part) for part in parts)
    if set(value) == {"Fn::Sub"}:
        return re.sub(r"\$\{([^}]+)\}", lambda match: PSEUDO.get(match[1], f"<{match[1]}>"), value["Fn::Sub"])
    return {key: worked_out(one) for key, one in value.items()}


def feature_flags() -> dict[str, Any]:
    """The context in cdk.json, without which CDK behaves as it did years ago."""
    flags: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]
    return flags
