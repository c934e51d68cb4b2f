// Clocks, power and temperature around each case's measurement, where a driver told them: from its first sample to its
// last, in the order of the report, which is the order of the run.

const CLOCK_PARTS = [
  ["Clock", "MHz", (reading) => reading.sm_mhz ?? reading.cpu_mhz],
  ["Memory clock", "MHz", (reading) => reading.memory_mhz],
  ["Power", "W", (reading) => reading.power_w],
  ["Temperature", "\u00b0C", (reading) => reading.temperature_c],
];
const throttles = ({ start, end }) => [...new Set([...(start.throttle || []), ...(end.throttle || [])])];
const fromTo = (unit, from, to) => {
  const known = [from, to].filter(present);
  if (known.length === 0) return "";
  const texts = [...new Set(known.map((value) => digits(value)))];
  return `${texts.join(" \u2192 ")} ${unit}`;
};

// A line a case, from the value before to the value after, which has a dot; throttled cases in the colour of trouble.
const clockStrip = (list, [name, unit, read]) => {
  const values = list.flatMap(({ clocks }) => [read(clocks.start), read(clocks.end)]).filter(present);
  if (values.length === 0) return null;
  const width = 940, height = 120, left = 64, foot = 8;
  const low = Math.min(...values), high = Math.max(...values);
  // At least 4 % of height: readings that differ in their last digit must not look like news.
  const pad = Math.max(0.08 * (high - low), 0.02 * Math.abs(high), 1e-9);
  const y = (value) => foot + (height - 2 * foot) * (1 - (value - low + pad) / (high - low + 2 * pad));
  const x = (i) => left + (width - left - 8) * (i + 0.5) / list.length;
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "strip clocks", role: "img",
    "aria-label": `${name} of ${plural(list.length, "case")}, from ${digits(low)} to ${digits(high)} ${unit}. The table below has the numbers.` });
  for (const value of low === high ? [low] : [low, high]) {
    chart.append(svg("line", { x1: left, x2: width, y1: y(value), y2: y(value), class: "axis" }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, digits(value)));
  }
  list.forEach((entry, i) => {
    const from = read(entry.clocks.start), to = read(entry.clocks.end);
    if (!present(from) && !present(to)) return;
    const colour = throttles(entry.clocks).length > 0 ? "var(--bad)" : `var(--s${seat(entry.provider)})`;
    const group = svg("g", { class: "reading", onclick: () => openDetail(entry) },
      svg("title", {}, `${entry.title} @${entry.provider}: ${fromTo(unit, from, to)}`));
    if (present(from) && present(to)) {
      group.append(svg("line", { x1: x(i), x2: x(i), y1: y(from), y2: y(to), stroke: colour, "stroke-width": 2 }));
    }
    group.append(svg("circle", { cx: x(i), cy: y(present(to) ? to : from), r: list.length > 200 ? 2 : 3.5, fill: colour }));
    chart.append(group);
  });
  return element("figure", { class: "clock-strip" }, element("figcaption", {}, `${name}, ${unit}`), chart);
};

const clocksTable = (list) => {
  const shown = CLOCK_PARTS.filter(([, , read]) => list.some(({ clocks }) => present(read(clocks.start)) || present(read(clocks.end))));
  const table = new VirtualTable({ label: "Clocks by case", rowHeight: 40, open: openDetail, columns: [
    { title: "Case", key: (entry) => entry.title, cell: (entry) => element("span", {}, dot(entry.provider), ` ${entry.title} `, element("small", {}, entry.provider)) },
    ...shown.map(([name, unit, read]) => ({ title: name, width: "170px", number: true, key: (entry) => read(entry.clocks.end) ?? null,
      cell: (entry) => fromTo(unit, read(entry.clocks.start), read(entry.clocks.end)) })),
    { title: "Held down by", width: "170px", key: (entry) => throttles(entry.clocks).join(", "),
      cell: (entry) => throttles(entry.clocks).map((reason) => badge(words(reason), "warn")) },
  ] });
  table.node.id = "clocks-table";
  table.set(list);
  return table.node;
};

const clocksCard = () => {
  if (timed.length === 0) return null;
  const list = timed.filter((entry) => entry.clocks);
  const told = [...new Set(list.map((entry) => entry.clocks.source))].join(", ");
  const held = list.filter((entry) => throttles(entry.clocks).length > 0).length;
  const text = list.length === 0 ? "No driver told clocks, power or temperature while these cases were measured."
    : `Told by ${told} for ${list.length.toLocaleString("en")} of ${plural(timed.length, "measured case")}; `
      + (held === 0 ? "nothing held a clock down." : `something held the clock down in ${held.toLocaleString("en")}, drawn in red.`);
  const box = card("Clocks", element("p", { class: "quiet" }, text), list.length > 0 ? [...CLOCK_PARTS.map((part) => clockStrip(list, part)), clocksTable(list)] : null);
  box.classList.add("wide");
  box.id = "clocks";
  return box;
};
