// Numbers as people read them: three significant digits, a unit that fits.

const digits = (value) => {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return size >= 99.95 ? value.toFixed(0) : value.toPrecision(3);
};
const scaled = (value, units) => {
  if (value === null || value === undefined) return "";
  const [size, name] = units.find(([least]) => Math.abs(value) >= 0.9995 * least) || units[units.length - 1];
  return `${digits(value / size)} ${name}`;
};
const time = (ns) => scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]]);
const duration = (seconds) => seconds < 100 ? time(seconds * 1e9)
  : seconds < 6000 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
const bytes = (count) => scaled(count, [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]);
const rate = (perSecond, unit) => scaled(perSecond, [[1e15, `P${unit}`], [1e12, `T${unit}`], [1e9, `G${unit}`], [1e6, `M${unit}`], [1, unit]]);
// Without zeros that say nothing: "2 ms", not "2.00 ms".
const short = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
const change = (ratio) => `${ratio >= 1 ? "+" : "\u2212"}${Math.abs(100 * (ratio - 1)).toFixed(Math.abs(ratio - 1) < 0.0995 ? 1 : 0)} %`;
const tokens = (count) => count >= 1024 && count % 1024 === 0 ? `${count / 1024}k` : `${count}`;
const day = (utc) => utc.slice(0, 16).replace("T", " ");
const commit = (run) => run.sha ? `${run.sha.slice(0, 10)}${run.dirty ? "+" : ""}` : "no commit";
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const words = (name) => name.replaceAll("_", " ");
const middle = (text, length) => text.length <= length ? text
  : `${text.slice(0, Math.ceil(length * 0.65) - 1)}\u2026${text.slice(text.length - Math.floor(length * 0.35))}`;
