"""The frame that all pages share: head, key figures, contents, sections, footer.

A page loads nothing, and runs nothing but a script of its own where it has one. Its own content
policy holds it to that.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from scm_hw.common.templates import render
from scm_hw.report._html_elements import Child, Html, Section, join

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

Card = tuple[str, Child, str]
"""A key figure: what it is, its value, and a word about it."""


@dataclass(frozen=True)
class Page:
    """A page; `title` is for the browser's tab, `heading` stands on top."""

    title: Html
    heading: Html
    lead: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    footer: Html
    style: str = ""
    """Rules beside those that all pages share."""
    script: str = ""

    def markup(self) -> str:
        cards = [[join([part]) for part in card] for card in self.cards]
        return render(
            __package__,
            "page.html",
            title=self.title,
            policy=self._policy(),
            style=render(__package__, "page.css").rstrip("\n") + self.style,
            script=self.script,
            heading=self.heading,
            lead=join([self.lead]),
            cards=cards,
            links=[part.link() for part in self.sections],
            sections=[part.markup() for part in self.sections],
            footer=self.footer,
        )

    def _policy(self) -> str:
        if not self.script:
            return _POLICY
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        return f"{_POLICY}; script-src 'sha256-{digest}'"
