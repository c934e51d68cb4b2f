// Where the numbers come from: machine, build, ceilings, clocks, the runs that the history holds.

const plainTable = (titles, rows) => element("table", { class: "plain" },
  element("thead", {}, element("tr", {}, titles.map((title) => element("th", { scope: "col" }, title)))),
  element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))))));

const flat = (object, prefix = "") => Object.entries(object).flatMap(([name, value]) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? flat(value, `${prefix}${name} `) : [[words(prefix + name), Array.isArray(value) ? value.join(", ") : value]]);

const ceilingsCard = () => report.ceilings.length === 0 ? null : card("Ceilings of this run", plainTable(["Ceiling", "Device", "Value", "How"],
  report.ceilings.map((ceiling) => [words(ceiling.name), ceiling.device, ceiling.value === null ? "none" : `${digits(ceiling.value)} ${ceiling.unit}`, ceiling.note || ""])));

const runsCard = () => {
  if (!ownGroup) return null;
  const newest = [...ownGroup.runs].reverse();
  const table = new VirtualTable({ label: "Runs of this machine", rowHeight: 36, columns: [
    { title: "Started", width: "150px", key: (run) => run.started_utc, cell: (run) => day(run.started_utc) },
    { title: "Commit", key: (run) => run.sha, cell: (run) => element("span", {}, element("code", {}, commit(run)), " ", element("small", {}, run.branch)) },
    { title: "Cases", width: "80px", number: true, key: (run) => run.total, cell: (run) => `${run.total}` },
    { title: "Passed", width: "80px", number: true, key: (run) => run.passed, cell: (run) => `${run.passed}` },
    { title: "Not right", width: "90px", number: true, key: (run) => run.wrong, cell: (run) => run.wrong > 0 ? badge(`${run.wrong}`, "bad") : "0" },
    { title: "", width: "110px", cell: (run) => run.complete ? "" : badge("interrupted", "warn") },
  ] });
  table.set(newest);
  return card(`Runs (${ownGroup.runs.length})`, table.node);
};

const showMachine = (view) => {
  const { run, environment } = report;
  const cpu = environment.cpu;
  const argv = run.argv.join(" ");
  const gpu = environment.gpu ? flat(environment.gpu).map(([name, value]) => [`gpu ${name}`, value]) : [["gpu", "none"]];
  const notes = [...report.warnings, ...(data.history ? data.history.skipped.map((line) => `skipped ${line}`) : [])];
  const notices = at("notices").textContent.trim();
  view.append(element("div", { class: "grid" },
    card("Machine", facts([["host", environment.host], ["system", `${environment.os}, Linux ${environment.kernel}`], ["cpu", `${cpu.model}, ${plural(cpu.cores, "core")}${cpu.isa ? `, ${cpu.isa}` : ""}`],
      ["last-level cache", present(cpu.llc_bytes) ? bytes(cpu.llc_bytes) : ""], ["memory", present(environment.memory_bytes) ? bytes(environment.memory_bytes) : ""], ...gpu, ["fingerprint", element("code", {}, environment.fingerprint)]])),
    card("Run", facts([["id", run.id], ["started", run.started_utc], ["ended", run.ended_utc], ["status", run.status], ["mode", run.mode], ["seed", run.seed],
      ["shard", run.shard.count > 1 ? `${run.shard.index} of ${run.shard.count}` : ""], ["suites", run.suites.join(", ")], ["command", element("code", {}, argv)]]), copyButton("Copy the command", argv, "Copy the run's command")),
    card("Build", facts([["commit", run.git.sha || "none"], ["branch", run.git.branch], ["tree", run.git.dirty ? "with uncommitted changes" : "clean"], ["version", run.version], ["compiler", run.build.compiler],
      ["type", run.build.type], ["flags", element("code", {}, run.build.flags)], ["targets", run.build.targets.join(", ")], ["libraries", Object.entries(environment.libraries).map(([name, version]) => `${name} ${version}`).join(", ")]])),
    ceilingsCard() || "", clocksCard() || "", runsCard() || "",
    notes.length > 0 ? card("Notes", element("ul", { class: "notes" }, notes.map((note) => element("li", {}, note)))) : "",
    card("This page", element("p", { class: "quiet" }, `Report schema ${report.schema.version}; ${data.charts ? `charts by ${data.charts}` : "built without charts"}. It asks no network for anything.`),
      notices ? element("details", {}, element("summary", {}, "Licences of what it contains"), element("pre", {}, notices)) : "")));
};
