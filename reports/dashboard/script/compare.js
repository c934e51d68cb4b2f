// Two reports: a verdict a case, and the interval of each ratio as a forest plot.

const PAIR_KINDS = [
  ["wrong result", "bad", (pair) => pair.change === "wrong"], ["still failing", "bad", (pair) => pair.change === "still_wrong"],
  ["missing", "bad", (pair) => pair.change === "missing"], ["no longer run", "bad", (pair) => pair.change === "unchecked"],
  ["not comparable", "bad", (pair) => pair.speed === "invalid"], ["regressed", "bad", (pair) => pair.speed === "regressed"],
  ["improved", "good", (pair) => pair.speed === "improved"], ["inconclusive", "warn", (pair) => pair.speed === "inconclusive"],
  ["same", "quiet", (pair) => pair.speed === "same"], ["fixed", "good", (pair) => pair.change === "fixed"],
  ["other verdict", "warn", (pair) => pair.change === "changed"], ["new", "quiet", (pair) => pair.change === "added"],
  ["kernel changed", "quiet", (pair) => Boolean(pair.kernels)],
];
const kindOf = (pair) => PAIR_KINDS.find(([, , belongs]) => belongs(pair)) || ["unchanged", "quiet"];

// The forest's axis is the logarithm of the ratio, so that twice as slow lies as far out as twice as fast. It covers the
// estimates; an interval that reaches beyond ends in an arrow.
const forestScale = () => {
  const sizes = pairs.filter((pair) => present(pair.ratio)).map((pair) => Math.abs(Math.log(pair.ratio))).sort((a, b) => a - b);
  const reach = sizes.length > 0 ? sizes[Math.floor(0.98 * (sizes.length - 1))] : 0;
  const limit = [0.05, 0.1, 0.2, 0.4, 0.7, 1.4, 2.4].find((step) => step >= 1.15 * reach) || 3;
  const place = (ratio) => 50 + 50 * Math.log(ratio) / limit;
  const nice = { 0.05: [0.97, 1, 1.03], 0.1: [0.95, 1, 1.05], 0.2: [0.9, 1, 1.1], 0.4: [0.8, 1, 1.25], 0.7: [0.6, 1, 1.6], 1.4: [0.5, 1, 2], 2.4: [0.25, 1, 4], 3: [0.2, 1, 5] };
  return { place, limit, ticks: nice[limit] };
};

const forestCell = (scale, pair) => {
  const inside = (ratio) => Math.min(100, Math.max(0, scale.place(ratio)));
  const margin = comparison.margin;
  const grid = [element("i", { class: "margin", style: { left: `${inside(1 / (1 + margin))}%`, right: `${100 - inside(1 + margin)}%` } }),
    scale.ticks.map((tick) => element("i", { class: tick === 1 ? "zero" : "tick", style: { left: `${scale.place(tick)}%` } }))];
  if (!present(pair.ratio)) return element("div", { class: "forest" }, ...grid);
  const off = (ratio) => scale.place(ratio) < 0 ? "off-low" : scale.place(ratio) > 100 ? "off-high" : "";
  return element("div", { class: `forest ${pair.speed}`, role: "img", "aria-label": `${change(pair.ratio)}, from ${change(pair.low)} to ${change(pair.high)}` }, ...grid,
    element("i", { class: `whisker ${off(pair.low)} ${off(pair.high)}`, style: { left: `${inside(pair.low)}%`, right: `${100 - inside(pair.high)}%` } }),
    element("i", { class: `estimate ${off(pair.ratio)}`, style: { left: `${inside(pair.ratio)}%` } }));
};

const sideCard = (title, side) => element("div", { class: "side" }, element("h3", {}, title), facts([
  ["report", side.name], ["commit", `${commit(side)}${side.branch ? ` (${side.branch})` : ""}`], ["started", `${day(side.started_utc)} UTC`], ["fingerprint", side.fingerprint]]));

const showCompare = (view, state) => {
  if (!comparison) {
    view.append(element("p", { class: "quiet" }, "Nothing to compare with: mla-harness compare BASE.json NEW.json --html out.html, or a directory of reports."));
    return;
  }
  const scale = forestScale();
  const axis = element("div", { class: "forest-head" }, scale.ticks.map((tick) => element("span", { style: { left: `${scale.place(tick)}%` } }, tick === 1 ? "same" : change(tick))));
  const columns = [
    { title: "Case", key: (pair) => pair.title, cell: nameCell, class: "wide" },
    { title: "Provider", width: "92px", key: (pair) => pair.provider, cell: providerCell },
    { title: "Verdict", width: "118px", key: (pair) => PAIR_KINDS.findIndex(([name]) => name === kindOf(pair)[0]), cell: (pair) => { const [name, kind] = kindOf(pair); return badge(name, kind); } },
    { title: "", head: axis, width: "27%", cell: (pair) => forestCell(scale, pair) },
    { title: "Change", width: "78px", number: true, key: (pair) => present(pair.ratio) ? Math.log(pair.ratio) : null, cell: (pair) => present(pair.ratio) ? element("b", {}, change(pair.ratio)) : "" },
    { title: "95 % interval", width: "126px", number: true, key: (pair) => present(pair.ratio) ? Math.log(pair.high / pair.low) : null, cell: (pair) => present(pair.ratio) ? `${change(pair.low).replace(" %", "")} to ${change(pair.high)}` : "" },
    { title: "Base", width: "78px", number: true, key: (pair) => pair.base_ns, cell: (pair) => time(pair.base_ns) },
    { title: "New", width: "78px", number: true, key: (pair) => pair.new_ns, cell: (pair) => time(pair.new_ns) },
    { title: "Launches", width: "86px", number: true, key: (pair) => pair.launches && Math.min(...pair.launches), cell: (pair) => pair.launches ? pair.launches.join(" / ") : "" },
  ];
  const table = new VirtualTable({ label: "Comparison by case", columns, empty: "No case matches the filter.",
    open: (pair) => { const entry = caseOfKey.get(pair.key); if (entry) openDetail(entry); } });
  table.node.id = "compare-table";
  const counted = PAIR_KINDS.map(([name, kind, belongs]) => [name, kind, pairs.filter(belongs).length]).filter(([, , count]) => count > 0);
  const bar = filterBar({
    label: "comparison", placeholder: "Search name, problem\u2026   /", rows: () => pairs, start: state,
    selects: [{ label: "Verdict", values: counted.map(([name]) => name), matches: (pair, name) => PAIR_KINDS.find(([kind]) => kind === name)[2](pair) },
      { label: "Provider", values: [...new Set(pairs.map((pair) => pair.provider))], matches: (pair, provider) => pair.provider === provider }],
    show: (list, values) => { table.set(list); remember("compare", values); },
  });
  const verdictSelect = bar.node.querySelector("select");
  const chips = element("div", { class: "chips" }, counted.map(([name, kind, count]) => element("button", { type: "button", class: `chip ${kind}`, onclick: () => {
    verdictSelect.value = verdictSelect.value === name ? "" : name;
    bar.refresh();
  } }, element("b", {}, count), name)));
  const good = comparison.exit === 0;
  view.append(
    element("div", { class: `card banner ${good ? "good" : "bad"}` }, element("h2", {}, comparison.verdict), chips,
      element("div", { class: "sides" }, sideCard("Base", comparison.base), sideCard("New", comparison.new)),
      comparison.notes.length > 0 ? element("ul", { class: "notes" }, comparison.notes.map((note) => element("li", {}, note))) : ""),
    bar.node, table.node);
  view.search = bar.text;
  // What someone has to act on comes first, the largest change before smaller ones.
  const size = (pair) => present(pair.ratio) ? Math.abs(Math.log(pair.ratio)) : 0;
  const rank = (pair) => { const i = PAIR_KINDS.findIndex(([, , belongs]) => belongs(pair)); return i < 0 ? PAIR_KINDS.length : i; };
  const ranks = new Map(pairs.map((pair) => [pair, rank(pair)]));
  pairs.sort((a, b) => ranks.get(a) - ranks.get(b) || size(b) - size(a));
  bar.refresh();
};
