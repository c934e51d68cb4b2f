// One case, whole: a panel beside the view. Escape closes it and gives the focus back.

let detailFrom = null;
let detailPlot = null;

const sampleStrip = (entry) => {
  const launches = entry.samples;
  const width = 440, row = launches.length > 8 ? 12 : 22, left = 26, height = launches.length * row + 22;
  const most = Math.max(20, ...launches.flat().map(Math.abs)) * 1.05;
  const x = (value) => left + (width - left - 8) * (value + most) / (2 * most);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "strip", role: "img",
    "aria-label": `Spread of ${entry.sample_count} samples in ${plural(launches.length, "launch").replace("launchs", "launches")}` });
  chart.append(svg("line", { x1: x(0), x2: x(0), y1: 0, y2: height - 18, class: "axis" }));
  launches.forEach((samples, i) => {
    const y = i * row + row / 2;
    chart.append(svg("text", { x: 0, y: y + 4 }, `${i + 1}`));
    samples.forEach((sample, k) => chart.append(svg("circle", { cx: x(sample).toFixed(1),
      cy: (y + (samples.length > 1 ? (k / (samples.length - 1) - 0.5) * (row - 8) : 0)).toFixed(1), r: 2.1, fill: `var(--s${seat(entry.provider)})` })));
  });
  const label = (value, anchor) => svg("text", { x: x(value), y: height - 3, "text-anchor": anchor }, value === 0 ? "median" : change(1 + value / 1e4));
  const end = most / 1.05;
  chart.append(label(-end, "start"), label(0, "middle"), label(end, "end"));
  return chart;
};

const bars = (rows) => element("div", { class: "bars" }, rows.map(([label, share, text, kind]) => element("div", { class: "bar-row" },
  element("span", {}, label), element("i", { class: `meter ${kind || ""}` }, element("b", { style: { width: `${Math.min(100, Math.max(1, 100 * share))}%` } })), element("span", { class: "number" }, text))));

const placeOf = (worst) => Object.entries(worst.index).filter(([, value]) => value >= 0).map(([name, value]) => `${name} ${value}`).join(", ");

const detailParts = (entry) => {
  const parts = [repeat(entry)];
  if (entry.reason) parts.unshift(element("p", { class: `reason ${tone(entry.verdict)}` }, `${entry.reason[0]}: ${entry.reason[1]}`));
  if (present(entry.median_ns)) {
    parts.push(element("div", { class: "numbers" },
      [["median", time(entry.median_ns)], ["bandwidth", rate(entry.tb_per_s * 1e12, "B/s")], ["rate", rate(entry.tflop_per_s * 1e12, "FLOP/s")],
        ...(present(entry.percent) ? [[`of ${words(entry.ceiling)}`, `${digits(entry.percent)} %`]] : []),
        ...(present(entry.speedup) ? [[`over ${entry.baseline}`, `${digits(entry.speedup)}\u00d7`]] : [])]
        .map(([label, value]) => element("div", {}, element("b", {}, value), element("span", {}, label)))));
  }
  if (entry.series && entry.series.medians.length > 1) {
    const chart = trendPlot(ownGroup, entry.series, 210);
    if (chart) { detailPlot = chart; parts.push(element("h3", {}, "History"), chart.node); }
  }
  if (present(entry.median_ns)) {
    parts.push(element("h3", {}, `Samples by launch, against the median`), sampleStrip(entry));
    if (entry.stages.length > 0) {
      const most = Math.max(...entry.stages.map(([, ns]) => ns));
      parts.push(element("h3", {}, "Stages"), bars(entry.stages.map(([stage, ns]) => [words(stage), ns / most, time(ns)])));
    }
  }
  if (entry.tiers.length > 0) {
    parts.push(element("h3", {}, "Error against its bound"), bars(entry.tiers.map(([name, verdict, ratio]) =>
      [name, ratio || 0, present(ratio) ? digits(ratio) : verdict, verdict === "failed" ? "bad" : "good"])));
    if (entry.worst) {
      parts.push(element("p", { class: "quiet" }, `Worst element: ${placeOf(entry.worst)}; got ${entry.worst.got}, reference ${entry.worst.ref}.`));
    }
  }
  parts.push(element("h3", {}, "Case"), facts([
    ["kernel", (entry.kernel || []).filter(Boolean).join(" \u00b7 ")],
    ["device", entry.device], ["suites", [...new Set(entry.suites)].join(", ")],
    ["timer", present(entry.timer) ? `${words(entry.timer)}, cache ${entry.cache}` : null],
    ["work", present(entry.bytes) ? `${bytes(entry.bytes)}, ${scaled(entry.flops, [[1e12, "TFLOP"], [1e9, "GFLOP"], [1e6, "MFLOP"], [1, "FLOP"]])}, bound by ${entry.bound || "an unknown ceiling"}` : null],
    ["inputs", entry.input_digest], ["safety", entry.safety],
    ...Object.entries(entry.axes).filter(([, value]) => value !== null).map(([name, value]) => [name, middle(`${value}`, 120)]),
  ]));
  return parts;
};

const closeDetail = () => {
  if (at("detail").hidden) return;
  at("detail").hidden = true;
  document.body.classList.remove("with-detail");
  if (detailPlot) detailPlot.close();
  detailPlot = null;
  if (detailFrom && detailFrom.isConnected) detailFrom.focus({ preventScroll: true });
};

const openDetail = (entry, from = document.activeElement) => {
  const pane = at("detail");
  if (pane.hidden) detailFrom = from;
  if (detailPlot) detailPlot.close();
  detailPlot = null;
  pane.replaceChildren(
    element("header", {}, element("div", {}, element("h2", { id: "detail-title" }, entry.title),
      element("p", {}, dot(entry.provider), entry.provider, " ", verdictBadge(entry.verdict))),
    element("button", { type: "button", class: "ghost", "aria-label": "Close the case", onclick: closeDetail }, "\u2715")),
    element("div", { class: "body" }, detailParts(entry)));
  pane.hidden = false;
  document.body.classList.add("with-detail");
  pane.focus({ preventScroll: true });
};
document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeDetail(); });
