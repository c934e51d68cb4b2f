// A case's history in a table cell: the medians, a gap where a run has none, a mark where its level changed.

const STEP_TONE = (ratio, accepted) => accepted ? "faint" : ratio > 1 ? "bad" : "good";

const sparkline = (series, width = 120, height = 28) => {
  const canvas = element("canvas", { class: "spark", "aria-hidden": "true" });
  const paint = () => {
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const values = series.medians;
    let low = Infinity, high = -Infinity, last = -1;
    values.forEach((value, i) => {
      if (!(value > 0)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
      last = i;
    });
    if (last < 0) return;
    // At least 8 % of height: noise must not look like news.
    const middle = (low + high) / 2;
    const half = Math.max((high - low) / 2, 0.04 * middle);
    const x = (i) => 3 + (width - 7) * (values.length > 1 ? i / (values.length - 1) : 0.5);
    const y = (value) => height / 2 - (value - middle) / half * (height / 2 - 4);
    for (const [run, ratio, accepted] of series.steps) {
      context.strokeStyle = theme.faded(STEP_TONE(ratio, accepted), 0.55);
      context.beginPath();
      context.moveTo(x(run - 0.5), 1);
      context.lineTo(x(run - 0.5), height - 1);
      context.stroke();
    }
    context.strokeStyle = theme.colour("soft");
    context.lineWidth = 1.25;
    context.lineJoin = "round";
    context.beginPath();
    let pen = false;
    values.forEach((value, i) => {
      if (value > 0) context[pen ? "lineTo" : "moveTo"](x(i), y(value));
      pen = value > 0;
    });
    context.stroke();
    context.fillStyle = colourOf(series.provider);
    context.beginPath();
    context.arc(x(last), y(values[last]), 2.4, 0, 7);
    context.fill();
  };
  paint();
  canvas.repaint = paint;
  return canvas;
};
theme.listeners.add(() => document.querySelectorAll("canvas.spark").forEach((canvas) => canvas.repaint()));

const stepBadge = (series) => {
  if (!series || !series.last) return series && present(series.unconfirmed) ? badge(`${change(series.unconfirmed)} once`, "quiet") : "";
  const [, ratio, accepted] = series.last;
  const node = badge(change(ratio), accepted ? "quiet" : ratio > 1 ? "bad" : "good");
  node.title = accepted ? `accepted: ${accepted}` : "last lasting change";
  return node;
};
