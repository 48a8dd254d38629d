// Comforts over pages that work without them: no library, no data kept, nothing fetched from elsewhere.
"use strict";
document.documentElement.classList.add("scripted");

const later = (work, wait) => {
  let timer = 0;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
};

// Each page may hold one request of a kind; a newer one ends the older.
const fetching = (place) => {
  let running = null;
  return async (address, options = {}) => {
    if (running) running.abort();
    running = new AbortController();
    try {
      const answer = await fetch(address, { ...options, signal: running.signal, credentials: "same-origin" });
      if (!answer.ok || answer.redirected) return false;
      place.innerHTML = await answer.text(); // rendered and escaped by the server
      return true;
    } catch { return false; }
  };
};

// A link of the demo carries its token behind the #, which browsers do not send: it fills the field and is forgotten.
const token = document.querySelector("[data-token]");
if (token && location.hash.startsWith("#hf_")) {
  token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
}

// So does a link that invites.
const invitation = document.querySelector("[data-invitation]");
if (invitation && location.hash.startsWith("#hi_")) {
  invitation.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try { await navigator.clipboard.writeText(field.value); button.textContent = "Copied"; } catch { /* it is selected */ }
  });
}

// Times in the zone of whoever reads them, after those that were declared.
for (const moment of document.querySelectorAll("time[data-local]")) {
  const there = new Date(moment.dateTime);
  const words = there.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  moment.after(` \u00b7 ${words} where you are`);
}
const zone = document.querySelector("[data-zone]");
if (zone && !zone.value && !document.querySelector("[role=alert]")) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

// Tables sort by a click on a head, filter by what is typed, and show some rows at a time. Without a script all are there.
for (const table of document.querySelectorAll("table[data-table]")) {
  const body = table.tBodies[0], rows = [...body.rows], each = matchMedia("(max-width: 40rem)").matches ? 8 : 15;
  if (rows.length < 6) continue;
  let shown = rows, first = 0;
  const text = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const bar = document.createElement("div"), label = document.createElement("label"), find = document.createElement("input");
  const count = document.createElement("span"), back = document.createElement("button"), on = document.createElement("button");
  bar.className = "table-tools";
  label.append("Find ", find);
  count.setAttribute("role", "status");
  count.className = "soft";
  [back.type, on.type, back.textContent, on.textContent] = ["button", "button", "Earlier rows", "Further rows"];
  const draw = () => {
    first = Math.max(0, Math.min(first, Math.ceil(shown.length / each) * each - each));
    body.replaceChildren(...shown.slice(first, first + each));
    count.textContent = shown.length ? `${first + 1} to ${Math.min(first + each, shown.length)} of ${shown.length}` : "Nothing fits";
    back.disabled = first === 0;
    on.disabled = first + each >= shown.length;
    back.hidden = on.hidden = shown.length <= each;
  };
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    shown = rows.filter((row) => row.textContent.toLowerCase().includes(wanted));
    first = 0;
    draw();
  });
  back.addEventListener("click", () => { first -= each; draw(); });
  on.addEventListener("click", () => { first += each; draw(); });
  for (const [at, head] of [...table.tHead.rows[0].cells].entries()) {
    if (head.classList.contains("plot")) continue;
    const sort = document.createElement("button");
    sort.type = "button";
    sort.className = "sort";
    sort.append(...head.childNodes);
    head.append(sort);
    sort.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const compare = (a, b) => {
        const [x, y] = [text(a, at), text(b, at)], [n, m] = [Number(x), Number(y)];
        return x !== "" && y !== "" && Number.isFinite(n) && Number.isFinite(m) ? n - m : x.localeCompare(y);
      };
      for (const list of [rows, shown]) list.sort((a, b) => (down ? -compare(a, b) : compare(a, b)));
      first = 0;
      draw();
    });
  }
  bar.append(label, count, back, on);
  table.before(bar);
  draw();
}

// The steward's view of a guard moves with it.
for (const live of document.querySelectorAll("[data-live]")) {
  const get = fetching(live);
  setInterval(() => {
    const inside = live.contains(document.activeElement);
    if (document.visibilityState === "visible" && !inside) get(live.dataset.live);
  }, 4000);
}

// The picker compares while it is filled in.
const picker = document.querySelector("[data-compare]");
if (picker) {
  const get = fetching(picker.querySelector("[data-compared]"));
  const shown = () => {
    const shape = picker.elements.shape.value;
    for (const part of picker.querySelectorAll("[data-when]")) part.hidden = !part.dataset.when.split(" ").includes(shape);
  };
  const compare = later(() => {
    const query = new URLSearchParams({ part: "compare" });
    for (const name of ["sample", "shape", "confidence", "questions", "failures", "epsilon", "spend", "mu"])
      query.set(name, picker.elements[name].value);
    get(picker.dataset.compare + "?" + query);
  }, 350);
  picker.addEventListener("input", (event) => { shown(); if (event.target.name !== "name") compare(); });
  shown();
}

// A question is estimated while it is written; that spends nothing.
const asking = document.querySelector("[data-estimate]");
if (asking) {
  const place = asking.querySelector("[data-estimated]");
  const get = fetching(place);
  const estimate = later(() => {
    if (!asking.checkValidity()) { place.replaceChildren(); return; }
    const body = new URLSearchParams(new FormData(asking));
    body.set("part", "estimate");
    get(asking.action, { method: "POST", body });
  }, 450);
  asking.addEventListener("input", estimate);
  build(estimate);
  if (asking.checkValidity() && !place.childElementCount) estimate();
}

// The builder writes conditions into the field that was used last; the field stays the truth.
function build(changed) {
  const columns = [...document.querySelectorAll("[data-column]")].map((one) => one.dataset);
  const fields = [...asking.querySelectorAll("[data-expression]")];
  if (!columns.length || !fields.length) return;
  let target = fields[0];
  for (const field of fields) field.addEventListener("focus", () => { target = field; });
  const made = (tag, more = {}) => Object.assign(document.createElement(tag), more);
  const labelled = (text, field) => {
    field.id = "builder-" + text.toLowerCase();
    const box = made("div");
    box.append(made("label", { textContent: text, htmlFor: field.id }), field);
    return box;
  };
  const column = made("select"), sign = made("select"), value = made("input"), add = made("button", { type: "button", textContent: "Add" });
  const values = made("datalist", { id: "builder-values" });
  value.setAttribute("list", "builder-values");
  for (const one of columns) column.append(made("option", { value: one.column, textContent: `${one.column} (${one.kind})` }));
  const signs = {
    text: ["=", "<>", "in", "starts_with", "is null"], boolean: ["is true", "is false", "is null"],
    number: ["<", "<=", "=", ">=", ">", "between", "is null"],
    time: ["<", "<=", "=", ">=", ">", "is null"],
  };
  const times = { date: "2024-12-31", timestamp: "2024-12-31 08:30:00", timestamptz: "2024-12-31 08:30:00+00:00" };
  const chosen = () => columns.find((one) => one.column === column.value);
  const offer = () => {
    const kind = chosen().kind === "integer" ? "number" : chosen().kind in times ? "time" : chosen().kind;
    sign.replaceChildren(...signs[kind].map((one) => made("option", { textContent: one })));
    values.replaceChildren(...chosen().values.split("|").filter(Boolean).map((one) => made("option", { value: one })));
    need();
  };
  const need = () => {
    value.disabled = sign.value.startsWith("is ");
    value.placeholder = { between: "18, 30", in: "basic, pro" }[sign.value] || times[chosen().kind] || "";
  };
  column.addEventListener("change", offer);
  sign.addEventListener("change", need);
  const name = () => /^[A-Za-z_][A-Za-z0-9_]*$/.test(column.value) ? column.value : `"${column.value}"`;
  const quoted = (text) => `'${text.trim().replaceAll("'", "''")}'`;
  const literal = (text) => chosen().kind === "text" ? quoted(text)
    : chosen().kind in times ? `${chosen().kind} ${quoted(text)}` : text.trim();
  const written = () => value.value.split(sign.value === "between" ? /,|\band\b|\bto\b/ : sign.value === "in" ? "," : "\n");
  const wrong = () => {
    if (value.disabled) return "";
    if (written().some((one) => !one.trim())) return "Give a value.";
    if (sign.value === "between" && written().length !== 2) return "Give two numbers, such as 18, 30.";
    const numbers = chosen().kind === "text" || chosen().kind in times || written().every((one) => Number.isFinite(Number(one)));
    return numbers ? "" : `${chosen().column} is a number.`;
  };
  const condition = () => {
    const parts = written();
    switch (sign.value) {
      case "is null": return `${name()} is null`;
      case "is true": return name();
      case "is false": return `not ${name()}`;
      case "between": return `${name()} between ${literal(parts[0])} and ${literal(parts[1])}`;
      case "in": return `${name()} in (${parts.map(literal).join(", ")})`;
      case "starts_with": return `starts_with(${name()}, ${literal(value.value)})`;
      default: return `${name()} ${sign.value} ${literal(value.value)}`;
    }
  };
  const said = made("p", { className: "hint" });
  said.setAttribute("role", "status");
  const put = () => {
    said.textContent = wrong();
    if (said.textContent) { value.focus(); return; }
    const before = target.value.trim();
    target.value = before ? `${before} and ${condition()}` : condition();
    value.value = "";
    target.dispatchEvent(new Event("input", { bubbles: true }));
    changed();
  };
  add.addEventListener("click", put);
  value.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); put(); } });
  const box = made("fieldset", { className: "builder" });
  const row = made("div", { className: "builder-row" });
  row.append(labelled("Column", column), labelled("Is", sign), labelled("Value", value), add, values);
  box.append(made("legend", { textContent: "Build a condition" }), row, said);
  // The builder is outside the form's own fields: nothing of it is sent.
  fields[fields.length - 1].after(box);
  offer();
}
