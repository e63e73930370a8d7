"use strict";
// What the page holds, as weights: from q, k and lse in double precision, or from three decimals.

const page = JSON.parse(document.getElementById("map").textContent);
const T = page.tokens.length;

// The keys that query i sees: from first(head, i) to before end(head, i).
const first = (head, i) => (head.window ? Math.max(0, i - head.window + 1) : 0);
const end = (head, i) => (head.causal ? i + 1 : head.window ? Math.min(T, i + head.window) : T);
const sees = (head, i, j) => j >= first(head, i) && j < end(head, i);

function dot(head, i, j) {
  const { q, k, d } = head;
  let sum = 0;
  for (let c = 0, a = i * d, b = j * d; c < d; c++) sum += q[a + c] * k[b + c];
  return sum;
}

const computed = (head, i, j) => Math.exp(head.scale * dot(head, i, j) - head.lse[i]);

function rounded(head, i, j) {
  const at = head.start[i] + j - first(head, i);
  return (page.low[at] + 256 * page.high[at]) / 1000;
}

const weight = (head, i, j) => (sees(head, i, j) ? (page.exact ? computed : rounded)(head, i, j) : 0);

// The largest weight of each square of `size` queries and keys, −1 where all are hidden; a row at a time.
function* pooled(head, rows, keys, size, picture) {
  for (let r = 0; r < rows.n; r++) {
    const cells = picture.subarray(r * keys.n, (r + 1) * keys.n).fill(-1);
    const from = (rows.at + r) * size;
    for (let i = from; i < Math.min(from + size, T); i++) {
      const stop = Math.min(end(head, i), (keys.at + keys.n) * size);
      for (let j = Math.max(first(head, i), keys.at * size); j < stop; j++) {
        const cell = Math.floor(j / size) - keys.at;
        const found = weight(head, i, j);
        if (found > cells[cell]) cells[cell] = found;
      }
      yield;
    }
  }
}

function row(head, i) {
  const found = [];
  for (let j = first(head, i); j < end(head, i); j++) found.push([j, weight(head, i, j)]);
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// The arrays of each head, in the order in which they were written.
function laidOut(buffer) {
  let at = 0;
  const take = (type, n) => {
    const found = new type(buffer, at, n);
    at += found.byteLength;
    return found;
  };
  if (page.exact) {
    for (const head of page.heads) head.lse = take(Float64Array, T);
    for (const head of page.heads) head.q = take(Float32Array, T * head.d);
    const keys = page.keys.map((d) => take(Float32Array, T * d));
    for (const head of page.heads) head.k = keys[head.kv];
    return;
  }
  let total = 0;
  for (const head of page.heads) {
    head.start = Float64Array.from({ length: T }, (_, i) => {
      const here = total;
      total += end(head, i) - first(head, i);
      return here;
    });
  }
  page.low = take(Uint8Array, total);
  page.high = take(Uint8Array, total);
}

async function unpacked() {
  const bytes = Uint8Array.from(atob(document.getElementById("numbers").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  laidOut(await new Response(stream).arrayBuffer());
}
