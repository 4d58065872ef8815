"""For the site: the README is its first page, and files of the repository that pages link to come along."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "repository/"
"""Where files of the repository lie on the site."""
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?!\w+:|#)([^)\s]+)", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the README as the first page, and what pages link to outside of ``docs``."""
    pages = {file.src_uri: file.content_string for file in files.documentation_pages()}
    pages["index.md"] = _from_docs((ROOT / "README.md").read_text("utf-8"))
    files.append(File.generated(config, "index.md", content=pages["index.md"]))
    for target in sorted({link for text in pages.values() for link in _outside(text)}):
        path = ROOT / target
        if path.is_file():
            # A page of Markdown would be one of the site's, with links of its own: here it is a file.
            name = f"{target}.txt" if path.suffix == ".md" else target
            files.append(File.generated(config, SOURCES + name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links out of ``docs`` to the files that came along; the first page's address is that of the README."""

    def here(match: re.Match[str]) -> str:
        path, mark, part = match[2].partition("#")
        if path == "../README.md":
            return f"{match[1]}index.md{mark}{part}"
        if not path.startswith("../"):
            return match[0]
        name = path.removeprefix("../")
        return f"{match[1]}{SOURCES}{name}.txt" if name.endswith(".md") else f"{match[1]}{SOURCES}{name}"

    return _LINK.sub(here, markdown)


def _from_docs(readme: str) -> str:
    """The README with its links as a page in ``docs`` would have them."""

    def moved(match: re.Match[str]) -> str:
        path = match[2]
        return match[1] + (path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}")

    return _LINK.sub(moved, readme)


def _outside(text: str) -> list[str]:
    targets = [path.partition("#")[0] for _, path in _LINK.findall(text)]
    return [path.removeprefix("../") for path in targets if path.startswith("../") and path != "../README.md"]
