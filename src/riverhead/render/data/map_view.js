// Moving over the map and drawing it on a canvas.

const at = (id) => document.getElementById(id);
const canvas = at("canvas");
const ink = canvas.getContext("2d");
const CLOSEST = 72; // pixels of a token at most
const NUMBERS = 38; // pixels of a cell that has room for its number
const LETTERS = 13; // of a label
const SLICE = 12; // milliseconds of work between two frames
const EDGE = 9; // beside the last token, for half of its label
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

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

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
  at("advice").hidden = !head.causal; // it is measured in next-token odds
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
