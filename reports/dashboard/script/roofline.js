// Achieved rate against arithmetic intensity, under the ceilings that the same run measured.

const PREFIX = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
const roofsOf = (device) => report.ceilings.filter((ceiling) => ceiling.value !== null && ceiling.device === device)
  .map((ceiling) => {
    const [, prefix, unit] = /^([kMGTP]?)(B\/s|FLOP\/s)$/.exec(ceiling.unit) || [];
    return { name: words(ceiling.name), unit, value: ceiling.value * (PREFIX[prefix] || 1) };
  }).filter((roof) => roof.unit);

const caseText = (entry) => [
  [middle(entry.title, 60)],
  [entry.provider, time(entry.median_ns)],
  ["", `${rate(entry.tb_per_s * 1e12, "B/s")}, ${rate(entry.tflop_per_s * 1e12, "FLOP/s")}`],
  ...(present(entry.percent) ? [["", `${digits(entry.percent)} % of ${words(entry.ceiling)}`]] : []),
];

const rooflineCard = () => {
  const usable = timed.filter((entry) => entry.bytes > 0 && entry.flops > 0);
  if (usable.length === 0) return null;
  const box = card("Roofline");
  if (!charts) { box.append(noCharts()); return box; }
  const devices = [...new Set(usable.map((entry) => entry.device))];
  // Devices do not share a roof: the one with most cases is shown.
  const count = (device) => usable.filter((entry) => entry.device === device).length;
  const device = devices.reduce((best, name) => count(name) > count(best) ? name : best, devices[0]);
  const points = usable.filter((entry) => entry.device === device)
    .map((entry) => ({ entry, x: entry.flops / entry.bytes, y: entry.tflop_per_s * 1e12 }));
  const roofs = roofsOf(device);
  const slopes = roofs.filter((roof) => roof.unit === "B/s").sort((a, b) => b.value - a.value);
  const tops = roofs.filter((roof) => roof.unit === "FLOP/s");
  const xs = points.map((point) => point.x);
  const ridges = slopes.flatMap((slope) => tops.map((top) => top.value / slope.value));
  const xRange = range([...xs, ...ridges], 2);
  const yRange = range([...points.map((point) => point.y), ...tops.map((top) => top.value)], 2.2);

  const paint = (chart, context) => {
    const px = (x) => chart.valToPos(x, "x", true), py = (y) => chart.valToPos(y, "y", true);
    const most = tops.length > 0 ? Math.max(...tops.map((top) => top.value)) : Infinity;
    const widest = slopes.length > 0 ? Math.max(...slopes.map((slope) => slope.value)) : Infinity;
    context.lineWidth = 1.5 * uPlot.pxRatio;
    context.strokeStyle = theme.colour("soft");
    context.fillStyle = theme.colour("soft");
    context.font = `${11 * uPlot.pxRatio}px Inter, system-ui, sans-serif`;
    context.textBaseline = "bottom";
    const line = (x0, y0, x1, y1) => { context.beginPath(); context.moveTo(px(x0), py(y0)); context.lineTo(px(x1), py(y1)); context.stroke(); };
    for (const top of tops) {
      line(Math.max(xRange[0], widest === Infinity ? 0 : top.value / widest), top.value, xRange[1], top.value);
      context.textAlign = "right";
      context.fillText(`${top.name} ${rate(top.value, top.unit)}`, px(xRange[1]) - 4, py(top.value) - 2);
    }
    for (const [rank, slope] of slopes.entries()) {
      const end = Math.min(xRange[1], most / slope.value);
      line(xRange[0], xRange[0] * slope.value, end, end * slope.value);
      // Written along its line, at the middle of what is in sight: the highest above, the others, often close, below.
      const from = Math.max(xRange[0], yRange[0] / slope.value);
      const x = Math.sqrt(from * end);
      context.save();
      context.translate(px(x), py(x * slope.value));
      context.rotate(Math.atan2(py(end * slope.value) - py(from * slope.value), px(end) - px(from)));
      context.textAlign = "center";
      context.textBaseline = rank === 0 ? "bottom" : "top";
      context.fillText(`${slope.name} ${rate(slope.value, slope.unit)}`, 0, rank === 0 ? -3 : 4 + 13 * (rank - 1) * uPlot.pxRatio);
      context.restore();
    }
  };
  const plot = logPlot({
    height: 360, points, paint, text: caseText,
    label: `Roofline of ${plural(points.length, "case")} on ${device}: achieved rate against arithmetic intensity, both logarithmic. The cases table has the numbers.`,
    x: { range: xRange, label: "FLOP per byte", format: digits },
    y: { range: yRange, label: "FLOP/s", format: (value) => rate(value, "") },
  });
  const missing = roofs.length === 0 ? element("p", { class: "quiet" }, `The run measured no ceiling of ${device}.`) : null;
  box.append(plot.node, legend([...new Set(points.map((point) => point.entry.provider))]), missing || "");
  return box;
};
