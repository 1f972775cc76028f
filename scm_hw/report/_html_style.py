"""The style sheet of the page. Colours after Okabe and Ito, told apart by dashes and shape too."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --soft: #f4f6f8; --line: #d5dbe1; --text: #1c2329; --quiet: #55616d;
  --link: #00538a; --hw: #0072b2; --pc: #b34a00; --good: #00694d; --neutral: #6b7680;
  --area: #9cc9e6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181c; --soft: #1d2328; --line: #38424b; --text: #e6eaee; --quiet: #a3afba;
    --link: #7cc4f2; --hw: #56b4e9; --pc: #f0954d; --good: #3fc79b; --neutral: #96a2ad;
    --area: #24506b;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--page); color: var(--text); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
body > * { max-width: 64rem; margin-inline: auto; padding-inline: 1rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--hw); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; padding: 0.5rem 1rem; background: var(--page); }
.skip:focus { left: 0; }
header { padding-block: 2.5rem 0.5rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 0 0 0.75rem; font-size: 1.35rem; line-height: 1.3; }
h3 { margin: 2rem 0 0.5rem; font-size: 1.1rem; }
p { margin: 0 0 1rem; max-width: 68ch; }
.lead { margin-top: 0.35rem; color: var(--quiet); font-size: 1.05rem; }
.note { color: var(--quiet); font-size: 0.9rem; }
section { padding-block: 2rem; border-top: 1px solid var(--line); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { font-size: 0.9em; }
pre { margin: 0.35rem 0 1rem; padding: 0.75rem 1rem; background: var(--soft); overflow-x: auto;
  border-radius: 6px; overflow-wrap: normal; }
ol { padding-left: 1.25rem; }

.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.75rem;
  margin: 1.25rem 0 1.5rem; }
.cards > div { padding: 0.8rem 1rem; background: var(--soft); border-radius: 8px; }
.cards dt { color: var(--quiet); font-size: 0.85rem; }
.cards dd { margin: 0; font-size: 0.85rem; }
.cards strong { display: block; font-size: 1.5rem; font-weight: 650; line-height: 1.3;
  font-variant-numeric: tabular-nums; }

nav ul, .legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin: 0; padding: 0;
  list-style: none; }
nav { padding-bottom: 1.5rem; font-size: 0.95rem; }
nav li a { display: inline-block; padding-block: 0.2rem; }

.facts { margin: 0; }
.facts > div { display: grid; grid-template-columns: minmax(7rem, 12rem) 1fr; gap: 0.25rem 1rem;
  padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
.facts > div:last-child { border-bottom: 0; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; }

.scroll { overflow-x: auto; margin: 0 0 1rem; }
table { min-width: min(100%, 26rem); border-collapse: collapse; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { padding: 0.25rem 0 0.5rem; text-align: left; font-weight: 600; }
th, td { padding: 0.35rem 1.1rem 0.35rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th[scope="row"], .text { text-align: left; }
th { font-weight: 500; }
thead th { color: var(--quiet); font-size: 0.85rem; vertical-align: bottom; }
td, tbody th { font-size: 0.95rem; }
tbody th { max-width: 20rem; overflow-wrap: break-word; }
tr > :last-child { padding-right: 0; }

figure { margin: 0 0 2rem; min-width: 0; }
section > :last-child, figure > :last-child { margin-bottom: 0; }
figcaption { margin-bottom: 0.5rem; font-weight: 600; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 0.75rem 2rem; }
.pair:last-child > figure:last-child { margin-bottom: 0; }
.legend { margin-bottom: 0.75rem; color: var(--quiet); font-size: 0.9rem; }
.legend li { display: flex; align-items: center; gap: 0.45rem; }
.key { flex: none; width: 1.5rem; border-top: 2px solid var(--hw); }
.key.pc, .key.validation { border-color: var(--pc); }
.key.validation, .key.ideal { border-top-style: dashed; }
.key.ideal { border-color: var(--neutral); }
.key.area { height: 0.8rem; background: var(--area); border-color: var(--hw); }
.key.band { height: 0.8rem; border: 0; background: var(--neutral); opacity: 0.3; }
.key.dots { width: 0.5rem; height: 0.5rem; background: var(--hw); border-radius: 50%; }
.key.dots.pc { background: var(--pc); border: 0; }
.plain { padding: 0; list-style: none; }
details { margin-bottom: 1rem; }
details > .scroll { max-height: 24rem; overflow-y: auto; margin-top: 0.5rem; }
details thead th { position: sticky; top: 0; background: var(--page); }
summary { width: fit-content; padding-block: 0.2rem; color: var(--link); cursor: pointer; }

svg { display: block; overflow: visible; }
svg text { fill: var(--quiet); font-size: 12.5px; font-variant-numeric: tabular-nums; }
svg .label, svg .strong, .bars text { fill: var(--text); }
svg .strong { font-weight: 650; }
.bars text, .pipeline text { font-size: 14px; }
.grid { stroke: var(--line); }
.axis { stroke: var(--neutral); }
.rule { stroke: var(--neutral); stroke-dasharray: 2 3; }
.band { fill: var(--neutral); opacity: 0.22; }
path { fill: none; stroke-width: 1.5; stroke: var(--hw); vector-effect: non-scaling-stroke;
  stroke-linejoin: round; }
path.dots { stroke-width: 5; stroke-linecap: round; stroke-opacity: 0.75; }
path.area { fill: var(--area); }
path.target { stroke: var(--text); }
path.nodes { stroke: var(--good); }
path.faint { stroke-width: 4; }
path.linear, path.pc, path.validation { stroke: var(--pc); }
path.validation { stroke-dasharray: 6 3; }
path.ideal { stroke: var(--neutral); stroke-dasharray: 5 4; }
.groove { fill: var(--line); }
.fill-hw { fill: var(--hw); }
.fill-pc { fill: var(--pc); }
.box { fill: var(--soft); stroke: var(--line); }
.rank { fill: var(--text); }

.matrix { min-width: 0; }
.matrix th, .matrix td { padding: 0.15rem; text-align: center; vertical-align: middle;
  max-width: 9rem; }
.matrix th[scope="row"] { padding-right: 0.75rem; text-align: left; }
.matrix td span { display: block; min-width: 2.1rem; padding: 0.3rem 0.25rem; border-radius: 4px; }
.matrix .right { background: color-mix(in srgb, var(--hw) calc(var(--share) * 45%), var(--page)); }
.matrix .wrong { background: color-mix(in srgb, var(--pc) calc(var(--share) * 45%), var(--page));
  outline: 1px solid var(--pc); }
.matrix .empty { color: var(--quiet); }
footer { padding-block: 1.5rem 3rem; color: var(--quiet); font-size: 0.9rem; }

@media (max-width: 30rem) {
  h1 { font-size: 1.6rem; }
  .facts > div { grid-template-columns: 1fr; gap: 0; }
  th, td { padding-right: 0.7rem; }
}
@media print {
  :root { --page: #ffffff; --soft: #f4f6f8; --line: #d5dbe1; --text: #000000; --quiet: #444444;
    --link: #000000; --hw: #0072b2; --pc: #b34a00; --good: #00694d; --area: #9cc9e6; }
  nav, .skip { display: none; }
  body { font-size: 10pt; }
  section { padding-block: 1rem; }
  figure, table, .facts > div, pre { break-inside: avoid; }
  h2, h3, figcaption, caption { break-after: avoid; }
  .scroll, pre { overflow: visible; }
  * { print-color-adjust: exact; }
}
""".strip()
