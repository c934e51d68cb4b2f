"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const cases = data.cases;
  const at = (id) => document.getElementById(id);

  // Every text goes through textContent or setAttribute: nothing of a report is ever read as HTML.
  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") node.className = value;
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const svg = (tag, attributes = {}, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  const WRONG = new Set(["failed", "mistrusted", "crashed", "timeout"]);
  const alarming = (entry) => WRONG.has(entry.verdict) || entry.verdict === "unexpected_pass";
  const tone = (verdict) => verdict === "passed" ? "good"
    : WRONG.has(verdict) || verdict === "unexpected_pass" ? "bad" : "warn";
  const badge = (verdict) => element("span", { class: `badge ${tone(verdict)}` }, verdict.replace("_", " "));

  const digits = (value) => {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
    return size >= 100 ? value.toFixed(0) : value.toPrecision(3);
  };
  const time = (ns) => {
    if (ns === null || ns === undefined) return "";
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
    const [scale, unit] = units.find(([size]) => Math.abs(ns) >= 0.9995 * size) || units[3];
    return `${digits(ns / scale)} ${unit}`;
  };
  const trimmed = (text) => text.replace(/\.0+(?= |$)/, "");
  const tokens = (count) => count >= 1024 && count % 1024 === 0 ? `${count / 1024}k` : `${count}`;
  const middle = (text, length) => text.length <= length ? text
    : `${text.slice(0, Math.ceil(length * 0.65) - 1)}\u2026${text.slice(text.length - Math.floor(length * 0.35))}`;

  // A CPU's rates in units of a GPU's would be all zeros: one unit a page, chosen by the largest value.
  const unit = (field, large, small) => {
    const most = cases.reduce((largest, entry) => Math.max(largest, entry[field] || 0), 0);
    const [name, factor] = most > 0 && most < 0.5 ? [small, 1e3] : [large, 1];
    for (const entry of cases) if (entry[field] !== null) entry[field] *= factor;
    return name;
  };
  const BANDWIDTH = unit("tb_per_s", "TB/s", "GB/s");
  const RATE = unit("tflop_per_s", "TFLOP/s", "GFLOP/s");

  const providers = [...new Set(cases.map((entry) => entry.provider))];
  const colour = (provider) => `var(--s${Math.min(providers.indexOf(provider), 5)})`;

  // Pages opened from a file may have no clipboard interface; where both ways fail the text is at least selected.
  const copy = async (node) => {
    getSelection().selectAllChildren(node);
    try {
      await navigator.clipboard.writeText(node.textContent);
      return true;
    } catch {
      return document.execCommand("copy");
    }
  };
  const command = (entry) => {
    const code = element("code", {}, entry.repro);
    const button = element("button", { type: "button", "aria-label": `Copy the command of ${entry.key}` }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = await copy(code) ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return element("div", { class: "command" }, code, button);
  };
  const facts = (pairs) => element("dl", {}, ...pairs.filter(([, value]) => value)
    .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`))));

  const showHeader = () => {
    const { run, environment } = data;
    at("status").append(element("span", { class: `badge ${run.status === "complete" ? "good" : "warn"}` }, run.status));
    at("run-line").textContent = `${run.id} \u00b7 started ${run.started_utc.replace("T", " ").replace("Z", " UTC")}`;
    const commit = run.git.sha ? `${run.git.sha.slice(0, 12)}${run.git.dirty ? " + uncommitted changes" : ""} ${run.git.branch ? `(${run.git.branch})` : ""}` : "none";
    const ceilings = data.ceilings.filter((ceiling) => ceiling.value !== null)
      .map((ceiling) => `${ceiling.name} ${digits(ceiling.value)} ${ceiling.unit}`).join(", ");
    at("facts").replaceWith(facts([
      ["commit", commit], ["command", run.argv.join(" ")],
      ["build", `${run.build.compiler}, ${run.build.type}, ${run.build.flags}`],
      ["mode", `${run.mode}, seed ${data.seed}${run.shard.count > 1 ? `, shard ${run.shard.index} of ${run.shard.count}` : ""}`],
      ["host", `${environment.host}, ${environment.os}`],
      ["cpu", `${environment.cpu.model}, ${environment.cpu.cores} cores`],
      ["gpu", environment.gpu ? environment.gpu.name : ""],
      ["libraries", Object.entries(environment.libraries).map(([name, version]) => `${name} ${version}`).join(", ")],
      ["ceilings", ceilings], ["fingerprint", environment.fingerprint],
    ]));
    const notes = data.warnings.map((warning) => element("p", {}, warning));
    at("footer").append(...notes, `Report schema ${data.schema.version}, harness ${run.version}.`);
  };

  const showTiles = () => {
    const count = (...verdicts) => verdicts.reduce((sum, verdict) => sum + data.counts[verdict], 0);
    const wrong = count("failed", "mistrusted", "crashed", "timeout", "unexpected_pass");
    const tile = (value, label, kind = "") =>
      element("div", { class: `tile ${kind}` }, element("b", {}, `${value}`), element("span", {}, label));
    const tiles = [
      tile(cases.length, cases.length === 1 ? "case" : "cases"),
      tile(count("passed"), "passed", "good"),
      tile(wrong, "not right", wrong > 0 ? "bad" : ""),
      tile(count("skipped", "unimplemented"), "not run"),
    ];
    if (count("known_failure") > 0) tiles.push(tile(count("known_failure"), "known failures", "warn"));
    const best = cases.filter((entry) => entry.percent !== null).sort((a, b) => b.percent - a.percent)[0];
    if (best) tiles.push(tile(`${digits(best.percent)} %`, `of ceiling at best (${best.provider})`));
    for (const [provider, mean] of meanSpeedups()) tiles.push(tile(`${digits(mean.value)}\u00d7`, `${provider} over ${mean.baseline}, geometric mean`));
    tiles.push(tile(time(data.elapsed_s * 1e9) || "0 s", "elapsed"));
    at("tiles").append(...tiles);
  };

  const meanSpeedups = () => {
    const sums = new Map();
    for (const entry of cases) {
      if (!entry.speedup) continue;
      const name = `${entry.provider}\n${entry.speedup.baseline}`;
      const sum = sums.get(name) || { baseline: entry.speedup.baseline, logs: 0, count: 0, provider: entry.provider };
      sum.logs += Math.log(entry.speedup.value);
      sum.count += 1;
      sums.set(name, sum);
    }
    return [...sums.values()].slice(0, 2)
      .map((sum) => [sum.provider, { value: Math.exp(sum.logs / sum.count), baseline: sum.baseline }]);
  };

  const showFailures = () => {
    const failing = cases.filter(alarming);
    if (failing.length === 0) return;
    at("failures").hidden = false;
    const card = (entry) => element("article", { class: "failure" },
      element("div", {}, badge(entry.verdict), " ", element("code", { title: entry.problem }, `${middle(entry.name, 100)} @${entry.provider}`)),
      entry.reason ? element("p", {}, `${entry.reason.kind}: ${entry.reason.message}`) : null, command(entry));
    at("failure-list").append(...failing.slice(0, 50).map(card));
    if (failing.length > 50) at("failure-list").append(element("p", {}, `${failing.length - 50} more in the table below.`));
  };

  // --- charts ---------------------------------------------------------------------------------------------------------

  const timed = cases.filter((entry) => entry.median_ns !== null);
  const MEASURES = [[RATE, "tflop_per_s"], [BANDWIDTH, "tb_per_s"], ["% of ceiling", "percent"]];
  const MAX_BARS = 120;

  const showThroughput = (label, field) => {
    const problems = new Map();
    for (const entry of timed) {
      if (entry[field] === null) continue;
      if (!problems.has(entry.problem)) problems.set(entry.problem, []);
      problems.get(entry.problem).push(entry);
    }
    const groups = [...problems.values()];
    let bars = 0;
    const shown = groups.filter((group) => (bars += group.length) <= MAX_BARS);
    const left = 210, width = 640, right = 64, bar = 14, gap = 10;
    const most = Math.max(...shown.flat().map((entry) => entry[field]), 1e-12);
    const height = shown.reduce((sum, group) => sum + group.length * bar + gap, 24);
    const scale = (value) => (width - left - right) * value / most;
    const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `${label} of ${shown.length} problems; the table below has the numbers` });
    let y = 4;
    for (const group of shown) {
      const name = svg("text", { x: left - 8, y: y + group.length * bar / 2 + 4, "text-anchor": "end" }, middle(group[0].name, 30));
      name.append(svg("title", {}, group[0].problem));
      chart.append(name);
      for (const entry of group) {
        const rect = svg("rect", { x: left, y: y + 1, height: bar - 2, width: Math.max(scale(entry[field]), 1), rx: 2, fill: colour(entry.provider) });
        rect.append(svg("title", {}, `${entry.key}\n${digits(entry[field])} ${label}, ${time(entry.median_ns)}`));
        chart.append(rect, svg("text", { x: left + scale(entry[field]) + 5, y: y + bar - 3, class: "soft" }, digits(entry[field])));
        y += bar;
      }
      y += gap;
    }
    const note = shown.length < groups.length ? [element("p", {}, `The first ${shown.length} of ${groups.length} problems.`)] : [];
    at("throughput").replaceChildren(chart, ...note);
  };

  const ticks = (low, high, base) => {
    const list = [];
    for (let power = Math.floor(Math.log(low) / Math.log(base) + 1e-9); base ** power <= high * 1.0001; ++power) {
      if (base ** power >= low * 0.9999) list.push(base ** power);
    }
    return list;
  };

  // Points of one line differ in their context length only.
  const series = (entries) => {
    const lines = new Map();
    for (const entry of entries) {
      const rest = Object.entries(entry.axes).filter(([name]) => !["kv", "kv_max", "tokens_kv", "seed"].includes(name));
      const key = JSON.stringify([entry.provider, rest]);
      if (!lines.has(key)) lines.set(key, []);
      lines.get(key).push(entry);
    }
    return [...lines.values()].map((line) => line.sort((a, b) => a.axes.kv_max - b.axes.kv_max));
  };

  const showLatency = () => {
    const entries = timed.filter((entry) => typeof entry.axes.kv_max === "number" && entry.axes.kv_max > 0);
    if (entries.length === 0) {
      at("latency").append("No timed case has a context length.");
      return;
    }
    const width = 640, height = 400, left = 62, right = 16, top = 12, bottom = 44;
    const range = (values, factor) => [values.reduce((a, b) => Math.min(a, b)) / factor, values.reduce((a, b) => Math.max(a, b)) * factor];
    const [x0, x1] = range(entries.map((entry) => entry.axes.kv_max), 1.4);
    const [y0, y1] = range(entries.map((entry) => entry.median_ns), 1.6);
    const place = (value, low, high, from, to) => from + (to - from) * Math.log(value / low) / Math.log(high / low);
    const x = (value) => place(value, x0, x1, left, width - right);
    const y = (value) => place(value, y0, y1, height - bottom, top);
    const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": "Median time against the longest context of a case, both logarithmic; the table below has the numbers" });
    const thinned = (list, most) => list.filter((_, i) => i % Math.ceil(list.length / most) === 0);
    for (const tick of thinned(ticks(x0, x1, 2), 9)) {
      chart.append(svg("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - bottom, class: "grid" }),
        svg("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle", class: "soft" }, tokens(tick)));
    }
    for (const tick of ticks(y0, y1, 10).flatMap((power) => [power, 2 * power, 5 * power]).concat(ticks(y0 / 10, y0, 10).flatMap((power) => [2 * power, 5 * power])).filter((tick) => tick >= y0 && tick <= y1)) {
      chart.append(svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
        svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, trimmed(time(tick))));
    }
    chart.append(svg("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle", class: "soft" }, "longest context, tokens"));
    for (const line of series(entries)) {
      const path = line.map((entry) => `${x(entry.axes.kv_max)},${y(entry.median_ns)}`).join(" ");
      chart.append(svg("polyline", { points: path, fill: "none", stroke: colour(line[0].provider), "stroke-opacity": 0.45, "stroke-width": 1.5 }));
      for (const entry of line) {
        const dot = svg("circle", { cx: x(entry.axes.kv_max), cy: y(entry.median_ns), r: 4, fill: colour(entry.provider), "fill-opacity": 0.85 });
        dot.append(svg("title", {}, `${entry.key}\n${time(entry.median_ns)}`));
        chart.append(dot);
      }
    }
    at("latency").append(chart);
  };

  const showCharts = () => {
    if (timed.length === 0) return;
    at("charts").hidden = false;
    const buttons = MEASURES.filter(([, field]) => timed.some((entry) => entry[field] !== null)).map(([label, field]) => {
      const button = element("button", { type: "button", "aria-pressed": "false" }, label);
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", `${other === button}`);
        showThroughput(label, field);
      });
      return button;
    });
    at("measures").append(...buttons);
    buttons[0].click();
    showLatency();
    const used = providers.filter((provider) => timed.some((entry) => entry.provider === provider));
    at("legend").append(...used.map((provider) => element("span", {}, element("i", { style: `background:${colour(provider)}` }), provider)));
  };

  // --- table ----------------------------------------------------------------------------------------------------------

  const COLUMNS = [
    { title: "Case", key: (entry) => entry.name, cell: null },
    { title: "Provider", key: (entry) => entry.provider, cell: (entry) => entry.provider },
    { title: "Verdict", key: (entry) => entry.verdict, cell: (entry) => badge(entry.verdict) },
    { title: "Median", number: true, key: (entry) => entry.median_ns, cell: (entry) => time(entry.median_ns) },
    { title: "95 % interval", number: true, key: (entry) => entry.ci95_ns && (entry.ci95_ns[1] - entry.ci95_ns[0]) / entry.median_ns,
      cell: (entry) => entry.ci95_ns && `\u00b1${digits(50 * (entry.ci95_ns[1] - entry.ci95_ns[0]) / entry.median_ns)} %` },
    { title: BANDWIDTH, number: true, key: (entry) => entry.tb_per_s, cell: (entry) => digits(entry.tb_per_s) },
    { title: RATE, number: true, key: (entry) => entry.tflop_per_s, cell: (entry) => digits(entry.tflop_per_s) },
    { title: "Ceiling", number: true, key: (entry) => entry.percent, cell: (entry) => entry.percent === null ? "" : `${digits(entry.percent)} % ${entry.bound}` },
    { title: "Error / bound", number: true, key: (entry) => entry.worst_ratio, cell: (entry) => digits(entry.worst_ratio) },
    { title: "Speed-up", number: true, key: (entry) => entry.speedup && entry.speedup.value, cell: (entry) => entry.speedup && `${digits(entry.speedup.value)}\u00d7 ${entry.speedup.baseline}` },
  ];
  const PAGE = 300;
  const state = { column: null, descending: false, limit: PAGE };

  const detail = (entry) => element("tr", { class: "detail" }, element("td", { colspan: COLUMNS.length },
    entry.reason ? element("p", {}, `${entry.reason.kind}: ${entry.reason.message}`) : null,
    facts([
      ["kernel", entry.kernel], ["inputs", entry.input_digest], ["suites", entry.suites.join(", ")],
      ["launches", entry.launches ? `${entry.launches}, ${entry.samples} samples, ${time(entry.min_ns)} to ${time(entry.max_ns)}` : ""],
      ["timer", entry.timer ? `${entry.timer}, ${entry.cache}` : ""],
      ["stages", entry.stages.map((stage) => `${stage.stage} ${time(stage.ns)}`).join(", ")],
      ["tiers", entry.tiers.map((tier) => `${tier.name} ${tier.verdict}${tier.max_ratio === null ? "" : ` ${digits(tier.max_ratio)}`}`).join(", ")],
      ["safety", entry.safety],
    ]), command(entry)));

  const nameCell = (entry, row) => {
    const button = element("button", { type: "button", "aria-expanded": "false" }, entry.name);
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", `${!open}`);
      if (open) row.nextSibling.remove();
      else row.after(detail(entry));
    });
    return element("td", { class: "name" }, button, entry.name === entry.problem ? null : element("span", { class: "word" }, entry.problem));
  };

  const showRow = (entry) => {
    const row = element("tr");
    row.append(nameCell(entry, row), ...COLUMNS.slice(1).map((column) =>
      element("td", column.number ? { class: "number" } : {}, column.cell(entry))));
    return row;
  };

  const selected = () => {
    const words = at("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [verdict, provider, suite] = ["verdict", "provider", "suite"].map((name) => at(`filter-${name}`).value);
    const matches = (entry) => (!verdict || entry.verdict === verdict || (verdict === "not right" && alarming(entry)))
      && (!provider || entry.provider === provider) && (!suite || entry.suites.some((name) => name.split("/")[0] === suite))
      && words.every((word) => entry.haystack.includes(word));
    const list = cases.filter(matches);
    if (state.column === null) return list;
    const key = COLUMNS[state.column].key;
    const sign = state.descending ? -1 : 1;
    // Cases without the value stay last whichever way the others are sorted.
    const empty = (value) => value === null || value === undefined;
    return list.sort((a, b) => {
      const [p, q] = [key(a), key(b)];
      if (empty(p) || empty(q)) return empty(p) - empty(q);
      return sign * (typeof p === "number" ? p - q : p.localeCompare(q, "en", { numeric: true }));
    });
  };

  const showTable = () => {
    const list = selected();
    at("table").tBodies[0].replaceChildren(...list.slice(0, state.limit).map(showRow));
    at("shown").textContent = `${Math.min(list.length, state.limit)} of ${cases.length} shown`;
    at("more").hidden = list.length <= state.limit;
  };

  const showHead = () => {
    const cells = COLUMNS.map((column, i) => {
      const button = element("button", { type: "button" }, column.title);
      const cell = element("th", { scope: "col", "aria-sort": "none", class: column.number ? "number" : "" }, button);
      button.addEventListener("click", () => {
        // Numbers are asked for largest first, names in order.
        state.descending = state.column === i ? !state.descending : Boolean(column.number);
        state.column = i;
        for (const other of cells) other.setAttribute("aria-sort", "none");
        cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
        showTable();
      });
      return cell;
    });
    at("table").tHead.rows[0].append(...cells);
  };

  const showFilters = () => {
    const fill = (id, values) => at(id).append(element("option", { value: "" }, "all"),
      ...values.map((value) => element("option", { value }, value.replace("_", " "))));
    const verdicts = Object.keys(data.counts).filter((verdict) => data.counts[verdict] > 0);
    fill("filter-verdict", cases.some(alarming) ? ["not right", ...verdicts] : verdicts);
    fill("filter-provider", providers);
    fill("filter-suite", [...new Set(cases.flatMap((entry) => entry.suites.map((name) => name.split("/")[0])))]);
    const refresh = () => { state.limit = PAGE; showTable(); };
    at("filters").addEventListener("input", refresh);
    at("filters").addEventListener("submit", (event) => event.preventDefault());
    at("more").addEventListener("click", () => { state.limit += PAGE; showTable(); });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      at("filter-text").focus();
    });
  };

  for (const entry of cases) {
    entry.haystack = [entry.name, entry.problem, entry.provider, entry.kernel, ...entry.suites].join(" ").toLowerCase();
  }
  showHeader();
  showTiles();
  showFailures();
  showCharts();
  showHead();
  showFilters();
  showTable();
})();
