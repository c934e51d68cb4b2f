// Median time against the longest context, by provider. Points of one line differ in their context alone.

const CONTEXT_AXES = new Set(["kv", "kv_max", "tokens_kv", "seed"]);
const contextLines = (points) => {
  const lines = new Map();
  for (const point of points) {
    const rest = Object.entries(point.entry.axes).filter(([name]) => !CONTEXT_AXES.has(name));
    const key = JSON.stringify([point.entry.provider, rest]);
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push(point);
  }
  return [...lines.values()].map((line) => line.sort((a, b) => a.x - b.x));
};

const latencyCard = () => {
  const all = timed.filter((entry) => entry.axes.kv_max > 0).map((entry) => ({ entry, x: entry.axes.kv_max, y: entry.median_ns }));
  if (all.length === 0) return null;
  const box = card("Latency against context");
  if (!charts) { box.append(noCharts()); return box; }
  const host = element("div");
  let plot = null;
  const show = (points) => {
    if (plot) plot.close();
    const lines = contextLines(points);
    const paint = (chart, context, hot) => {
      for (const line of lines) {
        const lit = hot && line.includes(hot);
        context.globalAlpha = lit ? 1 : hot ? 0.15 : 0.4;
        context.lineWidth = (lit ? 2.5 : 1.5) * uPlot.pxRatio;
        context.strokeStyle = colourOf(line[0].entry.provider);
        context.beginPath();
        for (const point of line) context.lineTo(chart.valToPos(point.x, "x", true), chart.valToPos(point.y, "y", true));
        context.stroke();
      }
    };
    plot = logPlot({
      height: 360, points, paint, text: caseText,
      label: `Median time of ${plural(points.length, "case")} against the longest context, both logarithmic. The cases table has the numbers.`,
      x: { range: range(points.map((point) => point.x), 1.5), log: 2, label: "longest context, tokens", format: tokens },
      y: { range: range(points.map((point) => point.y), 1.7), format: time },
    });
    host.replaceChildren(plot.node);
  };
  const choices = ["dtype", "h", "b", "q"].map((name) => ({ name, values: [...new Set(all.map((point) => `${point.entry.axes[name]}`))] }))
    .filter(({ values }) => values.length > 1 && values.length <= 24);
  const boxes = choices.map(({ name, values }) => element("select", { "aria-label": name }, element("option", { value: "" }, `${name}: all`),
    values.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).map((value) => element("option", { value }, `${name} = ${middle(value, 20)}`))));
  const refresh = () => {
    const points = all.filter((point) => boxes.every((select, i) => !select.value || `${point.entry.axes[choices[i].name]}` === select.value));
    if (points.length > 0) show(points);
    else host.replaceChildren(element("p", { class: "quiet" }, "No measured case has these values."));
  };
  boxes.forEach((select) => select.addEventListener("input", refresh));
  box.querySelector("h2").after(element("div", { class: "filters small" }, boxes));
  box.append(host, legend([...new Set(all.map((point) => point.entry.provider))]));
  refresh();
  return box;
};
