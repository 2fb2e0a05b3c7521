"""The style sheet of HTML reports: light, dark and print; from a phone to a large screen.

The colours differ with the common forms of colour blindness too: blue, orange and grey, with signs and dashes
beside them.
"""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f4f6f8; --card: #ffffff; --ink: #17212d; --mute: #586474; --line: #dfe4ea; --soft: #f1f4f7;
  --blue: #0b62b0; --orange: #d4600a; --purple: #8b56a6; --grey: #8792a0; --band: #d7dde4;
  --window: #fef4e4; --window-edge: #f0cf98; --errors: #c2281c;
  --good: #0a7554; --bad: #bb2d1a; --warn: #8a5c00; --calm: #5a4fa8; --dull: #586474;
  --good-soft: #e2f4ec; --bad-soft: #fdebe7; --warn-soft: #fdf3da; --calm-soft: #eeecfa; --dull-soft: #edf0f3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1319; --card: #161d25; --ink: #e7ecf1; --mute: #9dabb9; --line: #2a3541; --soft: #1d2630;
    --blue: #5cb0f7; --orange: #f39a4c; --purple: #c49ddd; --grey: #8592a0; --band: #2f3a46;
    --window: #33291a; --window-edge: #6d5426; --errors: #ff7d6b;
    --good: #43cf9d; --bad: #ff8a78; --warn: #e9b850; --calm: #b0a6f5; --dull: #9dabb9;
    --good-soft: #12302a; --bad-soft: #3a1e1c; --warn-soft: #33290f; --calm-soft: #262344;
    --dull-soft: #232d37;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
.page { max-width: 1080px; margin: 0 auto; padding: 28px 24px 48px; }
h1, h2, h3, h4, p, ul, dl, dd, figure { margin: 0; }
ul { padding: 0; list-style: none; }
h1 { font-size: 26px; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 34px 0 12px; overflow-wrap: anywhere; }
h3 { font-size: 16px; font-weight: 600; overflow-wrap: anywhere; }
h4 {
  font-size: 12px; text-transform: uppercase; letter-spacing: .06em; color: var(--mute); margin-bottom: 8px;
}
a { color: inherit; text-decoration-color: var(--grey); text-underline-offset: 3px; }
a:hover { color: var(--blue); }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
code {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .93em;
}
.method { color: var(--mute); font-weight: 600; }
.url { overflow-wrap: anywhere; }
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}

.top { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 24px 26px; }
.brand { font-size: 13px; font-weight: 700; color: var(--blue); margin-bottom: 6px; }
.brand span { color: var(--mute); font-weight: 400; }
.glance { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: baseline; margin: 14px 0 12px; }
.headline { font-size: 34px; line-height: 1.15; font-weight: 750; letter-spacing: -.02em; }
.chips { display: flex; flex-wrap: wrap; gap: 4px 18px; color: var(--mute); }
.chips li::before {
  content: ""; display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 7px;
  background: currentColor;
}
.chips b { color: var(--ink); }
.headline.passed, .chips .passed::before { color: var(--good); }
.headline.failed, .chips .failed::before { color: var(--bad); }
.headline.inconclusive, .chips .inconclusive::before { color: var(--warn); }
.chips .not-exercised::before { color: var(--calm); }
.chips .unfinished::before { color: var(--dull); }
.facts { display: grid; gap: 6px 28px; font-size: 14px; }
.facts > div { display: grid; grid-template-columns: 156px minmax(0, 1fr); gap: 12px; }
.facts dt { color: var(--mute); overflow-wrap: anywhere; }
.facts dd { overflow-wrap: anywhere; }
.top .facts { display: flex; flex-wrap: wrap; margin-top: 16px; font-size: 13px; }
.top .facts > div { display: flex; gap: 8px; }

.card {
  background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--dull);
  border-radius: 12px; margin: 0 0 18px; scroll-margin-top: 12px;
}
.card.passed { border-left-color: var(--good); }
.card.failed { border-left-color: var(--bad); }
.card.inconclusive { border-left-color: var(--warn); }
.card.not-exercised { border-left-color: var(--calm); }
.card > summary {
  display: flex; flex-wrap: wrap; gap: 8px 14px; align-items: center; padding: 16px 44px 16px 20px;
  cursor: pointer; list-style: none; position: relative;
}
.card > summary::-webkit-details-marker { display: none; }
.card > summary::after {
  content: ""; position: absolute; right: 20px; top: 24px; width: 8px; height: 8px;
  border-right: 2px solid var(--mute); border-bottom: 2px solid var(--mute); transform: rotate(45deg);
}
.card[open] > summary::after { transform: rotate(225deg); top: 28px; }
.card h3 { flex: 1 1 260px; min-width: 0; }
.inside { padding: 0 20px 22px; display: grid; grid-template-columns: minmax(0, 1fr); gap: 22px; }
.strategy, .description, .source, .fine, .empty {
  color: var(--mute); font-size: 14px; overflow-wrap: anywhere;
}
.strategy { margin-top: -8px; }
.result { font-size: 17px; font-weight: 600; margin: 0 0 14px; }
.section > .description, .section > .source { margin: -6px 0 14px; }
.fine { font-size: 13px; }
main > .empty { margin-top: 24px; }
.table-note { margin-top: 6px; }

.badge {
  display: inline-flex; gap: 6px; align-items: center; padding: 2px 10px 2px 8px; border-radius: 99px;
  font-size: 13px; font-weight: 650; white-space: nowrap; color: var(--dull); background: var(--dull-soft);
}
.badge.passed { color: var(--good); background: var(--good-soft); }
.badge.failed { color: var(--bad); background: var(--bad-soft); }
.badge.inconclusive { color: var(--warn); background: var(--warn-soft); }
.badge.not-exercised { color: var(--calm); background: var(--calm-soft); }
.met { font-weight: 700; color: var(--mute); position: relative; }
.met.good { color: var(--good); }
.met.bad { color: var(--bad); }

.callout {
  border-radius: 8px; padding: 10px 14px; background: var(--dull-soft); font-size: 14px;
  overflow-wrap: anywhere;
}
.callout strong { margin-right: 8px; }
.callout ul { display: inline; }
.callout li { display: inline; }
.callout li + li::before { content: " · "; }
.callout.warn, .callout.warnings { background: var(--warn-soft); }
.failed .callout.reasons { background: var(--bad-soft); }
.inconclusive .callout.reasons { background: var(--warn-soft); }
.not-exercised .callout.reasons { background: var(--calm-soft); }
.page > .callout { margin-top: 16px; }

.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 10px; }
.tiles > div { background: var(--soft); border-radius: 10px; padding: 10px 14px 11px; min-width: 0; }
.tiles dt { font-size: 12.5px; color: var(--mute); }
.tiles dd { font-size: 21px; font-weight: 680; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.tiles .under {
  font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--mute); min-height: 1.5em;
}
.tiles dd { overflow-wrap: anywhere; }
.tiles .word { font-size: 17px; line-height: 1.35; padding-top: 4px; }
.tiles .bad dd:not(.under) { color: var(--bad); }

.findings { display: grid; gap: 12px; }
.findings li { display: grid; grid-template-columns: 112px minmax(0, 1fr); gap: 4px 14px; font-size: 14.5px; }
.findings em { font-style: normal; color: var(--mute); }
.findings p { overflow-wrap: anywhere; }
.severity { font-weight: 650; font-size: 13px; padding-top: 1px; color: var(--dull); }
.broken .severity { color: var(--bad); }
.risk .severity { color: var(--warn); }
.note .severity { color: var(--blue); }
.good .severity { color: var(--good); }

.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td {
  text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top;
}
th:last-child, td:last-child { padding-right: 2px; }
thead th {
  font-size: 12.5px; font-weight: 500; color: var(--mute); white-space: nowrap; vertical-align: bottom;
}
tbody th { font-weight: 500; }
tbody tr:last-child > * { border-bottom: 0; }
.n { text-align: right; white-space: nowrap; }
.group { padding-top: 14px; font-weight: 650; overflow-wrap: anywhere; }
.overview { background: none; }
nav .scroll {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 8px 18px;
}
.overview td:nth-child(2) { min-width: 190px; }
.brief { display: none; color: var(--mute); }
.faults td:nth-child(2) { min-width: 120px; width: 24%; }
.faults td:nth-child(3) { white-space: nowrap; }
.faults td:nth-child(4) { min-width: 200px; }
.slos td:nth-child(2) { min-width: 140px; }
.slos td:nth-child(3) { min-width: 130px; width: 32%; }
.slo small { display: block; color: var(--mute); }
.slo .weak { color: var(--warn); }
.figures th, .figures td { padding-top: 3px; padding-bottom: 3px; }
.class { white-space: nowrap; }
.why { display: block; min-width: 130px; }
.unsure { font-weight: 400; color: var(--mute); }

.pair {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 22px 30px;
}
.pair > * { min-width: 0; }
.pair .scroll { margin-top: 12px; }
.pair td.n:last-child { white-space: normal; }
figcaption { font-weight: 650; font-size: 14.5px; }
.legend {
  display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 12.5px; color: var(--mute); margin: 3px 0 12px;
}
.key {
  display: inline-block; width: 14px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle;
  background: var(--grey); position: relative; top: -1px;
}
.key.p50, .key.run { background: var(--blue); }
.key.p95 { background: var(--orange); }
.key.max { background: none; height: 0; border-top: 2px dotted var(--purple); }
.key.base { height: 9px; background: var(--band); border-top: 2px solid var(--grey); }
.key.window { height: 11px; background: var(--window); border: 1px solid var(--window-edge); }
.key.errors { height: 9px; background: var(--errors); }
.key.whisker { height: 9px; background: none; border: solid var(--ink); border-width: 0 1.5px; }
.key.whisker::after {
  content: ""; position: absolute; inset: 3.5px 0 auto; border-top: 1.5px solid var(--ink);
}
.key.held, .key.broken, .key.undecided { width: 9px; height: 9px; border-radius: 50%; }
.key.held { background: var(--good); }
.key.objective { background: none; height: 0; border-top: 2px dashed var(--good); }
.key.estimate {
  width: 9px; height: 9px; border-radius: 50%; background: none; border: 2px solid var(--grey);
}
.key.broken { background: var(--bad); }
.key.cell {
  width: 15px; height: 15px; border-radius: 2px; border: 1px solid var(--line); text-align: center;
  font-size: 11px; line-height: 13px; font-style: normal; font-weight: 700; top: 0;
}
.key.cell.held { background: var(--good-soft); color: var(--good); }
.key.cell.held::after { content: "✓"; }
.key.cell.broken { background: var(--bad-soft); color: var(--bad); }
.key.cell.broken::after { content: "✕"; }
.key.cell.undecided { background: var(--warn-soft); color: var(--warn); }
.key.cell.undecided::after { content: "?"; }
.key.cell.faint { background: none; color: var(--mute); font-weight: 400; }
.key.cell.faint::after { content: "✓"; }
.key.edge { background: var(--ink); }
.key.goal { width: 9px; height: 9px; border-radius: 50%; background: none; border: 2px solid var(--good); }

svg { display: block; overflow: visible; }
.plot { padding: 6px 12px 0 54px; }
.plot.bars { padding: 0 76px 0 48px; }
.plot.bars + .plot.bars { margin-top: 6px; }
.tick { font-size: 11.5px; fill: var(--mute); font-variant-numeric: tabular-nums; }
.name { font-size: 12.5px; fill: var(--ink); }
.value { font-size: 12px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
.window { fill: var(--window); stroke: var(--window-edge); stroke-width: 1; }
.line { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.line.p50, .line.run { stroke: var(--blue); stroke-width: 2.2; }
.line.p95 { stroke: var(--orange); }
.line.max { stroke: var(--purple); stroke-width: 1.5; stroke-dasharray: 1.5 3; stroke-linecap: round; }
.line.base { stroke: var(--grey); stroke-width: 1.6; }
.band { stroke: none; }
.band.base { fill: var(--band); }
.band.p95 { fill: var(--orange); opacity: .1; }
.dot { stroke: var(--card); stroke-width: 1.5; }
.dot.p50, .dot.run { fill: var(--blue); }
.dot.p95 { fill: var(--orange); }
.dot.max { fill: var(--purple); }
.dot.held { fill: var(--good); }
.dot.broken { fill: var(--bad); }
.dot.undecided { fill: var(--grey); }
.goal line { stroke-width: 1.2; stroke-dasharray: 5 4; }
.goal circle { fill: var(--card); stroke-width: 2; }
.goal.good * { stroke: var(--good); }
.goal.bad * { stroke: var(--bad); }
.goal.open * { stroke: var(--grey); }
.cell { stroke: var(--card); stroke-width: 1; }
.cell.held { fill: var(--good-soft); }
.cell.broken { fill: var(--bad-soft); }
.cell.undecided { fill: var(--warn-soft); }
.sign { font-size: 14px; font-weight: 700; }
.sign.held { fill: var(--good); }
.sign.broken { fill: var(--bad); }
.sign.undecided { fill: var(--warn); }
.sign.faint { font-weight: 400; opacity: .6; }
.edge { stroke: var(--ink); stroke-width: 2.5; stroke-linecap: square; }
rect.errors { fill: var(--errors); }
.hit { fill: var(--ink); opacity: 0; }
.hit:hover { opacity: .06; }
.bar.base { fill: var(--grey); opacity: .55; }
.bar.run { fill: var(--blue); }
.bar.bad { fill: var(--errors); }
.whisker { stroke: var(--ink); stroke-width: 1.5; }

.stack { width: 100%; height: 14px; border-radius: 5px; overflow: hidden; background: var(--soft); }
.top .stack { height: 10px; }
.errors-block .stack { margin-bottom: 10px; }
.part { stroke: var(--card); stroke-width: 1; }
.part.passed { fill: var(--good); }
.part.failed { fill: var(--bad); }
.part.inconclusive { fill: var(--warn); }
.part.not-exercised { fill: var(--calm); }
.part.unfinished { fill: var(--dull); }
.part.ok { fill: var(--band); }
.key[class*="class-"] { width: 11px; height: 11px; border-radius: 3px; top: -1px; }
.class-status_5xx { fill: #d55e00; background: #d55e00; }
.class-timeout { fill: #9f5fae; background: #9f5fae; }
.class-reset { fill: #e69f00; background: #e69f00; }
.class-refused { fill: #4aa3da; background: #4aa3da; }
.class-closed { fill: #c9b400; background: #c9b400; }
.class-dns { fill: #009e73; background: #009e73; }
.class-tls { fill: #2f5fb3; background: #2f5fb3; }
.class-protocol { fill: #8c5a4b; background: #8c5a4b; }
.class-status_4xx { fill: #b85c8a; background: #b85c8a; }
.class-early_end { fill: #e0a030; background: #e0a030; }
.class-tool_error { fill: #cc5a5a; background: #cc5a5a; }
.class-rpc_error { fill: #7a6fc9; background: #7a6fc9; }
.class-model_error { fill: #a8448f; background: #a8448f; }
.class-exited { fill: #5b4636; background: #5b4636; }
.class-no_stream, .class-invalid_reply, .class-malformed_event { fill: #4f8f8f; background: #4f8f8f; }
.class-unreachable, .class-other { fill: #7b8794; background: #7b8794; }
.windows { width: 100%; height: 14px; margin-top: 4px; }
.rail { fill: var(--soft); }
.acting { fill: var(--orange); }
.bullet { width: 100%; height: 20px; }
.allowed { fill: var(--band); }
.used.good { fill: var(--good); }
.used.bad { fill: var(--bad); }
.mark { stroke: var(--ink); stroke-width: 2; }
.length { width: 90px; height: 8px; margin-top: 7px; }

.preformatted {
  margin: 0; padding: 10px 14px; border-radius: 8px; background: var(--soft); font-size: 13px;
  overflow-x: auto;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
.more > summary { cursor: pointer; color: var(--mute); font-size: 13.5px; }
.more[open] > summary { margin-bottom: 10px; }
.quotation {
  margin: 0; padding: 2px 0 2px 14px; border-left: 3px solid var(--line); overflow-wrap: anywhere;
  white-space: pre-line;
}
.quotation cite { display: block; font-style: normal; font-size: 12.5px; color: var(--mute); }
.run { display: grid; grid-template-columns: minmax(0, 1fr); gap: 18px; }

.timeline { display: grid; grid-template-columns: minmax(112px, 240px) minmax(0, 1fr); gap: 3px 14px; }
.timeline .lane { font-size: 13.5px; line-height: 1.3; overflow-wrap: anywhere; align-self: center; }
.timeline .lane b { font-weight: 600; }
.timeline .lane small { color: var(--mute); display: block; font-size: 12px; }
.timeline .left-out { grid-column: 1 / -1; color: var(--mute); font-size: 13px; padding: 2px 0; }
.timeline > svg { width: 100%; align-self: center; }
.timeline .caption { font-size: 11.5px; fill: var(--ink); }
.timeline .phase { fill: var(--soft); stroke: var(--line); }
.timeline .phase.bad { fill: var(--bad-soft); stroke: var(--bad); }
.timeline .phase.good { fill: var(--good-soft); stroke: var(--good); }
.timeline .act, .timeline .call.faulted { fill: var(--orange); }
.timeline .act.bad, .timeline .call.failed { fill: var(--errors); }
.timeline .call { fill: var(--blue); }
.timeline .call.mended { fill: var(--good); }
.timeline .look.good, .timeline .word.good { fill: var(--good); }
.timeline .look.bad, .timeline .word.bad { fill: var(--bad); }
.timeline .look.open { fill: var(--grey); }
.timeline .noticed { fill: var(--card); stroke: var(--ink); stroke-width: 1.8; }
.timeline .undone { stroke: var(--blue); stroke-width: 2.5; }
.timeline .undone.bad { stroke: var(--errors); }
.timeline .limit { stroke: var(--ink); stroke-width: 1.3; stroke-dasharray: 4 3; }
.key.call { background: var(--blue); height: 9px; }
.key.act, .key.faulted { background: var(--orange); height: 9px; }
.key.call-failed { background: var(--errors); height: 9px; }
.key.mended { background: var(--good); height: 9px; }
.key.look, .key.said { background: var(--good); width: 10px; height: 10px; border-radius: 50%; }
.key.missed, .key.unsaid { background: var(--bad); width: 10px; height: 10px; border-radius: 0; }
.key.undone { background: var(--blue); width: 3px; height: 11px; }
.key.noticed {
  width: 8px; height: 8px; border-radius: 0; background: none; border: 1.8px solid var(--ink);
  transform: rotate(45deg);
}
.key.limit { width: 0; height: 12px; background: none; border-left: 2px dashed var(--ink); }

footer { color: var(--mute); font-size: 13px; margin-top: 28px; }

@media (max-width: 620px) {
  .page { padding: 12px 10px 32px; }
  .top { padding: 18px 16px; border-radius: 12px; }
  h1 { font-size: 21px; }
  .headline { font-size: 28px; }
  .card > summary { padding: 14px 40px 14px 14px; }
  .card h3 { flex-basis: 100%; }
  .inside { padding: 0 14px 18px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .findings li { grid-template-columns: minmax(0, 1fr); }
  .facts > div { grid-template-columns: minmax(0, 1fr); gap: 0; }
  nav .scroll { padding: 6px 12px; }
  nav thead { display: none; }
  nav table, nav tbody { display: block; }
  nav tr {
    display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 4px 10px; padding: 10px 0;
    border-bottom: 1px solid var(--line);
  }
  nav tbody tr:last-child { border-bottom: 0; }
  nav tr > td, nav tr > th {
    border: 0; padding: 0; min-width: 0; text-align: left; white-space: normal; overflow-wrap: anywhere;
  }
  nav tr > .n { text-align: left; white-space: normal; }
  nav td:nth-child(-n+2), nav tr > th { grid-column: 1 / -1; }
  nav td:nth-child(n+3)::before {
    content: attr(data-head); display: block; font-size: 12px; color: var(--mute);
  }
  .timeline { grid-template-columns: minmax(0, 1fr); }
  .timeline .lane { margin-top: 5px; }
  .timeline .lane small { display: inline; margin-left: 6px; }
  .timeline .lane:empty { display: none; }
  .brief { display: block; }
  .brief-on-phones :is(th, td):nth-child(n + 3) { display: none; }
  .brief-on-phones td:nth-child(2) { min-width: 0; overflow-wrap: anywhere; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --ink: #000; --mute: #444; --line: #bbb; --soft: #fff; --band: #ddd;
    --blue: #0b62b0; --orange: #c25508; --purple: #8b56a6; --grey: #777;
    --window: #fff6e8; --window-edge: #d8b070; --errors: #bb2d1a;
    --good: #0a6b4d; --bad: #a82615; --warn: #7a5200; --calm: #4a4090; --dull: #444;
    --good-soft: #fff; --bad-soft: #fff; --warn-soft: #fff; --calm-soft: #fff; --dull-soft: #fff;
  }
  @page { margin: 14mm 12mm; }
  .page { max-width: none; padding: 0; zoom: .74; }
  .stack, .part, .bar, .acting, .allowed, .used, .rail, .window, .key, .cell, .chips li::before,
  .timeline .call, .timeline .word, .timeline .act, .timeline .look {
    -webkit-print-color-adjust: exact; print-color-adjust: exact;
  }
  .tiles > div, .callout, .badge { border: 1px solid var(--line); }
  .tiles { grid-template-columns: repeat(6, 1fr); }
  .pair { grid-template-columns: 1fr 1fr; }
  .card { border-radius: 6px; break-inside: avoid; }
  .card > summary::after { display: none; }
  .card:not([open])::details-content { content-visibility: visible; display: block; height: auto; }
  .block, figure, .tiles, .callout, tr, .findings li, .top { break-inside: avoid; }
  summary, h2, h3, h4, .strategy, .reasons, .description, .source { break-after: avoid; }
  .scroll { overflow: visible; }
  th, td { padding-right: 8px; }
  .hit { display: none; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
"""
