const byId = (name) => document.getElementById(name);

/** Adds to the cells of a row the names of their columns, which are shown where rows are cards; returns the row. */
function inColumns(row, titles) {
  titles.forEach((title, index) => { if (index && title) row.cells[index].dataset.column = title; });
  return row;
}

/** Returns an element; what is no element becomes text, never HTML. */
function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}
