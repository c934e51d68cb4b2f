// All cases of the report.

const meter = (share, text, kind = "") => present(share)
  ? element("div", { class: "cell-meter" }, element("span", {}, text), element("i", { class: `meter ${kind}` }, element("b", { style: { width: `${Math.min(100, Math.max(2, 100 * share))}%` } }))) : "";
const nameCell = (entry) => element("div", { class: "name", title: entry.problem },
  element("span", {}, entry.title), entry.title === entry.problem ? null : element("code", {}, entry.problem));
const providerCell = (entry) => element("span", { class: "provider" }, dot(entry.provider), entry.provider);
const halfWidth = (entry) => present(entry.median_ns) ? 50 * (entry.high_ns - entry.low_ns) / entry.median_ns : null;

const caseColumns = () => {
  const columns = [
    { title: "Case", key: (entry) => entry.title, cell: nameCell, class: "wide" },
    { title: "Provider", width: "104px", key: (entry) => entry.provider, cell: providerCell },
    { title: "Verdict", width: "116px", key: (entry) => entry.verdict, cell: (entry) => verdictBadge(entry.verdict) },
    { title: "Median", width: "92px", number: true, key: (entry) => entry.median_ns, cell: (entry) => element("b", {}, time(entry.median_ns)) },
    { title: "\u00b1", help: "half of the median's 95 % interval", width: "78px", number: true, key: halfWidth, cell: (entry) => present(entry.median_ns) ? `${halfWidth(entry).toPrecision(2)} %` : "" },
    { title: BANDWIDTH.name, width: "76px", number: true, key: (entry) => entry.tb_per_s, cell: (entry) => present(entry.tb_per_s) ? digits(entry.tb_per_s * BANDWIDTH.factor) : "" },
    { title: RATE.name, width: "88px", number: true, key: (entry) => entry.tflop_per_s, cell: (entry) => present(entry.tflop_per_s) ? digits(entry.tflop_per_s * RATE.factor) : "" },
    { title: "Ceiling", help: "share of the nearer ceiling", width: "104px", number: true, key: (entry) => entry.percent, cell: (entry) => meter(present(entry.percent) ? entry.percent / 100 : null, `${digits(entry.percent)} %`) },
    { title: "Error", help: "worst error over its bound", width: "96px", number: true, key: (entry) => entry.worst_ratio,
      cell: (entry) => meter(entry.worst_ratio, digits(entry.worst_ratio), entry.worst_ratio > 1 ? "bad" : "calm") },
    { title: "Speed-up", width: "104px", number: true, key: (entry) => entry.speedup, cell: (entry) => present(entry.speedup) ? element("span", {}, `${digits(entry.speedup)}\u00d7 `, element("small", {}, entry.baseline)) : "" },
  ];
  const used = columns.filter((column) => !column.number || cases.some((entry) => present(column.key(entry))));
  if (ownGroup && ownGroup.runs.length > 1) {
    used.push({ title: "History", width: "232px", key: (entry) => entry.series && entry.series.last ? Math.log(entry.series.last[1]) : null,
      cell: (entry) => element("span", { class: "history" }, entry.series ? sparkline(entry.series) : "", stepBadge(entry.series)) });
  }
  return used;
};

const showCases = (view, state) => {
  const table = new VirtualTable({ label: "Cases", columns: caseColumns(), open: openDetail, empty: "No case matches the filter." });
  table.node.id = "cases-table";
  const verdicts = data.verdicts.filter((verdict) => report.counts[verdict] > 0);
  const suites = [...new Set(cases.flatMap((entry) => entry.suites))];
  const bar = filterBar({
    label: "cases", placeholder: "Search name, problem, kernel\u2026   /", rows: () => cases, start: state,
    selects: [
      { label: "Verdict", values: cases.some(alarming) ? ["not right", ...verdicts] : verdicts, matches: (entry, value) => value === "not right" ? alarming(entry) : entry.verdict === value },
      { label: "Provider", values: providers, matches: (entry, value) => entry.provider === value },
      { label: "Suite", values: suites, matches: (entry, value) => entry.suites.includes(value) },
    ],
    show: (list, values) => { table.set(list); remember("cases", values); },
  });
  view.append(bar.node, table.node);
  view.search = bar.text;
  bar.refresh();
};
