// A table of any number of rows of which only those in sight exist. Sorted by its heads; arrow keys walk its rows.

const OVERSCAN = 6;

class VirtualTable {
  // columns: {title, width, number, key(row), cell(row), head}; a column without a key cannot be sorted.
  constructor({ label, columns, rowHeight = 48, empty = "Nothing matches.", open, chosen }) {
    Object.assign(this, { columns, rowHeight, empty, open, chosen });
    this.rows = [];
    this.shown = [];
    this.nodes = new Map();
    this.sort = null;
    this.focused = 0;
    this.body = element("tbody");
    const cols = columns.map((column) => element("col", { style: { width: column.width } }));
    this.heads = columns.map((column, i) => this.head(column, i));
    this.table = element("table", {}, element("caption", { class: "unseen" }, label), element("colgroup", {}, cols),
      element("thead", {}, element("tr", {}, this.heads)), this.body);
    this.node = element("div", { class: "table", role: "region", "aria-label": label }, this.table);
    this.node.addEventListener("scroll", () => this.render(), { passive: true });
    this.body.addEventListener("keydown", (event) => this.walk(event));
    new ResizeObserver(() => this.render()).observe(this.node);
  }

  head(column, i) {
    const cell = element("th", { scope: "col", class: column.number ? "number" : "", "aria-sort": column.key ? "none" : null });
    if (column.head) cell.append(column.head);
    else if (column.key) cell.append(element("button", { type: "button", title: column.help, onclick: () => this.sortBy(i) }, column.title));
    else cell.append(column.title);
    return cell;
  }

  // Numbers are asked for largest first, names in order.
  sortBy(i, descending = this.sort && this.sort.column === i ? !this.sort.descending : Boolean(this.columns[i].number)) {
    this.sort = { column: i, descending };
    this.heads.forEach((head, k) => {
      if (this.columns[k].key) head.setAttribute("aria-sort", k !== i ? "none" : descending ? "descending" : "ascending");
    });
    this.set(this.rows);
  }

  set(rows) {
    this.rows = rows;
    this.shown = this.sort ? this.sorted(rows) : rows;
    this.nodes.clear();
    this.focused = 0;
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    this.node.scrollTop = 0;
    this.body.replaceChildren();
    this.render();
  }

  sorted(rows) {
    const { key } = this.columns[this.sort.column];
    const sign = this.sort.descending ? -1 : 1;
    // Rows without the value stay last whichever way the others are sorted.
    return rows.map((row) => [key(row), row]).sort(([p], [q]) => {
      if (!present(p) || !present(q)) return !present(p) - !present(q);
      return sign * (typeof p === "number" ? p - q : p.localeCompare(q, "en", { numeric: true }));
    }).map(([, row]) => row);
  }

  row(i) {
    const row = this.shown[i];
    if (!this.nodes.has(row)) {
      const node = element("tr", { tabindex: "-1", style: { height: `${this.rowHeight}px` } },
        this.columns.map((column) => element("td", { class: [column.number ? "number" : "", column.class || ""].join(" ") }, column.cell(row))));
      if (this.open) {
        node.classList.add("opens");
        node.addEventListener("click", (event) => { if (!event.target.closest("button, a")) this.open(row, node); });
      }
      this.nodes.set(row, node);
    }
    const node = this.nodes.get(row);
    node.setAttribute("aria-rowindex", i + 2);
    node.tabIndex = i === this.focused ? 0 : -1;
    node.classList.toggle("chosen", Boolean(this.chosen && this.chosen(row)));
    return node;
  }

  // Sight is what the box shows of itself; a box that is not laid out yet shows a screenful.
  render() {
    const { rowHeight, shown } = this;
    if (shown.length === 0) {
      this.body.replaceChildren(element("tr", {}, element("td", { class: "nothing", colspan: this.columns.length }, this.empty)));
      return;
    }
    const height = this.node.clientHeight || 900;
    const first = Math.max(0, Math.floor(this.node.scrollTop / rowHeight) - OVERSCAN);
    const last = Math.min(shown.length, Math.ceil((this.node.scrollTop + height) / rowHeight) + OVERSCAN);
    const pad = (count) => element("tr", { class: "pad", "aria-hidden": "true", style: { height: `${count * rowHeight}px` } });
    const list = [];
    if (first > 0) list.push(pad(first));
    for (let i = first; i < last; ++i) list.push(this.row(i));
    if (last < shown.length) list.push(pad(shown.length - last));
    // Nodes that stay are not moved, so that focus stays too.
    const keep = new Set(list);
    for (const node of [...this.body.children]) if (!keep.has(node)) node.remove();
    list.forEach((node, i) => { if (this.body.children[i] !== node) this.body.insertBefore(node, this.body.children[i] || null); });
    for (const [row, node] of this.nodes) if (!keep.has(node)) this.nodes.delete(row);
  }

  walk(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.rowHeight) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && event.target.matches("tr") && this.open) {
      event.preventDefault();
      this.open(this.shown[this.focused], event.target);
    }
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.focus(Math.min(this.shown.length - 1, Math.max(0, this.focused + moves[event.key])));
  }

  focus(i) {
    this.focused = i;
    const headHeight = this.table.tHead.offsetHeight;
    const top = i * this.rowHeight;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    const bottom = top + this.rowHeight + headHeight - this.node.clientHeight;
    if (bottom > this.node.scrollTop) this.node.scrollTop = bottom;
    this.render();
    this.row(i).focus({ preventScroll: true });
  }
}

// A search box and selects over rows that have a haystack. `selects`: {label, values, matches(row, value), words}.
const filterBar = ({ label, placeholder, selects = [], rows, show, start = {} }) => {
  const text = element("input", { type: "search", placeholder, autocomplete: "off", spellcheck: "false", "aria-label": `Search ${label}`, value: start.q || "" });
  const boxes = selects.map((select) => element("select", { "aria-label": select.label },
    element("option", { value: "" }, `${select.label}: all`),
    select.values.map((value) => element("option", { value, selected: start[select.label] === value }, words(`${value}`)))));
  const count = element("output", { class: "count", "aria-live": "polite" });
  const refresh = () => {
    const parts = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const list = rows().filter((row) => parts.every((part) => row.haystack.includes(part))
      && boxes.every((box, i) => !box.value || selects[i].matches(row, box.value)));
    count.textContent = `${list.length.toLocaleString("en")} of ${rows().length.toLocaleString("en")}`;
    show(list, { q: text.value, ...Object.fromEntries(boxes.map((box, i) => [selects[i].label, box.value])) });
  };
  const form = element("form", { class: "filters", role: "search", "aria-label": `Filter ${label}` }, text, boxes, count);
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  return { node: form, refresh, text };
};
