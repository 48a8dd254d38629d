"""The style sheet of the report: readable in light, dark and grey, on a phone and on paper. Loads nothing."""

STYLE = """
:root{--ink:#1c1f26;--soft:#5b6472;--line:#d6dae1;--back:#fff;--card:#f6f7f9;--in:#1f5fa8;--out:#b3541e;--heat:#8c1c3c;
--bad:#8c1c3c;--warn:#8a6100;--fine:#20603d}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a3abb8;--line:#3a404b;--back:#15181d;--card:#1e2229;
--in:#7db3ee;--out:#f0a36e;--heat:#e0567f;--bad:#f58aa8;--warn:#e6c15c;--fine:#85cfa4}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:28px 20px 60px;background:var(--back);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.7rem;margin:0 0 4px}
h2{font-size:1.2rem;margin:38px 0 10px;border-top:1px solid var(--line);padding-top:22px}
h3{font-size:1rem;margin:24px 0 4px;overflow-wrap:anywhere}
p{margin:8px 0;max-width:76ch}.soft{color:var(--soft)}small,.small{font-size:.86rem}
.verdict{background:var(--card);border-left:6px solid var(--soft);padding:14px 20px;margin:18px 0;
overflow-wrap:anywhere}
.verdict.incoherent{border-color:var(--bad)}.verdict.leak{border-color:var(--warn)}.verdict.none{border-color:var(--fine)}
.verdict strong.label{display:block;font-size:1.1rem;letter-spacing:.02em}
.partial{border:2px solid var(--bad);padding:10px 16px;margin:14px 0;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;width:100%}
th,td{text-align:left;padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;font-size:.9rem}dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.charts{display:flex;flex-wrap:wrap;gap:14px 26px;align-items:flex-end}figure{margin:6px 0}
figcaption{font-size:.82rem;color:var(--soft);max-width:430px}
.chart{max-width:100%;height:auto;overflow:visible}.chart text{fill:var(--ink);font-size:12px;font-family:inherit}
.chart text.axis{fill:var(--soft);font-size:11px}.chart text.on{fill:var(--back)}
.heat{fill:var(--heat)}.none{fill:none;stroke:var(--line)}.hatch{stroke:var(--soft);stroke-width:1.4;stroke-opacity:.55}
.in{fill:var(--in);fill-opacity:.32;stroke:var(--in);stroke-width:1.4}.line-in{fill:none;stroke:var(--in);stroke-width:1.8}
.out{fill:none;stroke:var(--out);stroke-width:1.8;stroke-dasharray:5 3}.area{fill:var(--soft);fill-opacity:.22}
.rule{stroke:var(--line)}.mark{stroke:var(--soft);stroke-dasharray:2 3}
.key{display:inline-block;width:22px;height:10px;margin-right:6px;border:1.5px solid var(--in)}
.key.a{background:color-mix(in srgb,var(--in) 32%,transparent)}
.key.b{border:0;border-top:2px dashed var(--out);height:0}
@media print{body{max-width:none;padding:0}h2{break-after:avoid}figure,tr{break-inside:avoid}}
"""

__all__ = ["STYLE"]
