// Plots on uPlot's axes. Without the library in the page there are none, and the views say so.

const charts = data.charts !== "" && typeof uPlot === "function";
const FONT = "12px Inter, system-ui, sans-serif";

const axisStyle = (extra) => ({
  stroke: () => theme.colour("soft"),
  grid: { stroke: () => theme.colour("line"), width: 1 },
  ticks: { show: false },
  border: { show: false },
  font: FONT, labelFont: FONT, labelSize: 20, gap: 6,
  ...extra,
});

// A mark of about `size` pixels around a place; the shape tells the provider where its colour cannot.
const mark = (context, shape, x, y, size) => {
  const r = size / 2;
  context.beginPath();
  if (shape === "square") context.rect(x - r * 0.88, y - r * 0.88, r * 1.76, r * 1.76);
  else if (shape === "triangle") { context.moveTo(x, y - r * 1.15); context.lineTo(x + r * 1.05, y + r * 0.8); context.lineTo(x - r * 1.05, y + r * 0.8); context.closePath(); }
  else if (shape === "diamond") { context.moveTo(x, y - r * 1.25); context.lineTo(x + r * 1.25, y); context.lineTo(x, y + r * 1.25); context.lineTo(x - r * 1.25, y); context.closePath(); }
  else if (shape === "cross") { const a = r * 0.36; context.rect(x - r, y - a, 2 * r, 2 * a); context.rect(x - a, y - r, 2 * a, 2 * r); }
  else context.arc(x, y, r, 0, 7);
  context.fill();
};

class Plot {
  // `options(width, height)` gives uPlot's options and `values` its data; made again when the colours change.
  constructor({ height, label, options, values, ready }) {
    this.node = element("div", { class: "plot", role: "img", "aria-label": label, style: { height: `${height}px` } });
    Object.assign(this, { height, options, values, ready, chart: null });
    if (!charts) return;
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(this.node);
    this.repaint = () => { if (this.chart) this.chart.redraw(false, true); };
    theme.listeners.add(this.repaint);
  }

  fit() {
    const width = Math.floor(this.node.clientWidth);
    if (width < 50) return;
    if (this.chart) {
      this.chart.setSize({ width, height: this.height });
    } else {
      this.chart = new uPlot({ width, height: this.height, legend: { show: false }, ...this.options() }, this.values, this.node);
      if (this.ready) this.ready(this.chart);
    }
  }

  close() {
    if (!charts) return;
    this.watch.disconnect();
    theme.listeners.delete(this.repaint);
    if (this.chart) this.chart.destroy();
    this.node.remove();
  }
}

// The nearest of `points` ({x, y} in the plot's units) within reach of the pointer.
const nearest = (chart, points, xScale = "x", yScale = "y") => {
  const { left, top } = chart.cursor;
  let best = null, least = 18 * 18;
  for (const point of points) {
    const dx = chart.valToPos(point.x, xScale) - left;
    const dy = chart.valToPos(point.y, yScale) - top;
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
};

const range = (values, factor) => [values.reduce((a, b) => Math.min(a, b)) / factor, values.reduce((a, b) => Math.max(a, b)) * factor];
const paintPoint = (chart, context, point, size, x = chart.valToPos(point.x, "x", true), y = chart.valToPos(point.y, "y", true)) => {
  context.fillStyle = colourOf(point.entry.provider);
  mark(context, MARKS[seat(point.entry.provider)], x, y, size * uPlot.pxRatio);
};

// Points on two logarithmic axes; pointing at one shows its text, a click opens its case.
const logPlot = ({ height, label, x, y, points, paint, text }) => {
  let hot = null;
  const drawAll = (chart) => {
    const { ctx: context, bbox } = chart;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    paint(chart, context, hot);
    context.globalAlpha = points.length > 400 ? 0.65 : 0.85;
    for (const point of points) paintPoint(chart, context, point, 8);
    context.globalAlpha = 1;
    if (hot) {
      paintPoint(chart, context, hot, 13);
      context.strokeStyle = theme.colour("card");
      context.lineWidth = 2;
      context.stroke();
    }
    context.restore();
  };
  const plot = new Plot({
    height, label, values: [x.range, y.range],
    options: () => ({
      padding: [12, 14, 0, 0],
      scales: { x: { time: false, distr: 3, log: x.log || 10, range: () => x.range }, y: { distr: 3, log: 10, range: () => y.range } },
      axes: [x, y].map((axis, i) => axisStyle({
        label: axis.label, labelGap: 2, size: i === 0 ? 28 : 58,
        splits: () => (axis.log === 2 ? powersOfTwo : decades)(...axis.range, 10), filter: (chart, splits) => splits,
        values: (chart, splits) => splits.map((value) => short(axis.format(value))),
      })),
      series: [{}, { show: false }],
      cursor: { x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
      hooks: { draw: [drawAll] },
    }),
    ready: (chart) => {
      chart.over.addEventListener("mousemove", (event) => {
        const found = nearest(chart, points);
        chart.over.style.cursor = found ? "pointer" : "default";
        if (found) tip.show(event.clientX, event.clientY, text(found.entry));
        else tip.hide();
        if (found !== hot) {
          hot = found;
          chart.redraw(false, false);
        }
      });
      chart.over.addEventListener("mouseleave", () => { hot = null; tip.hide(); chart.redraw(false, false); });
      chart.over.addEventListener("click", () => { if (hot) openDetail(hot.entry); });
    },
  });
  return plot;
};

// Marks of a logarithmic axis: one, two and five of each decade while they have room, else whole decades.
const decades = (low, high, most) => {
  const list = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power) {
    for (const digit of [1, 2, 5]) list.push(digit * 10 ** power);
  }
  const inside = list.filter((value) => value >= low && value <= high);
  return inside.length <= most ? inside : inside.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9);
};
const powersOfTwo = (low, high, most) => {
  const list = [];
  for (let power = Math.ceil(Math.log2(low)); 2 ** power <= high; ++power) list.push(2 ** power);
  const step = Math.ceil(list.length / most);
  return list.filter((_, i) => i % step === 0);
};

const legend = (names) => element("div", { class: "legend" }, names.map((name) => element("span", {}, dot(name), name)));
const noCharts = () => element("p", { class: "quiet" }, "This page was made by a build without the chart library; its tables hold every number.");
