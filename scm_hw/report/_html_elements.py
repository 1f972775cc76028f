"""HTML by small functions. Text is escaped unless it is `Html`, which only these functions make."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# The longest piece of a model's own text that is shown, and the most rows of a table of names.
MAX_TEXT = 80
MAX_ROWS = 256
# The same of the trainer's settings, scores and notes.
MAX_NOTES = 60
NOTE_LENGTH = 160

# What stands where there is no figure.
NOTHING = "\N{EM DASH}"

# Control characters, lone surrogates, and marks that turn the direction of the text around them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Html(str):
    """Markup, as opposed to text that is still to be escaped."""

    __slots__ = ()


Child = Html | str | int | None


def text(value: object, limit: int = 0) -> Html:
    """Anything as harmless text, cut after `limit` characters unless that is 0."""
    plain = _UNSEEN.sub("\ufffd", str(value))
    if limit and len(plain) > limit:
        plain = plain[: limit - 1] + "…"
    return Html(html.escape(plain))


def name(value: object) -> Html:
    """A name from the model: harmless and of bounded length."""
    return text(value, MAX_TEXT)


def in_words(value: object) -> Html | None:
    """A note in the model's `meta`, whatever it is; None where it says nothing."""
    if value is None or value in ("", [], {}):
        return None
    if isinstance(value, dict):
        parts = [f"{key}: {_plain(item)}" for key, item in list(value.items())[:MAX_NOTES]]
        return text("; ".join(parts), NOTE_LENGTH)
    return text(_plain(value), NOTE_LENGTH)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(_plain(item) for item in value[:MAX_NOTES])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def count(number: int, thing: str) -> str:
    """`1 node`, `2 nodes`."""
    plural = thing[:-1] + "ies" if thing.endswith("ity") else thing + "s"
    return f"{number:,} {thing if number == 1 else plural}"


def el(tag: str, *children: Child, **attributes: str | int | None) -> Html:
    """An element. `class_` is class, `aria_label` is aria-label; None leaves a thing out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag == "input":
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{join(children)}</{tag}>")


def join(children: Iterable[Child], separator: str = "") -> Html:
    """Children side by side, text among them escaped."""
    shown = (c if isinstance(c, Html) else text(c) for c in children if c is not None)
    return Html(separator.join(shown))


def figure_of(key: str, value: float, shown: str) -> Html:
    """A figure of report.json, with its full value for programs."""
    return el("data", shown, value=repr(value), data_key=key)


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading and a place in the contents."""

    slug: str
    title: str
    body: Html

    def markup(self) -> Html:
        heading = el("h2", self.title, id=self.slug)
        return el("section", heading, self.body, aria_labelledby=self.slug)

    def link(self) -> Html:
        return el("a", self.title, href=f"#{self.slug}")


def section(slug: str, title: str, *children: Child) -> Section:
    return Section(slug, title, join(children, "\n"))


def table(
    caption: Child,
    columns: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    *,
    text_columns: Sequence[int] = (),
) -> Html:
    """A table whose first column heads its rows; numbers stand right, `text_columns` left."""
    head = el("tr", *(_heading(i, c, text_columns) for i, c in enumerate(columns)))
    body = [
        el("tr", *(_cell(i, value, text_columns) for i, value in enumerate(row))) for row in rows
    ]
    whole = el("table", el("caption", caption), el("thead", head), el("tbody", join(body, "\n")))
    # What is too wide scrolls by itself, with the keyboard too; the page does not.
    about = "Table, may be scrolled"
    return el("div", whole, class_="scroll", tabindex=0, role="group", aria_label=about)


def _side(column: int, text_columns: Sequence[int]) -> str | None:
    return None if column and column not in text_columns else "text"


def _heading(column: int, value: Child, text_columns: Sequence[int]) -> Html:
    return el("th", value, scope="col", class_=_side(column, text_columns))


def _cell(column: int, value: Child, text_columns: Sequence[int]) -> Html:
    if column == 0:
        return el("th", value, scope="row")
    return el("td", value, class_=_side(column, text_columns))


def facts(rows: Iterable[tuple[Child, Child]]) -> Html:
    """Pairs of a term and what it is; those without a value are left out."""
    pairs = [
        el("div", el("dt", term), el("dd", value)) for term, value in rows if value is not None
    ]
    return el("dl", join(pairs, "\n"), class_="facts")


def numbers(summary: str, *tables: Html) -> Html:
    """The numbers of a plot, folded away."""
    return el("details", el("summary", summary), *tables)


def plot(drawing: Html, caption: Child, *rest: Child) -> Html:
    """A drawing with what it shows, its legend and its numbers."""
    return el("figure", el("figcaption", caption), drawing, *rest)


def legend(entries: Iterable[tuple[str, Child]]) -> Html:
    """Which style of line, dot or area is what."""
    items = [
        el("li", el("span", class_=f"key {style}", aria_hidden="true"), label)
        for style, label in entries
    ]
    return el("ul", *items, class_="legend")


def shortened(rows: Sequence[Any], limit: int = MAX_ROWS) -> tuple[Sequence[Any], Html]:
    """The first of the rows, and a remark on those that were left out."""
    if len(rows) <= limit:
        return rows, Html("")
    return rows[:limit], el("p", f"The first {limit:,} of {len(rows):,} are shown.", class_="note")
