/** Returns a symbol that breaks only between its parts. */
function symbol(name) {
  const parts = name.split("::").flatMap((part, index) =>
    [...(index ? [element("wbr")] : []), element("span", { className: "symbol" }, (index ? "::" : "") + part)]);
  return element("code", {}, ...parts);
}

/** Returns text that may break after an underscore. */
const breakable = (text) => text.split(/(?<=_)/).flatMap((part) => [part, element("wbr")]);

/** Orders two keys; unknown ones come last in either direction. */
const collator = new Intl.Collator("en", { numeric: true });
function ordered(a, b, direction) {
  if (a == null || b == null) return (a == null) - (b == null);
  return direction * (typeof a === "number" ? a - b : collator.compare(a, b));
}

/**
 * Fills a table with a row for each item; a click on the title of a column sorts by it.
 *
 * A column has a `title`, a `key` to sort by, and a `cell` that returns what is shown, the key by default. `number` aligns it
 * to the right, `className` is that of its cells, and `hint` says what it is. A column without any key is left out. With
 * `details`, which returns elements, rows can be opened. Two rows, and rows whose order matters (`isOrdered`), are not sorted.
 */
function fillTable(table, allColumns, items, details = null, { isOrdered = false } = {}) {
  const columns = allColumns.filter((column, index) => !index || items.some((item) => column.key(item) != null));
  const entries = items.map((item, position) => entryOf(item, position, columns, details));
  const body = table.tBodies[0] ?? table.createTBody(), head = (table.tHead ?? table.createTHead()).insertRow();
  table.classList.add("cards");
  // Where rows are cards, browsers forget what a table is.
  for (const [role, parts] of [["table", [table]], ["rowgroup", [table.tHead, body]], ["row", [head]]]) {
    for (const part of parts) part.setAttribute("role", role);
  }
  const place = () => {
    body.replaceChildren(...entries.flatMap((entry) => entry.details ? [entry.row, entry.details] : [entry.row]));
  };
  let current = null, direction = 1;
  for (const column of columns) {
    const cell = element("th", { scope: "col", role: "columnheader", className: column.number ? "number" : "", title: column.hint ?? "" });
    head.append(cell);
    if (isOrdered || items.length <= 2) {
      cell.append(column.title);
      continue;
    }
    const button = element("button", { type: "button" }, column.title);
    cell.append(button);
    button.addEventListener("click", () => {
      direction = current === column ? -direction : column.number ? -1 : 1;
      current = column;
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      entries.sort((a, b) => ordered(column.key(a.item), column.key(b.item), direction) || a.position - b.position);
      place();
    });
  }
  place();
  return entries;
}
function entryOf(item, position, columns, details) {
  const entry = { item, position, details: null, toggle: () => {} };
  entry.row = element("tr", { className: "row", role: "row" }, ...columns.map((column, index) => {
    const key = column.key(item), content = column.cell ? column.cell(item) : key == null ? "" : String(key);
    const shown = details && !index ? expandable(entry, content, columns.length, () => details(item)) : content;
    const names = [column.number ? "number" : "", column.className ?? ""].join(" ").trim();
    return element("td", { className: names, role: "cell" }, ...(Array.isArray(shown) ? shown : [shown]));
  }));
  inColumns(entry.row, columns.map((column) => column.title));
  return entry;
}
function expandable(entry, label, span, content) {
  const button = element("button", { type: "button", className: "expand" }, element("span", {}, label));
  button.setAttribute("aria-expanded", "false");
  entry.toggle = () => {
    const opens = !entry.details;
    button.setAttribute("aria-expanded", String(opens));
    if (opens) {
      entry.details = element("tr", { className: "details", role: "row" },
        element("td", { colSpan: span, role: "cell" }, ...content()));
      entry.row.after(entry.details);
    } else {
      entry.details.remove();
      entry.details = null;
    }
  };
  button.addEventListener("click", () => entry.toggle());
  return button;
}

/**
 * Adds a search field and a button for each group to the controls of a page; returns what applies them.
 *
 * An entry needs `text`, in lower case, and `group`. `groups` are pairs of a group and the label of its button. Entries in
 * `folded` are shown only if they are searched for, opened, or their group is chosen.
 */
function filterable(entries, groups, folded = null) {
  const field = element("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: false,
    placeholder: "Filter: words, sizes, names … ( / )" });
  field.setAttribute("aria-label", "Filter the rows");
  const chips = element("span", { id: "groups", role: "group" }), count = element("span", { className: "soft", id: "count", role: "status" });
  chips.setAttribute("aria-label", "Show only");
  const nothing = element("p", { id: "nothing", className: "soft", hidden: true }, "No row matches.");
  const controls = byId("controls"), chosen = new Set();
  controls.setAttribute("role", "search");
  controls.append(field, chips, count, nothing);
  const isFolded = entries.some((entry) => entry.group !== folded);
  function apply() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of entries) {
      const isOffered = chosen.size ? chosen.has(entry.group) : words.length || !isFolded || entry.group !== folded || entry.details;
      const fits = Boolean(isOffered) && words.every((word) => entry.text.includes(word));
      entry.row.hidden = !fits;
      if (entry.details) entry.details.hidden = !fits;
      shown += fits;
    }
    count.textContent = shown === entries.length ? "" : `${counted(shown)} of ${counted(entries.length)} shown`;
    nothing.hidden = shown > 0 || !entries.length;
  }
  for (const [name, label] of groups) {
    const chip = element("button", { type: "button", className: "chip" }, label);
    chip.setAttribute("aria-pressed", "false");
    chip.addEventListener("click", () => {
      if (!chosen.delete(name)) chosen.add(name);
      chip.setAttribute("aria-pressed", String(chosen.has(name)));
      apply();
    });
    chips.append(chip, " ");
  }
  field.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && event.target === field) {
      field.value = "";
      apply();
    }
  });
  apply();
  return apply;
}

/** Opens the row of an entry, and moves the focus to it. */
function reveal(entry, apply) {
  if (!entry.details) entry.toggle();
  apply();
  entry.row.hidden = entry.details.hidden = false;
  entry.row.scrollIntoView({ block: "center" });
  entry.row.querySelector("button").focus({ preventScroll: true });
}
