// Pointer, wheel and keys; then the beginning.

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
