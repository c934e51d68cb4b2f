// Tabs, the address, keys.

const VIEWS = [["overview", "Overview", showOverview], ["cases", "Cases", showCases], ["trends", "Trends", showTrends],
  ["compare", "Compare", showCompare], ["machine", "Environment", showMachine]];
let current = null;

// The address says what is shown, so that it can be passed on. A page inside another may not change it.
function remember(view, values) {
  if (view !== current) return;
  const used = Object.entries(values).filter(([, value]) => value);
  const query = new URLSearchParams(used).toString();
  try { history.replaceState(null, "", `#${view}${query ? `?${query}` : ""}`); } catch { /* stays as it was */ }
}

function go(view, state = {}) {
  current = view;
  closeDetail();
  tip.hide();
  for (const [name, , show] of VIEWS) {
    const section = at(`view-${name}`);
    const tab = at(`tab-${name}`);
    const on = name === view;
    tab.setAttribute("aria-selected", `${on}`);
    tab.tabIndex = on ? 0 : -1;
    section.hidden = !on;
    // A view is made when it is first looked at, and anew when it is asked for something.
    if (on && (!section.hasChildNodes() || Object.keys(state).length > 0)) {
      section.replaceChildren();
      show(section, state);
    }
  }
  remember(view, state);
}

const addressed = () => {
  const [view, query] = location.hash.slice(1).split("?");
  return VIEWS.some(([name]) => name === view) ? [view, Object.fromEntries(new URLSearchParams(query || ""))] : [data.view || "overview", {}];
};

const showTabs = () => {
  const counts = { cases: cases.length, compare: pairs.filter((pair) => pair.speed === "regressed" || pair.change === "wrong" || pair.change === "still_wrong").length || null, trends: ownGroup ? ownGroup.runs.length : null };
  const shown = VIEWS.filter(([name]) => (name !== "trends" || data.history) && (name !== "compare" || comparison));
  const tabs = VIEWS.map(([name, title]) => element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, hidden: !shown.some(([one]) => one === name), onclick: () => go(name) },
    title, present(counts[name]) ? element("small", {}, counts[name].toLocaleString("en")) : null));
  at("tabs").append(...tabs);
  at("tabs").addEventListener("keydown", (event) => {
    const visible = tabs.filter((tab) => !tab.hidden);
    const i = visible.indexOf(document.activeElement);
    const next = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: visible.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = visible[(next + visible.length) % visible.length];
    tab.focus();
    tab.click();
  });
};

const showRun = () => {
  const { run, environment } = report;
  const wrong = wrongCount();
  const right = wrong === 0 && countOf("passed") > 0;
  const sentence = wrong > 0 ? `${wrong.toLocaleString("en")} of ${plural(cases.length, "case")} ${wrong === 1 ? "is" : "are"} not right`
    : right ? (countOf("passed") === cases.length ? `All ${plural(cases.length, "case")} passed` : `${countOf("passed").toLocaleString("en")} of ${plural(cases.length, "case")} passed, none is wrong`) : "No case passed";
  const where = environment.gpu ? environment.gpu.name : environment.cpu.model;
  at("run").append(
    element("h1", { class: right ? "good" : "bad" }, sentence, run.status === "complete" ? "" : badge("interrupted", "warn")),
    element("p", {}, [`${day(run.started_utc)} UTC`, `${run.git.sha ? run.git.sha.slice(0, 10) : "no commit"}${run.git.dirty ? " with uncommitted changes" : ""}${run.git.branch ? ` on ${run.git.branch}` : ""}`, where, run.suites.join(", ")]
      .filter(Boolean).map((text) => element("span", {}, text))),
    verdictBar());
};

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const { search } = at(`view-${current}`);
  if (!search) return;
  event.preventDefault();
  search.focus();
});
addEventListener("hashchange", () => go(...addressed()));

startTheme();
showTabs();
showRun();
go(...addressed());
