// Drawing and moving: the map on a canvas, the chosen cell in words beside it.

const at = (id) => document.getElementById(id);
const canvas = at("canvas");
const ink = canvas.getContext("2d");
const CLOSEST = 72; // pixels of a token at most
const NUMBERS = 38; // pixels of a cell that has room for its number
const LETTERS = 13; // of a label
const SLICE = 12; // milliseconds of work between two frames
const EDGE = 9; // beside the last token, for half of its label
const LARGEST = 12; // keys listed of a row
const [BLUE, GREY, FAINT] = [0xe17d2f, 0x808080, 0.14]; // as a pixel's bytes lie; and how grey the hidden is

let head, wide, high, left, top_, finest, working;
let size = 1; // pixels of a token
let origin = { i: 0, j: 0 }; // the token at the upper left corner
let cursor = { i: T - 1, j: 0 };
let whole = null; // the whole map as a picture, shown until the view's own is there
let view = null;

const isolated = (text) => `\u2068${text}\u2069`; // right-to-left letters leave their neighbours in order
const quoted = (n) => isolated(`“${page.tokens[n]}”`);
const label = (n) => page.tokens[n].trim() || quoted(n);
const signed = (x, digits) => x.toFixed(digits).replace("-", "−");
const clamp = (x, low, most) => Math.min(Math.max(x, low), Math.max(most, low));

// moving

const across = () => wide - left - EDGE;
const tall = () => high - top_ - EDGE;
const smallest = () => Math.min(across() / T, tall() / T, CLOSEST);

function moveTo(i, j, wanted) {
  size = clamp(wanted, smallest(), CLOSEST);
  origin = { i: clamp(i, 0, T - tall() / size), j: clamp(j, 0, T - across() / size) };
  look();
}

const middle = ({ i, j }) => [left + (j - origin.j + 0.5) * size, top_ + (i - origin.i + 0.5) * size];

function zoom(factor, [x, y] = middle(cursor)) {
  const wanted = clamp(size * factor, smallest(), CLOSEST);
  const [dx, dy] = [x - left, y - top_];
  moveTo(origin.i + dy / size - dy / wanted, origin.j + dx / size - dx / wanted, wanted);
}

function choose(i, j) {
  cursor = { i: clamp(i, 0, T - 1), j: clamp(j, 0, T - 1) };
  moveTo(seen(origin.i, cursor.i, tall()), seen(origin.j, cursor.j, across()), size);
  tell(cursor);
  list();
  at("live").textContent = inWords(cursor);
}

// Where a side has to begin so that token n is on it: where it does if it can, else with n in the middle.
function seen(from, n, room) {
  return n >= from && n + 1 <= from + room / size ? from : n + 0.5 - room / size / 2;
}

function show(n) {
  head = page.heads[n];
  at("head").value = n;
  at("named").textContent = head.name;
  whole = null;
  moveTo(origin.i, origin.j, size);
  choose(cursor.i, cursor.j);
}

// drawing

function span(from, room) {
  const first = Math.floor(from / finest);
  return { at: first, n: Math.min(Math.ceil((from + room / size) / finest), Math.ceil(T / finest)) - first };
}

function look() {
  finest = Math.max(1, Math.ceil(1 / size - 1e-9)); // tokens of a square, so that it has a pixel
  const [rows, keys] = [span(origin.i, tall()), span(origin.j, across())];
  const asBefore = view && view.head === head && view.finest === finest;
  if (asBefore && same(view.rows, rows) && same(view.keys, keys)) return draw();
  view = { head, finest, rows, keys, picture: new Float32Array(rows.n * keys.n), done: 0 };
  view.steps = pooled(head, rows, keys, finest, view.picture);
  if (!whole && size === smallest()) whole = view;
  if (!working) work();
}

const same = (a, b) => a.at === b.at && a.n === b.n;

// A few rows of queries, then the browser's turn: first the view's own, then the whole map's.
function work() {
  const until = performance.now() + SLICE;
  let picture = unfinished();
  while (picture && performance.now() < until) {
    picture.finished = picture.steps.next().done;
    picture.done += 1;
    picture = unfinished();
  }
  draw();
  working = Boolean(picture);
  if (working) requestAnimationFrame(work);
}

const unfinished = () => [view, whole].find((picture) => picture && !picture.finished);

function draw() {
  const scale = window.devicePixelRatio || 1;
  ink.setTransform(scale, 0, 0, scale, 0, 0);
  ink.clearRect(0, 0, wide, high);
  ink.save();
  ink.beginPath();
  ink.rect(left, top_, across(), tall());
  ink.clip();
  const peak = peakOf(view);
  const rows = view.finished ? view.rows.n : Math.floor(view.done / view.finest);
  if (!view.finished && whole && whole !== view && whole.finished) paint(whole, whole.rows.n, peak);
  paint(view, rows, peak);
  if (size >= NUMBERS) numbers(peak);
  mark();
  ink.restore();
  labels();
  key(peak);
}

const peakOf = ({ picture }) =>
  (at("relative").checked && picture.reduce((most, found) => Math.max(most, found), 0)) || 1;

function paint(seen, n, peak) {
  if (!n) return;
  const { rows, keys, picture } = seen;
  const image = new ImageData(keys.n, n);
  const pixels = new Uint32Array(image.data.buffer);
  for (let n = 0; n < pixels.length; n++) {
    const hidden = picture[n] < 0;
    const share = hidden ? FAINT : Math.sqrt(Math.min(picture[n] / peak, 1));
    pixels[n] = (hidden ? GREY : BLUE) | ((255 * share) << 24);
  }
  const sheet = new OffscreenCanvas(keys.n, n);
  sheet.getContext("2d").putImageData(image, 0, 0);
  const cell = seen.finest * size;
  const x = left + keys.at * cell - origin.j * size;
  const y = top_ + rows.at * cell - origin.i * size;
  ink.imageSmoothingEnabled = false;
  ink.clearRect(x, y, keys.n * cell, n * cell);
  ink.drawImage(sheet, x, y, keys.n * cell, n * cell);
}

function numbers(peak) {
  ink.font = "12px system-ui, sans-serif";
  ink.textAlign = "center";
  ink.textBaseline = "middle";
  const own = getComputedStyle(canvas).color;
  const { rows, keys } = view;
  for (let i = rows.at; i < rows.at + rows.n; i++) {
    for (let j = keys.at; j < keys.at + keys.n; j++) {
      if (!sees(head, i, j)) continue;
      const found = view.picture[(i - rows.at) * keys.n + j - keys.at];
      ink.fillStyle = found > 0.36 * peak ? "#fff" : own;
      ink.globalAlpha = found < 0.0005 ? 0.4 : 1;
      ink.fillText(found.toFixed(3), ...middle({ i, j }));
    }
  }
  ink.globalAlpha = 1;
}

function mark() {
  const [x, y] = middle(cursor);
  const edge = Math.max(size, 5);
  ink.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
  ink.lineWidth = 2;
  ink.strokeRect(x - edge / 2, y - edge / 2, edge, edge);
}

// Every how many-th label finds room: 1, 2, 5, 10, …
function step() {
  for (let power = 1; ; power *= 10) {
    for (const n of [1, 2, 5]) if (n * power * size >= LETTERS + 2) return n * power;
  }
}

function labels() {
  const every = step();
  ink.fillStyle = getComputedStyle(canvas).color;
  ink.textBaseline = "middle";
  for (const side of ["i", "j"]) {
    const [from, room] = [origin[side], side === "i" ? tall() : across()];
    const shown = new Set();
    const stop = Math.min(from + room / size, T);
    for (let n = Math.floor(from / every) * every; n < stop; n += every) shown.add(n);
    const here = cursor[side];
    for (const n of shown) if (n !== here && Math.abs(n - here) < every) shown.delete(n);
    shown.add(here);
    for (const n of shown) {
      const place = (n - from + 0.5) * size;
      if (place < 0 || place > room) continue;
      ink.font = `${n === here ? "bold " : ""}${LETTERS}px system-ui, sans-serif`;
      ink.save();
      if (side === "i") ink.translate(left - 6, top_ + place);
      else ink.translate(left + place, top_ - 6);
      if (side === "j") ink.rotate(-Math.PI / 2);
      ink.textAlign = side === "i" ? "right" : "left";
      ink.fillText(short(n, (side === "i" ? left : top_) - 10), 0, 0);
      ink.restore();
    }
  }
}

function short(n, room) {
  const numbered = (text) => (T > 24 ? `${n} ` : "") + isolated(text);
  let text = label(n);
  if (ink.measureText(numbered(text)).width <= room) return numbered(text);
  const letters = Array.from(text);
  while (letters.length && ink.measureText(numbered(letters.join("") + "…")).width > room) letters.pop();
  return numbered(letters.join("") + "…");
}

function key(peak) {
  at("key").replaceChildren(
    ...[1, 0.75, 0.5, 0.25].map((share) => {
      const [item, swatch] = [element("span"), element("i")];
      swatch.style.background = `rgb(47 125 225 / ${share})`;
      item.append(swatch, `${Number((peak * share ** 2).toPrecision(2))}`);
      return item;
    }),
  );
}

// in words

function inWords({ i, j }) {
  const said = sees(head, i, j) ? `weight ${weight(head, i, j).toFixed(3)}` : "hidden";
  return `query ${i} ${quoted(i)}, key ${j} ${quoted(j)}: ${said}`;
}

const small = (w) => (w < 1e-4 ? w.toPrecision(4) : w.toFixed(6)).replace("-", "−");

function arithmetic({ i, j }) {
  if (!sees(head, i, j)) return [`hidden: the query sees the keys ${first(head, i)} to ${end(head, i) - 1}`];
  const found = weight(head, i, j);
  if (!page.exact) return [`weight ${found.toFixed(3)}, to three decimals`];
  const dots = dot(head, i, j);
  const [scale, lse] = [Number(head.scale.toPrecision(6)), signed(head.lse[i], 4)];
  return [
    "weight = exp(scale · q·k − lse)",
    `= exp(${scale} · ${signed(dots, 4)} − ${lse.startsWith("−") ? `(${lse})` : lse})`,
    `= exp(${signed(head.scale * dots - head.lse[i], 4)}) = ${small(found)}`,
  ];
}

function tell(cell) {
  at("cell").textContent = `query ${cell.i} ${quoted(cell.i)} → key ${cell.j} ${quoted(cell.j)}`;
  at("arithmetic").replaceChildren(...arithmetic(cell).map((line) => element("p", line)));
}

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function list() {
  const found = row(head, cursor.i);
  const most = found.length ? found[0][1] : 0;
  at("row").textContent = `Where query ${cursor.i} ${quoted(cursor.i)} looks`;
  at("largest").replaceChildren(
    ...found.slice(0, LARGEST).map(([j, w]) => {
      const [item, button, bar] = [element("li"), element("button"), element("span", "", "bar")];
      bar.style.width = `${most ? (100 * w) / most : 0}%`;
      const token = element("bdi", label(j), "token");
      button.append(element("span", j, "place"), token, bar, element("span", w.toFixed(3), "number"));
      button.addEventListener("click", () => choose(cursor.i, j));
      item.append(button);
      return item;
    }),
  );
  const rest = found.slice(LARGEST).reduce((sum, [, w]) => sum + w, 0);
  const others = found.length - LARGEST;
  const summed = `the other ${others.toLocaleString("en")} keys together ${rest.toFixed(3)}`;
  at("rest").textContent = others > 0 ? summed : "";
}

// input

function cellAt(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const [i, j] = [Math.floor(origin.i + (y - top_) / size), Math.floor(origin.j + (x - left) / size)];
  const point = [Math.max(x, left), Math.max(y, top_)];
  return { point, i, j, inside: x >= left && y >= top_ && i < T && j < T };
}

const pointers = new Map();
let moved = false;

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, event);
  if (pointers.size === 1) moved = false;
});

canvas.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) {
    const cell = cellAt(event);
    return tell(cell.inside ? cell : cursor);
  }
  const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
  if (!moved && pointers.size === 1 && Math.hypot(dx, dy) < 4) return;
  moved = true;
  const other = [...pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
  if (other) {
    const apart = ({ clientX, clientY }) => Math.hypot(clientX - other.clientX, clientY - other.clientY);
    const [clientX, clientY] = [(event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2];
    if (apart(before) > 0) zoom(apart(event) / apart(before), cellAt({ clientX, clientY }).point);
  } else {
    moveTo(origin.i - dy / size, origin.j - dx / size, size);
  }
  pointers.set(event.pointerId, event);
});

canvas.addEventListener("pointerup", (event) => {
  const cell = cellAt(event);
  if (pointers.delete(event.pointerId) && !moved && cell.inside) choose(cell.i, cell.j);
});
canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
canvas.addEventListener("pointerleave", () => tell(cursor));
canvas.addEventListener("dblclick", (event) => zoom(3, cellAt(event).point));

function wheeled(event) {
  event.preventDefault();
  const turned = event.deltaY * (event.deltaMode ? 30 : 1); // lines, or pixels
  zoom(Math.exp(-clamp(turned, -300, 300) / 400), cellAt(event).point);
}
canvas.addEventListener("wheel", wheeled, { passive: false });

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const [closer, farther, wholly] = [() => zoom(1.5), () => zoom(1 / 1.5), () => moveTo(0, 0, 0)];
const KEYS = { "+": closer, "=": closer, "-": farther, 0: wholly };

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in ARROWS) {
    const far = Math.max(finest, event.shiftKey ? Math.ceil(60 / size) : 1);
    const [di, dj] = ARROWS[event.key].map((n) => n * far);
    if (event.shiftKey) moveTo(origin.i + di, origin.j + dj, size);
    else choose(cursor.i + di, cursor.j + dj);
  } else if (event.key in KEYS) KEYS[event.key]();
  else return;
  event.preventDefault();
});

at("in").addEventListener("click", closer);
at("out").addEventListener("click", farther);
at("whole").addEventListener("click", wholly);
at("relative").addEventListener("change", draw);
at("head").addEventListener("change", (event) => show(Number(event.target.value)));
at("find").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  const wanted = event.target.value.trim().toLowerCase();
  const hits = Array.from({ length: T }, (_, n) => (cursor.i + 1 + n) % T);
  const number = /^\d+$/.test(wanted) && Number(wanted) < T ? Number(wanted) : null;
  const found = number ?? hits.find((n) => wanted && page.tokens[n].toLowerCase().includes(wanted));
  event.target.setCustomValidity(found === undefined ? "no such token" : "");
  event.target.reportValidity();
  if (found === undefined) return;
  size = Math.max(size, 24);
  choose(found, row(head, found)[0][0]);
});
at("find").addEventListener("input", (event) => event.target.setCustomValidity(""));

// beginning

function fit() {
  const scale = window.devicePixelRatio || 1;
  if (view && wide === canvas.clientWidth && high === canvas.clientHeight) return;
  const fitted = !view || size === smallest();
  [wide, high] = [canvas.clientWidth, canvas.clientHeight];
  [left, top_] = wide < 500 ? [80, 70] : [130, 110];
  [canvas.width, canvas.height] = [Math.round(wide * scale), Math.round(high * scale)];
  whole = view = null;
  moveTo(origin.i, origin.j, fitted ? 0 : size);
}

// #L16.H0,412,408,40 is a head, a query, a key and the pixels of a token.
function asLinked() {
  const [name, i, j, pixels] = decodeURIComponent(location.hash.slice(1)).split(",");
  const n = page.heads.findIndex((candidate) => candidate.name === name);
  size = clamp(Number(pixels) || 0, smallest(), CLOSEST);
  cursor = { i: clamp(Number(i ?? T - 1) || 0, 0, T - 1), j: clamp(Number(j) || 0, 0, T - 1) };
  show(Math.max(n, 0));
  if (i === undefined) choose(cursor.i, row(head, cursor.i)[0][0]);
}

async function begin() {
  await unpacked();
  const options = page.heads.map(({ name }, n) => Object.assign(element("option", name), { value: n }));
  at("head").append(...options);
  at("choose").hidden = page.heads.length === 1;
  document.querySelector("main").hidden = false;
  head = page.heads[0];
  fit();
  asLinked();
  new ResizeObserver(fit).observe(canvas);
  window.addEventListener("hashchange", asLinked);
}

const ready = begin().catch((error) => {
  at("trouble").hidden = false;
  at("trouble").textContent = `This browser could not open the map (${error}); one of 2023 or later can.`;
});
