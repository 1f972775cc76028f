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
from scm_hw.report._html_elements import Child, Html, Section, el, join

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
        body = el(
            "body",
            el("a", "To the content", class_="skip", href="#content"),
            self._header(),
            self._contents(),
            el("main", join((part.markup() for part in self.sections), "\n"), id="content"),
            self.footer,
            el("script", Html(self.script)) if self.script else None,
        )
        return f'<!DOCTYPE html>\n<html lang="en">\n{self._head()}\n{body}\n</html>\n'

    def _head(self) -> Html:
        return el(
            "head",
            el("meta", charset="utf-8"),
            el("meta", http_equiv="Content-Security-Policy", content=self._policy()),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", name="color-scheme", content="light dark"),
            # Without an icon of its own a browser would ask the server for one.
            el("link", rel="icon", href="data:,"),
            el("title", self.title),
            el("style", Html(render(__package__, "page.css").rstrip("\n") + self.style)),
        )

    def _policy(self) -> str:
        if not self.script:
            return _POLICY
        digest = base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()
        return f"{_POLICY}; script-src 'sha256-{digest}'"

    def _header(self) -> Html:
        cards = [
            el("div", el("dt", what), el("dd", el("strong", value), rest))
            for what, value, rest in self.cards
        ]
        return el(
            "header",
            el("h1", self.heading),
            el("p", self.lead, class_="lead"),
            el("dl", join(cards, "\n"), class_="cards"),
        )

    def _contents(self) -> Html:
        links = el("ul", *(el("li", part.link()) for part in self.sections))
        return el("nav", links, aria_label="Contents")
