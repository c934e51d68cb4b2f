// What a reader asks first: is it right, is it fast, has anything changed.

const tile = (value, label, kind = "") => element("div", { class: `tile ${kind}` }, element("b", {}, value), element("span", {}, label));

const meanSpeedups = () => {
  const sums = new Map();
  for (const entry of cases) {
    if (!present(entry.speedup)) continue;
    const name = `${entry.provider} over ${entry.baseline}`;
    const sum = sums.get(name) || { logs: 0, count: 0 };
    sum.logs += Math.log(entry.speedup);
    sum.count += 1;
    sums.set(name, sum);
  }
  return [...sums].slice(0, 2).map(([name, sum]) => [name, Math.exp(sum.logs / sum.count)]);
};

const countOf = (...verdicts) => verdicts.reduce((sum, verdict) => sum + report.counts[verdict], 0);
const wrongCount = () => countOf("failed", "mistrusted", "crashed", "timeout", "unexpected_pass");

const tiles = () => {
  const list = [tile(cases.length.toLocaleString("en"), cases.length === 1 ? "case" : "cases"),
    tile(countOf("passed").toLocaleString("en"), "passed", countOf("passed") > 0 ? "good" : ""),
    tile(wrongCount().toLocaleString("en"), "not right", wrongCount() > 0 ? "bad" : "")];
  if (countOf("skipped", "unimplemented") > 0) list.push(tile(countOf("skipped", "unimplemented").toLocaleString("en"), "not run"));
  if (countOf("known_failure") > 0) list.push(tile(countOf("known_failure").toLocaleString("en"), "known failures", "warn"));
  if (comparison) {
    const count = (speed) => pairs.filter((pair) => pair.speed === speed).length;
    list.push(tile(`${count("regressed")} / ${count("improved")}`, "slower / faster than before", count("regressed") > 0 ? "bad" : ""));
  }
  const shares = timed.filter((entry) => present(entry.percent));
  if (shares.length > 0) {
    const best = shares.reduce((a, b) => a.percent >= b.percent ? a : b);
    list.push(tile(`${digits(best.percent)} %`, `of its ceiling at best (${best.provider})`));
  }
  for (const [name, mean] of meanSpeedups()) list.push(tile(`${digits(mean)}\u00d7`, `${name}, geometric mean`));
  if (report.elapsed_s > 0) list.push(tile(duration(report.elapsed_s), "elapsed"));
  return element("div", { class: "tiles", role: "group", "aria-label": "Summary" }, list);
};

// The share of each verdict, as wide as it is.
const verdictBar = () => element("div", { class: "verdicts", role: "img", "aria-label": `Verdicts: ${data.verdicts.filter((name) => report.counts[name]).map((name) => `${words(name)} ${report.counts[name]}`).join(", ")}` },
  data.verdicts.filter((name) => report.counts[name] > 0).map((name) =>
    element("i", { class: tone(name), style: { "flex-grow": report.counts[name] }, title: `${words(name)} ${report.counts[name]}` })));

const MOST_FAILURES = 40;
const failuresCard = () => {
  const failing = cases.filter(alarming);
  if (failing.length === 0) return null;
  const item = (entry) => element("article", { class: "failure" },
    element("header", {}, verdictBadge(entry.verdict), element("button", { type: "button", class: "link", onclick: () => openDetail(entry) }, entry.title), element("span", { class: "quiet" }, dot(entry.provider), entry.provider)),
    entry.reason ? element("p", {}, `${words(entry.reason[0])}: ${entry.reason[1]}`) : null, repeat(entry));
  const box = card(`Not right (${failing.length})`, failing.slice(0, MOST_FAILURES).map(item));
  box.classList.add("alarm");
  box.id = "failures";
  if (failing.length > MOST_FAILURES) {
    box.append(element("button", { type: "button", onclick: () => go("cases", { Verdict: "not right" }) }, `All ${failing.length} in the cases table`));
  }
  return box;
};

// The largest changes against the report before, and the lasting ones of the history.
const changesCard = () => {
  const moved = pairs.filter((pair) => pair.speed === "regressed" || pair.speed === "improved")
    .sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
  const row = (name, provider, node, open) => element("button", { type: "button", class: "change", onclick: open },
    dot(provider), element("span", {}, middle(name, 64)), node);
  const lists = [];
  if (moved.length > 0) {
    lists.push(element("div", {}, element("h3", {}, `Against ${commit(comparison.base)}`), element("div", { class: "changes" }, moved.slice(0, 6).map((pair) =>
      row(pair.title, pair.provider, badge(change(pair.ratio), pair.speed === "regressed" ? "bad" : "good"), () => go("compare", { q: pair.problem }))))));
  }
  const stepped = ownGroup ? ownGroup.cases.filter((entry) => entry.last && !entry.last[2])
    .sort((a, b) => b.last[0] - a.last[0] || Math.abs(Math.log(b.last[1])) - Math.abs(Math.log(a.last[1]))) : [];
  if (stepped.length > 0) {
    lists.push(element("div", {}, element("h3", {}, "Newest lasting changes"), element("div", { class: "changes" }, stepped.slice(0, 6).map((entry) =>
      row(entry.title, entry.provider, [element("span", { class: "quiet" }, ownGroup.runs[entry.last[0]].started_utc.slice(0, 10)), stepBadge(entry)], () => go("trends", { case: entry.key }))))));
  }
  if (lists.length === 0) return null;
  const box = card("Changes", element("div", { class: "sides" }, lists));
  box.classList.add("wide");
  return box;
};

const showOverview = (view) => {
  const plots = [rooflineCard(), latencyCard()].filter(Boolean);
  view.append(tiles(), failuresCard() || "", element("div", { class: "grid" }, plots, changesCard() || ""));
};
