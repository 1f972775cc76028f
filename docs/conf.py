"""The documentation site: `make docs` runs Sphinx with this, and treats warnings as errors."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
REPOSITORY = DOCS.parent
sys.path.insert(0, str(DOCS))

import pipeline_view  # noqa: E402

project = "scm-hw"
author = "scm-hw contributors"
copyright = author
release = version = metadata.version("scm-hw")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxarg.ext"]
exclude_patterns = ["_*"]
html_theme = "furo"
html_title = f"scm-hw {release}"
# The drawings look as on the page of a build.
html_static_path = ["_static", "../scm_hw/report/templates/drawings.css"]
html_css_files = ["drawings.css", "site.css"]
html_js_files = [("pipeline.js", {"defer": "defer"})]
html_copy_source = False

myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 3
# Tutorials run as the site is made; what they gave is kept until their text changes.
nb_execution_mode = "cache"
nb_execution_cache_path = str(REPOSITORY / "build" / "docs" / "notebooks")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

# Pages of the packages themselves, which the site has under its own names.
PACKAGE_PAGES = {
    "scm_model/model_file.md": "reference/model-file-schema.md",
    "scm_hw/ir/program.md": "reference/program.md",
}


def _site_link(match: re.Match[str], page: str) -> str:
    """A link as the site has it: files of the repository that are no pages are named only."""
    text, target = match[1], match[2]
    if target.startswith(("http", "#", "mailto:")):
        return match[0]
    path, _, anchor = target.partition("#")
    found = ((DOCS / page).parent / path).resolve()
    if found.is_relative_to(DOCS) or not found.exists():
        # Sphinx follows it, or complains of it.
        return match[0]
    name = found.relative_to(REPOSITORY).as_posix()
    if name in PACKAGE_PAGES:
        up = "../" * page.count("/")
        return f"[{text}]({up}{PACKAGE_PAGES[name]}{'#' + anchor if anchor else ''})"
    return text if text.startswith("`") else f"{text} (`{name}`)"


def _read(_app: Any, page: str, source: list[str]) -> None:
    source[0] = re.sub(
        r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)", lambda match: _site_link(match, page), source[0]
    )


def _with_pipeline(_app: Any, page: str, source: list[str]) -> None:
    if page == "pipeline":
        source[0] = source[0].replace(pipeline_view.MARK, pipeline_view.view())


def setup(app: Any) -> None:
    app.connect("source-read", _read)
    app.connect("source-read", _with_pipeline)
