// The chosen cell and its row in words, beside the map.

const LARGEST = 12; // keys listed of a row

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
