// The page's data (reports/dashboard/page_data.cpp is its other half), unpacked.

const unpacked = (packed, rows) => Array.isArray(packed) ? packed
  : "all" in packed ? new Array(rows).fill(packed.all) : packed.at.map((index) => packed.of[index]);

// Rows as objects; a member that no row has is undefined, one that only this row lacks is null.
const rowsOf = ({ rows, columns }) => {
  const names = Object.keys(columns);
  const lists = names.map((name) => unpacked(columns[name], rows));
  return Array.from({ length: rows }, (_, row) => {
    const object = {};
    for (let i = 0; i < names.length; ++i) object[names[i]] = lists[i][row];
    return object;
  });
};

const bytesOf = (base64) => {
  const text = atob(base64);
  const list = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) list[i] = text.charCodeAt(i);
  return list;
};

const data = JSON.parse(at("data").textContent);
at("data").remove();
const report = data.report;

const WRONG = new Set(["failed", "mistrusted", "crashed", "timeout"]);
const alarming = (entry) => WRONG.has(entry.verdict) || entry.verdict === "unexpected_pass";
const present = (value) => value !== null && value !== undefined;

const named = (entry) => {
  entry.key = `${entry.problem} @${entry.provider}`;
  entry.title = entry.name || entry.problem;
  return entry;
};

const cases = rowsOf(report.cases).map(named);
rowsOf(report.cases.axes).forEach((axes, i) => { cases[i].axes = axes; });
for (const entry of cases) {
  entry.haystack = [entry.title, entry.problem, entry.provider, ...(entry.kernel || []), ...entry.suites,
    ...(entry.reason || [])].join(" ").toLowerCase();
}
const caseOfKey = new Map(cases.map((entry) => [entry.key, entry]));
const timed = cases.filter((entry) => present(entry.median_ns));
const providers = [...new Set(cases.map((entry) => entry.provider))];

// Series of one group of runs whose times may be compared.
const groupOf = (packed) => {
  const runs = rowsOf(packed.runs);
  const list = rowsOf(packed.cases).map(named);
  const medians = new Float32Array(bytesOf(packed.medians).buffer);
  const widths = bytesOf(packed.widths);
  const verdicts = bytesOf(packed.verdicts);
  list.forEach((entry, i) => {
    const [from, to] = [i * runs.length, (i + 1) * runs.length];
    entry.medians = medians.subarray(from, to);
    entry.widths = widths.subarray(from, to);
    entry.verdicts = verdicts.subarray(from, to);
    entry.level = entry.levels.length > 0 ? entry.levels[entry.levels.length - 1] : null;
    entry.last = entry.steps.length > 0 ? entry.steps[entry.steps.length - 1] : null;
    entry.haystack = `${entry.title} ${entry.problem} ${entry.provider}`.toLowerCase();
  });
  return { fingerprint: packed.fingerprint, runs, cases: list, ofKey: new Map(list.map((entry) => [entry.key, entry])) };
};
const groups = data.history ? data.history.groups.map(groupOf) : [];
const ownGroup = groups.find((group) => group.fingerprint === report.environment.fingerprint) || null;
for (const entry of cases) entry.series = ownGroup ? ownGroup.ofKey.get(entry.key) || null : null;

const comparison = data.comparison;
const pairs = comparison ? rowsOf(comparison.cases).map(named) : [];
for (const pair of pairs) pair.haystack = `${pair.title} ${pair.problem} ${pair.provider}`.toLowerCase();

// A CPU's rates in units of a GPU's would be all zeros: one unit a page, chosen by the largest value.
const unitOf = (field, large, small) =>
  timed.some((entry) => entry[field] >= 0.5) ? { name: large, factor: 1 } : { name: small, factor: 1e3 };
const BANDWIDTH = unitOf("tb_per_s", "TB/s", "GB/s");
const RATE = unitOf("tflop_per_s", "TFLOP/s", "GFLOP/s");
