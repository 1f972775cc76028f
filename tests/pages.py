"""Pages as a strict reader sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input"}


@dataclass
class Element:
    """An element with its attributes, and elements and texts inside it in order."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    content: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child

    @property
    def children(self) -> list[Element]:
        return [part for part in self.content if isinstance(part, Element)]

    def all(self, *tags: str) -> list[Element]:
        return [e for e in self if e.tag in tags]

    def text(self) -> str:
        return "".join(p if isinstance(p, str) else p.text() for p in self.content)


class Page(HTMLParser):
    """A strict reader: every element ends, in order, and nothing ends that did not begin."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.root = Element("#root")
        self.open = [self.root]
        self.feed(markup)
        self.close()
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        element = Element(tag, dict(attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def parsed(markup: str) -> Element:
    return Page(markup).root
