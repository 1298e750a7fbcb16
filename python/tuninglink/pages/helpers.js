const byId = (name) => document.getElementById(name);
const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
const counted = (number) => number.toLocaleString("en-US");
const at = (place) => place ? `${place.file}:${place.line}:${place.column}` : "";
const figure = (value, digits = 3) => value == null ? ""
  : Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumSignificantDigits: digits });

/** Returns a number with three digits, a prefix of the SI and a unit. */
function scaled(number, unit = "") {
  if (number == null) return "";
  const prefixes = ["", "k", "M", "G", "T"];
  let rank = 0;
  for (; number >= 1000 && rank < prefixes.length - 1; rank += 1) number /= 1000;
  return `${Number(number.toPrecision(3))} ${prefixes[rank]}${unit}`.trim();
}

/** Returns a speedup with its interval. */
const interval = (value, bounds) => value == null ? ""
  : `${value.toFixed(2)} [${bounds.map((bound) => typeof bound === "number" ? bound.toFixed(2) : bound).join(", ")}]`;

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

/** Returns the columns for the rates of a dispatch, which `rates` returns for an item. */
function rateColumns(rates) {
  const roofline = "The time that operations or bytes need at the peak rates of the device, whichever is longer, as a share of " +
    "the time; above 100 % if operands stay in a cache. The rates of processors are measured";
  return [
    { title: "GFLOP/s", number: true, key: (item) => rates(item).gflops || null, cell: (item) => figure(rates(item).gflops || null) },
    { title: "GB/s", number: true, key: (item) => rates(item).gbps, cell: (item) => figure(rates(item).gbps) },
    { title: "Roofline", number: true, hint: roofline, key: (item) => rates(item).roofline,
      cell: (item) => rates(item).roofline == null ? "" : percent(rates(item).roofline, rates(item).roofline < .0995 ? 1 : 0) },
  ];
}

/** Returns a sentence on the peak rates of a device. */
function peakText(peaks) {
  const rates = Object.entries(peaks.tflops).map(([name, rate]) => `${scaled(1e12 * rate, "FLOP/s")} ${name}`);
  return `Peak rates of ${peaks.device}: ${[...rates, scaled(1e12 * peaks.tbps, "B/s")].join(", ")} (${peaks.source}).`;
}
