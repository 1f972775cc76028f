// What the tests ask of a page. Each answer is a list of what is wrong, in words.
globalThis.checks = (() => {
  const SLACK = 1;

  const called = (e) => {
    const name = e.id ? `#${e.id}` : e.className && e.className.baseVal !== undefined
      ? `.${e.className.baseVal}` : e.className ? `.${e.className}` : "";
    const text = (e.textContent || "").trim().slice(0, 30);
    return `${e.tagName.toLowerCase()}${name} "${text}"`;
  };
  const every = (selector, root = document) => [...root.querySelectorAll(selector)];
  const seen = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && e.checkVisibility();
  };
  const scrolls = (e) => {
    for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  const openAll = () => every("details").forEach((e) => { e.open = true; });

  // Beyond the sides of the page, unless it is in a part that scrolls by itself.
  const overflow = (width) => {
    const found = every("body *")
      .filter((e) => seen(e) && !e.matches(".skip, defs *") && !scrolls(e))
      .filter((e) => {
        const box = e.getBoundingClientRect();
        return box.right > width + SLACK || box.left < -SLACK;
      })
      .map((e) => `${called(e)} reaches ${Math.round(e.getBoundingClientRect().right)}`);
    const whole = document.documentElement.scrollWidth;
    return whole > width ? [`the page is ${whole} wide`, ...found] : found;
  };

  // Text of a drawing on other text, or beyond the drawing's sides.
  const crowded = () => every("svg[role=img]").filter(seen).flatMap((svg) => {
    const texts = every("text", svg).filter(seen).map((e) => [e, e.getBoundingClientRect()]);
    const found = [];
    texts.forEach(([e, a], i) => {
      for (const [other, b] of texts.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > SLACK && high > 4) found.push(`${svg.id}: ${called(e)} on ${called(other)}`);
      }
      const edge = svg.parentElement.getBoundingClientRect();
      if (a.right > edge.right + SLACK || a.left < edge.left - SLACK) {
        found.push(`${svg.id}: ${called(e)} beyond the side`);
      }
    });
    return found;
  });

  // Drawings that show nothing, or data beyond their own frame.
  const undrawn = () => every("svg[role=img]").flatMap((svg) => {
    if (!seen(svg)) return [`${svg.id} is not shown`];
    const shapes = every("path, rect", svg);
    if (!shapes.some((e) => e.getTotalLength() > 0 && e.checkVisibility())) {
      return [`${svg.id} is empty`];
    }
    const frame = (svg.querySelector("svg") || svg).getBoundingClientRect();
    return shapes.filter((e) => {
      const box = e.getBoundingClientRect();
      return box.left < frame.left - 3 || box.right > frame.right + 3
        || box.top < frame.top - 3 || box.bottom > frame.bottom + 3;
    }).map((e) => `${svg.id}: ${called(e)} leaves its frame`);
  });

  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], ground) =>
    [...[r, g, b].map((c, i) => a * c + (1 - a) * ground[i]), 1];
  const light = (colour) => colour.slice(0, 3)
    .map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (e) => {
    const behind = [];
    for (let up = e; up; up = up.parentElement) {
      behind.unshift(rgba(getComputedStyle(up).backgroundColor));
    }
    return behind.reduce((under, colour) => over(colour, under), rgba("white"));
  };
  // The last box of the drawing that is under the text and before it.
  const underText = (e) => {
    const svg = e.ownerSVGElement;
    const at = e.getBoundingClientRect();
    const boxes = every("rect", svg).filter((box) => {
      const r = box.getBoundingClientRect();
      return box.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING
        && r.left <= at.left && r.right >= at.right && r.top <= at.top && r.bottom >= at.bottom;
    });
    const last = boxes.at(-1);
    return last ? over(rgba(getComputedStyle(last).fill), ground(svg)) : ground(svg);
  };

  // Text of less contrast than `least`.
  const faint = (least) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = new Set();
    while (walker.nextNode()) {
      const e = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || !seen(e) || e.matches("title, desc, .skip")) continue;
      const style = getComputedStyle(e);
      const drawn = e.ownerSVGElement;
      const under = drawn ? underText(e.closest("text")) : ground(e);
      const ink = over(rgba(drawn ? style.fill : style.color), under);
      const ratio = contrast(ink, under);
      if (ratio < least) found.add(`${called(e)} has contrast ${ratio.toFixed(2)}`);
    }
    return [...found];
  };

  // Lines, dots and bars of less contrast than `least`.
  const pale = (least) => every("svg[role=img] path, svg[role=img] rect[class^=fill]")
    .filter((e) => e.getAttribute("d") !== "").flatMap((e) => {
      const style = getComputedStyle(e);
      const under = ground(e.closest("svg[role=img]"));
      const [r, g, b, a] = rgba(e.tagName === "rect" ? style.fill : style.stroke);
      const ratio = contrast(over([r, g, b, a * style.strokeOpacity], under), under);
      return ratio < least ? [`${called(e)} has contrast ${ratio.toFixed(2)}`] : [];
    });

  const brightness = () => light(ground(document.body));

  // Figures whose numbers are in no table, and that do not say where they are.
  const untabled = () => every("figure").filter((figure) =>
    every("svg[role=img]", figure).length
      && !figure.querySelector("table") && !figure.textContent.includes("figure above"))
    .map(called);

  const links = () => every("a[href]").map((a) => a.getAttribute("href"));
  const dead = () => links().filter((href) => href.startsWith("#"))
    .filter((href) => !document.getElementById(href.slice(1)));

  return { openAll, overflow, crowded, undrawn, faint, pale, brightness, untabled, links, dead };
})();
0;
