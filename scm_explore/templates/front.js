// Filters the designs by LUTs, latency and error, and shows the figures of the one pointed at.
"use strict";
(() => {
  const REACH = 24; // pixels from the pointer to a dot
  const { score, designs } = JSON.parse(document.getElementById("designs").textContent);
  const known = new Map(designs.map((one) => [one.design, one]));
  const form = document.getElementById("limits");
  const detail = document.getElementById("detail");
  const every = (selector) => [...document.querySelectorAll(selector)];
  const marks = every("[data-design]");
  const rows = every("#front-table tbody tr, #build-list > li");
  const nameOf = (row) => row.querySelector("th, a").textContent.replace(".npz", "");

  const limit = (key) => {
    const value = form.elements[key].valueAsNumber;
    return Number.isFinite(value) ? value : null;
  };
  const within = (one) => {
    const [lut, ns, error] = ["lut", "latency_ns", "score"].map(limit);
    return (lut === null || one.lut <= lut) && (ns === null || one.latency_ns <= ns)
      && (error === null || (score === "accuracy" ? one.score >= error : one.score <= error));
  };
  const better = (a, b) => (score === "accuracy" ? a.score > b.score : a.score < b.score);

  const show = (name) => {
    const one = known.get(name);
    for (const mark of marks) mark.classList.toggle("chosen", mark.dataset.design === name);
    for (const row of rows) row.classList.toggle("chosen", nameOf(row) === name);
    if (!one) return;
    detail.querySelector("strong").textContent = one.design;
    detail.querySelector("span").textContent = one.words;
    detail.querySelector("code").textContent = one.build
      || "not on the front: only designs there keep their model file";
  };

  const filter = () => {
    const kept = designs.filter(within);
    const names = new Set(kept.map((one) => one.design));
    for (const mark of marks) mark.classList.toggle("out", !names.has(mark.dataset.design));
    for (const row of rows) row.hidden = !names.has(nameOf(row));
    const front = kept.filter((one) => one.build);
    document.getElementById("kept").textContent =
      `${front.length} of ${designs.filter((one) => one.build).length} designs on the front, `
      + `${kept.length} of ${designs.length} tried, are within these limits.`;
    const best = front.reduce((a, b) => (a && !better(b, a) ? a : b), undefined);
    show(best && best.design);
  };

  // The shown dot that is nearest to the pointer, if it is near at all.
  const nearest = (svg, event) => {
    const box = svg.getBoundingClientRect();
    let found = null;
    let least = REACH;
    for (const mark of svg.querySelectorAll("[data-design]:not(.out)")) {
      const [x, y] = mark.getAttribute("d").slice(1).split(/[ h]/).map((v) => v / 1000);
      const far = Math.hypot(box.left + x * box.width - event.clientX,
        box.top + y * box.height - event.clientY);
      // Of several in one place the last one drawn, which those of the front are.
      if (far <= least) [found, least] = [mark, far];
    }
    return found && found.dataset.design;
  };

  const step = (forward) => {
    const front = designs.filter((one) => one.build && within(one)).map((one) => one.design);
    const at = front.indexOf(detail.querySelector("strong").textContent);
    if (front.length) show(front[(at + (forward ? 1 : front.length - 1)) % front.length]);
  };

  for (const svg of every("figure svg svg")) {
    for (const kind of ["pointermove", "click"]) {
      svg.closest("figure").addEventListener(kind, (event) => {
        const name = nearest(svg, event);
        if (name) show(name);
      });
    }
  }
  for (const row of rows) row.addEventListener("pointerenter", () => show(nameOf(row)));
  detail.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") step(event.key === "ArrowRight");
  });
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  detail.hidden = false;
  filter();
})();
