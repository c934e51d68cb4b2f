// Every case over the runs of one machine; the one chosen is drawn large.

const showTrends = (view, state) => {
  if (groups.length === 0) {
    view.append(element("p", { class: "quiet" }, "One report has no trend. Give a directory of reports: mla-harness report DIR --html out.html"));
    return;
  }
  let group = groups.find((one) => one.fingerprint === state.machine) || ownGroup || groups[0];
  let chosen = null;
  let plot = null;
  let byDate = false;
  const picture = element("div", { class: "card trend", "aria-live": "polite" });

  const draw = () => {
    if (plot) plot.close();
    plot = null;
    if (!chosen) { picture.replaceChildren(element("p", { class: "quiet" }, "No case matches.")); return; }
    plot = trendPlot(group, chosen, 380, byDate);
    const axis = element("div", { class: "segments", role: "group", "aria-label": "Horizontal axis" }, [["By run", false], ["By date", true]].map(([label, dated]) =>
      element("button", { type: "button", "aria-pressed": `${byDate === dated}`, onclick: () => { byDate = dated; draw(); } }, label)));
    const steps = chosen.steps.map(([run, ratio, accepted], i) => element("tr", {},
      element("td", {}, day(group.runs[run].started_utc)), element("td", {}, element("code", {}, commit(group.runs[run]))),
      element("td", { class: "number" }, badge(change(ratio), accepted ? "quiet" : ratio > 1 ? "bad" : "good")),
      element("td", { class: "number" }, `${time(chosen.levels[i])} \u2192 ${time(chosen.levels[i + 1])}`), element("td", {}, accepted ? `accepted: ${accepted}` : "")));
    picture.replaceChildren(
      element("header", {}, element("div", {}, element("h2", {}, chosen.title), element("p", { class: "quiet" }, dot(chosen.provider), `${chosen.provider}, level ${time(chosen.level) || "not measured"}, ${plural(group.runs.length, "run")} from ${group.runs[0].started_utc.slice(0, 10)}`)), axis),
      plot ? plot.node : charts ? element("p", { class: "quiet" }, "No run measured this case.") : noCharts(),
      plot ? element("p", { class: "quiet" }, "Drag to zoom, double click to see all.") : "",
      present(chosen.unconfirmed) ? element("p", { class: "reason warn" }, `The last run alone is ${change(chosen.unconfirmed)} off its level: one run is no trend.`) : "",
      steps.length > 0 ? element("table", { class: "plain" }, element("thead", {}, element("tr", {}, ["Lasting changes", "Commit", "Change", "Level", ""].map((title) => element("th", { scope: "col" }, title)))), element("tbody", {}, steps)) : element("p", { class: "quiet" }, "No lasting change."),
      caseOfKey.has(chosen.key) ? element("button", { type: "button", onclick: () => openDetail(caseOfKey.get(chosen.key)) }, "The case in the newest report") : "");
  };
  const choose = (entry) => { chosen = entry; table.render(); draw(); remember("trends", { ...values, case: entry ? entry.key : "" }); };
  let values = {};

  const table = new VirtualTable({
    label: "Cases by history", open: choose, chosen: (entry) => entry === chosen, empty: "No case matches the filter.",
    columns: [
      { title: "Case", key: (entry) => entry.title, cell: (entry) => element("div", { class: "name", title: entry.problem }, element("span", {}, entry.title), element("small", {}, dot(entry.provider), entry.provider)), class: "wide" },
      { title: "Level", width: "86px", number: true, key: (entry) => entry.level, cell: (entry) => time(entry.level) },
      { title: "Runs", width: "134px", cell: (entry) => sparkline(entry) },
      { title: "Last change", width: "112px", number: true, key: (entry) => entry.last ? Math.log(entry.last[1]) : null, cell: stepBadge },
    ],
  });
  table.node.id = "trends-table";
  const machine = (one) => `${one.runs[one.runs.length - 1].device || one.runs[one.runs.length - 1].host} \u00b7 ${one.fingerprint.slice(0, 8)} \u00b7 ${plural(one.runs.length, "run")}`;
  const kinds = {
    "changed": (entry) => entry.steps.length > 0,
    "slower last": (entry) => entry.last && entry.last[1] > 1 && !entry.last[2],
    "faster last": (entry) => entry.last && entry.last[1] < 1,
    "once off its level": (entry) => present(entry.unconfirmed),
    "steady": (entry) => entry.steps.length === 0 && present(entry.level),
  };
  const bar = filterBar({
    label: "histories", placeholder: "Search name, problem\u2026   /", rows: () => group.cases, start: state,
    selects: [{ label: "Change", values: Object.keys(kinds), matches: (entry, kind) => kinds[kind](entry) },
      { label: "Provider", values: allProviders, matches: (entry, provider) => entry.provider === provider }],
    show: (list, now) => {
      values = { ...now, machine: group.fingerprint };
      table.set(list);
      if (!chosen || !list.includes(chosen)) choose(table.shown[0] || null);
      else remember("trends", { ...values, case: chosen.key });
    },
  });
  if (groups.length > 1) {
    const select = element("select", { "aria-label": "Machine" }, groups.map((one) => element("option", { value: one.fingerprint, selected: one === group }, machine(one))));
    select.addEventListener("input", () => { group = groups.find((one) => one.fingerprint === select.value); chosen = null; bar.refresh(); });
    bar.node.prepend(select);
  }
  chosen = group.ofKey.get(state.case) || null;
  table.sort = null;
  view.append(bar.node, element("div", { class: "split" }, table.node, picture));
  view.search = bar.text;
  // What changed last comes first; what never changed keeps its order.
  group.cases.sort((a, b) => (b.last ? b.last[0] : -1) - (a.last ? a.last[0] : -1));
  bar.refresh();
  draw();
};
