// Building elements. Every text goes through textContent or setAttribute: nothing of a report is ever read as HTML.

const at = (id) => document.getElementById(id);

const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.setAttribute("class", value);
    else if (name === "style") Object.entries(value).forEach(([key, text]) => node.style.setProperty(key, text));
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
};
const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const say = (text) => { at("said").textContent = text; };

// Pages opened from a file may have no clipboard interface; where both ways fail the text is at least selected.
const copyText = async (text, node) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(node);
    return document.execCommand("copy");
  }
};

const copyButton = (label, text, name, node) => {
  const button = element("button", { type: "button", class: "copy", "aria-label": name }, label);
  button.addEventListener("click", async () => {
    const done = await copyText(text, node || button);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    say(done ? `Copied: ${text}` : "Not copied");
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
};

// What repeats a case, each with its button.
const repeat = (entry) => {
  const row = (label, text, what) => {
    const code = element("code", {}, text);
    return element("div", { class: "command" }, element("span", {}, label), code, copyButton("Copy", text, `Copy the ${what} of ${entry.key}`, code));
  };
  return element("div", { class: "commands" }, row("problem", entry.problem, "problem word"), row("command", entry.repro, "command"));
};

const facts = (pairs) => element("dl", { class: "facts" }, pairs
  .filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value instanceof Node ? value : `${value}`))));

const card = (title, ...content) => element("section", { class: "card" }, title ? element("h2", {}, title) : null, ...content);

const tip = {
  show(x, y, lines) {
    const box = at("tip");
    box.replaceChildren(...lines.map(([label, value]) => element("div", {}, value === undefined ? element("b", {}, label) : [element("span", {}, label), ` ${value}`])));
    box.hidden = false;
    const width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = `${Math.max(8, x + 16 + width > innerWidth ? x - width - 16 : x + 16)}px`;
    box.style.top = `${Math.max(8, y + 16 + height > innerHeight ? y - height - 16 : y + 16)}px`;
  },
  hide() { at("tip").hidden = true; },
};
