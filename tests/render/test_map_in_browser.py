"""The page of a map as a browser runs it: its weights against Python's, and what a reader does with it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_scenes import HOSTILE
from mapped import Head, heads

from riverhead.render import map_page as module
from riverhead.render.map_page import map_page

CHROMIUM = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: chromium)")

T, D = 23, 5
TOKENS = [HOSTILE[n % len(HOSTILE)] for n in range(T)]

# Leaves in the document what it finds, or what went wrong.
PROBE = """
ready.then(async () => { %s }).then(
  (found) => document.body.append(element("pre", "found:" + JSON.stringify(found) + ":found")),
  (error) => document.body.append(element("pre", "failed: " + error)));
"""
WEIGHTS = """
const all = Array.from({ length: T }, (_, n) => n);
return page.heads.map((head) => all.map((i) => all.map((j) => weight(head, i, j))));
"""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a page with a question after its own script, and return the answer with the document."""
    read = module._data

    def ask(question: str, given: list[Head], precision: str | None = None, tokens: list[str] = TOKENS):
        last = module.SCRIPTS[-1]
        monkeypatch.setattr(
            module, "_data", lambda name: read(name) + (PROBE % question if name == last else "")
        )
        (tmp_path / "map.html").write_text(
            map_page("a <b> map", tokens, given, precision).html, encoding="utf-8"
        )
        flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        ran = subprocess.run(
            [
                CHROMIUM,
                *flags,
                "--virtual-time-budget=60000",
                "--dump-dom",
                f"file://{tmp_path / 'map.html'}",
            ],
            capture_output=True,
            timeout=300,
        )
        document = ran.stdout.decode()
        found = re.search(r"<pre[^>]*>found:(.*):found</pre>", document, re.DOTALL)
        assert found, (document[-2000:], ran.stderr.decode()[-2000:])
        return json.loads(html.unescape(found[1])), document

    return ask


def several() -> list[Head]:
    """Causal and not, with windows and without, two heads over the same keys."""
    given = [
        *heads(2, T, D, group=2, seed=1),
        *heads(1, T, D, seed=2, window=7),
        *heads(1, T, D, seed=3, causal=False),
        *heads(1, T, 3, seed=4, causal=False, window=4),
    ]
    return [replace(head, name=f"L7.H{n}") for n, head in enumerate(given)]


def test_exact_weights_are_pythons(ask):
    given = several()
    found, _ = ask(WEIGHTS, given)
    for head, weights in zip(given, np.array(found), strict=True):
        right = head.weights
        q, k = abs(head.q.astype(np.float64)), abs(head.k.astype(np.float64))
        # A score is a sum of d products; the exponential hands its error on as a share of the weight. One
        # more step each for the scale, lse, its subtraction and exp, on either side.
        largest = float((head.scale * (q @ k.T)).max() + abs(right.lse).max())
        bound = 2 * (head.q.shape[1] + 4) * largest * 2.0**-53
        assert bound < 2.0**-24 / 1000  # far below a step of float32
        assert np.array_equal(weights == 0, ~head.seen())
        assert (abs(weights - right.dense) <= bound * right.dense).all()


def test_rounded_weights_are_pythons_to_three_decimals(ask):
    given = several()
    found, _ = ask(WEIGHTS, given, "rounded")
    for head, weights in zip(given, np.array(found), strict=True):
        assert np.array_equal(weights, np.rint(1000 * head.weights.dense) / 1000)


def test_a_picture_shows_the_largest_weight_of_each_square(ask):
    question = """
    return [3, 4].map((size) => page.heads.map((head) => {
      const [rows, keys] = [{ at: 1, n: Math.ceil(T / size) - 1 }, { at: 2, n: 3 }];
      const picture = new Float32Array(rows.n * keys.n);
      for (const step of pooled(head, rows, keys, size, picture));
      return Array.from(picture);
    }));
    """
    given = several()
    found, _ = ask(question, given)
    for size, pictures in zip((3, 4), found, strict=True):
        for head, picture in zip(given, pictures, strict=True):
            shown = np.where(head.seen(), head.weights.dense, -1)
            expected = [
                shown[a : a + size, b : b + size].max()
                for a in range(size, T, size)
                for b in range(2 * size, 5 * size, size)
            ]
            # the picture is float32
            assert picture == pytest.approx(expected, rel=2.0**-23)


def test_a_reader_moves_with_the_keys_and_hears_where_they_are(ask):
    question = """
    const press = (key, how) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, ...how }));
    const said = () => [at("live").textContent, at("cell").textContent, size];
    const heard = [said()];
    for (const key of ["ArrowUp", "ArrowLeft", "+", "+", "0"]) { press(key); heard.push(said()); }
    at("find").value = "4";
    at("find").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    heard.push(said());
    at("head").value = 3;
    at("head").dispatchEvent(new Event("change"));
    choose(2, 5);
    const [last, named, advised] = [said()[0], at("named").textContent, !at("advice").hidden];
    press("0");
    const shade = (i, j) => {
      const [x, y] = middle({ i, j });
      return Array.from(ink.getImageData(x - size / 4, y - size / 4, 1, 1).data);
    };
    const drawn = async () => { while (working) await new Promise(requestAnimationFrame); };
    await drawn();
    const shades = [shade(4, 2), shade(20, 21)];
    show(0);
    await drawn();
    shades.push(shade(4, 2), shade(2, 4));
    const [bars, fine] = [at("largest").children.length, at("trouble").hidden];
    return { heard, last, named, advised, shades, bars, fine };
    """
    given = several()
    tokens = [f"t{n}" for n in range(T)]
    found, _ = ask(question, given, tokens=tokens)
    weights = given[0].weights.dense
    j = int(weights[T - 1].argmax())

    def at(i: int, j: int, head: Head = given[0]) -> str:
        said = f"weight {head.weights.dense[i, j]:.3f}" if head.seen()[i, j] else "hidden"
        return f"query {i} \u2068“t{i}”\u2069, key {j} \u2068“t{j}”\u2069: {said}"

    spoken = [line.replace(" \u2192 ", ", ") for line, _, _ in found["heard"]]
    here = max(j - 1, 0)
    assert spoken[:3] == [at(T - 1, j), at(T - 2, j), at(T - 2, here)]
    assert spoken[-1] == at(4, int(weights[4].argmax()))
    sizes = [size for _, _, size in found["heard"]]
    assert sizes[2] < sizes[3] < sizes[4]
    assert sizes[5] == sizes[0]
    assert found["last"] == at(2, 5, given[3])
    assert found["advised"] is False  # the last head is not causal
    assert (found["named"], found["bars"], found["fine"]) == (given[3].name, 3, True)
    # the blue of the maps, as opaque as the root of the weight in 255 steps; grey where hidden
    dense = [given[3].weights.dense[4, 2], given[3].weights.dense[20, 21], weights[4, 2]]
    for (*colour, opacity), weight in zip(found["shades"], dense, strict=False):
        assert opacity == int(255 * weight**0.5)
        assert colour == pytest.approx([47, 125, 225], abs=255 / opacity)
    assert found["shades"][3] == pytest.approx([128, 128, 128, 0.14 * 255], abs=4)


def test_hostile_tokens_stay_text(ask):
    question = "choose(2, 2); return [...document.querySelectorAll('*')].map((node) => node.localName)"
    found, document = ask(question, heads(1, T, D))
    assert found.count("script") == 3
    assert not {"img", "b", "iframe", "svg"} & set(found)
    assert "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in document
