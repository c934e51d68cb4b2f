// One case over many runs: medians with their intervals, levels, lasting changes, runs in which it was not right.

const trendPlot = (group, series, height, byDate = false) => {
  if (!charts) return null;
  const { runs } = group;
  const xs = runs.map((run, i) => byDate ? Date.parse(run.started_utc) / 1000 : i);
  const value = (i) => series.medians[i] > 0 ? series.medians[i] : null;
  const ys = xs.map((_, i) => value(i));
  const lows = ys.map((y, i) => y === null ? null : y * (1 - series.widths[i] / 1000));
  const highs = ys.map((y, i) => y === null ? null : y * (1 + series.widths[i] / 1000));
  const wrong = xs.map((_, i) => series.verdicts[i] !== 255 && WRONG.has(data.verdicts[series.verdicts[i]]));
  const known = ys.filter((y) => y !== null);
  if (known.length === 0) return null;
  const extent = () => {
    const low = Math.min(...lows.filter((y) => y !== null)), high = Math.max(...highs.filter((y) => y !== null));
    // At least 8 % of height: noise must not look like news.
    const middle = (low + high) / 2;
    const half = Math.max(0.58 * (high - low), 0.04 * middle);
    return [middle - half, middle + half];
  };
  const yRange = extent();
  const end = xs.length === 1 ? [xs[0] - 1, xs[0] + 1] : [xs[0] - (xs[xs.length - 1] - xs[0]) * 0.015, xs[xs.length - 1] + (xs[xs.length - 1] - xs[0]) * 0.015];

  const paintSteps = (chart) => {
    const { ctx: context, bbox } = chart;
    const px = (x) => chart.valToPos(x, "x", true), py = (y) => chart.valToPos(y, "y", true);
    const ratio = uPlot.pxRatio;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    const bounds = [0, ...series.steps.map(([run]) => run), runs.length];
    const edge = (run) => run <= 0 ? end[0] : run >= runs.length ? end[1] : (xs[run - 1] + xs[run]) / 2;
    context.lineWidth = 2 * ratio;
    context.strokeStyle = theme.faded("ink", 0.5);
    series.levels.forEach((level, i) => {
      context.beginPath();
      context.moveTo(px(edge(bounds[i])), py(level));
      context.lineTo(px(edge(bounds[i + 1])), py(level));
      context.stroke();
    });
    context.font = `600 ${11.5 * ratio}px Inter, system-ui, sans-serif`;
    context.textBaseline = "top";
    let free = -Infinity;
    for (const [run, size, accepted] of series.steps) {
      const colour = theme.colour(STEP_TONE(size, accepted));
      const x = px(edge(run));
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.lineWidth = 1.25 * ratio;
      context.setLineDash([4 * ratio, 3 * ratio]);
      context.beginPath();
      context.moveTo(x, bbox.top);
      context.lineTo(x, bbox.top + bbox.height);
      context.stroke();
      context.setLineDash([]);
      const text = `${change(size)}${accepted ? " accepted" : ""}`;
      const width = context.measureText(text).width;
      const left = x + 5 * ratio + width > bbox.left + bbox.width;
      // A label that would lie on the one before it goes without saying.
      if (left || x > free) {
        context.textAlign = left ? "right" : "left";
        context.fillText(text, x + (left ? -5 : 5) * ratio, bbox.top + 4 * ratio);
        if (!left) free = x + width + 10 * ratio;
      }
    }
    context.strokeStyle = theme.colour("bad");
    context.lineWidth = 1.75 * ratio;
    wrong.forEach((bad, i) => {
      if (!bad) return;
      const x = px(xs[i]), y = bbox.top + bbox.height - 9 * ratio, r = 4 * ratio;
      context.beginPath();
      context.moveTo(x - r, y - r); context.lineTo(x + r, y + r); context.moveTo(x + r, y - r); context.lineTo(x - r, y + r);
      context.stroke();
    });
    context.restore();
  };

  const describe = (i) => {
    const run = runs[i];
    const lines = [[`${day(run.started_utc)} UTC`], ["commit", `${commit(run)}${run.branch ? ` (${run.branch})` : ""}`]];
    if (ys[i] !== null) lines.push(["median", `${time(ys[i])} \u00b1 ${digits(series.widths[i] / 10)} %`]);
    else lines.push(["", series.verdicts[i] === 255 ? "not in this run" : words(data.verdicts[series.verdicts[i]])]);
    const step = series.steps.find(([first]) => first === i);
    if (step) lines.push([step[1] > 1 ? "slower" : "faster", `${change(step[1])} from here on${step[2] ? `; accepted: ${step[2]}` : ""}`]);
    return lines;
  };
  const few = xs.length <= 160;
  const colour = () => colourOf(series.provider);
  const plot = new Plot({
    height, values: [xs, ys, lows, highs],
    label: `Median time of ${series.key} over ${plural(runs.length, "run")}; ${series.steps.length === 0 ? "no lasting change" : plural(series.steps.length, "lasting change")}`,
    options: () => ({
      padding: [6, 12, 0, 0],
      scales: { x: { time: byDate, range: (chart, low, high) => low === high || high - low >= xs[xs.length - 1] - xs[0] ? end : [low, high] }, y: { range: () => yRange } },
      axes: [
        axisStyle(byDate ? { size: 42 } : { size: 30, values: (chart, splits) => splits.map((i) => Number.isInteger(i) && runs[i] ? runs[i].started_utc.slice(5, 10) : ""), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000] }),
        axisStyle({ size: 70, values: (chart, splits) => splits.map((y) => short(time(y))) }),
      ],
      series: [{},
        { stroke: colour, width: few ? 1.5 : 1, spanGaps: false, points: { show: few, size: 5, fill: colour, stroke: colour } },
        { stroke: "transparent", width: 0, points: { show: false } }, { stroke: "transparent", width: 0, points: { show: false } }],
      bands: [{ series: [3, 2], fill: () => theme.faded(`s${seat(series.provider)}`, 0.18) }],
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 9, fill: colour, stroke: () => theme.colour("card") } },
      hooks: { draw: [paintSteps] },
    }),
    ready: (chart) => {
      chart.over.addEventListener("mousemove", (event) => {
        const i = chart.cursor.idx;
        if (present(i)) tip.show(event.clientX, event.clientY, describe(i));
      });
      chart.over.addEventListener("mouseleave", () => tip.hide());
    },
  });
  return plot;
};
