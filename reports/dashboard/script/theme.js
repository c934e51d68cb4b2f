// Colours, and which of light and dark is on. Charts are painted, so they ask for colours and paint again on a change.

const theme = {
  listeners: new Set(),
  cache: new Map(),
  // A custom property that holds light-dark() is resolved only where it is used as a colour.
  colour(name) {
    if (!this.cache.has(name)) {
      const probe = element("i", { style: { color: `var(--${name})`, display: "none" } });
      document.body.append(probe);
      this.cache.set(name, getComputedStyle(probe).color);
      probe.remove();
    }
    return this.cache.get(name);
  },
  faded(name, share) { return this.colour(name).replace(/^rgb\((.*)\)$/, `rgba($1, ${share})`); },
  changed() {
    this.cache.clear();
    for (const listener of this.listeners) listener();
  },
};

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };
const startTheme = () => {
  const button = at("theme");
  const stored = () => { try { return localStorage.getItem("mla-theme") || "auto"; } catch { return "auto"; } };
  let current = stored() in THEMES ? stored() : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = current;
    button.textContent = THEMES[current];
    button.setAttribute("aria-label", `Colours: ${THEMES[current]}. Change`);
    theme.changed();
  };
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    current = names[(names.indexOf(current) + 1) % names.length];
    try { localStorage.setItem("mla-theme", current); } catch { /* a file's page may have no storage */ }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme.changed());
  apply();
  // Text that was painted before the typeface was there is painted again.
  document.fonts.load("12px Inter").then(() => theme.changed());
};

// A provider keeps its colour and its mark on the whole page.
const MARKS = ["circle", "square", "triangle", "diamond", "cross", "other"];
const allProviders = [...new Set([...providers, ...groups.flatMap((group) => group.cases.map((entry) => entry.provider)), ...pairs.map((pair) => pair.provider)])];
const seat = (provider) => Math.min(Math.max(allProviders.indexOf(provider), 0), MARKS.length - 1);
const colourOf = (provider) => theme.colour(`s${seat(provider)}`);
const dot = (provider) => element("i", { class: `dot ${MARKS[seat(provider)]}`, style: { background: `var(--s${seat(provider)})` } });

const tone = (verdict) => verdict === "passed" ? "good" : WRONG.has(verdict) || verdict === "unexpected_pass" ? "bad" : "warn";
const badge = (text, kind) => element("span", { class: `badge ${kind}` }, text);
const verdictBadge = (verdict) => badge(words(verdict), tone(verdict));
