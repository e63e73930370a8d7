"""The page of a map: what it holds, how large it is, and that nothing in it is markup but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest
from hostile_scenes import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped import Head, block, heads, held, words

from riverhead.errors import InputError, RiverheadError, ShapeError
from riverhead.render import map_page as module
from riverhead.render.letters import visible
from riverhead.render.map_page import map_page

FLOAT32 = 2.0**-24  # half a step of float32, as a share of the number


def test_one_head_over_2000_tokens_takes_at_most_a_megabyte_and_a_half():
    page = map_page("L16.H0", words(2003), heads(1, 2003, 64))
    assert page.precision == "exact"
    assert len(page.html.encode()) <= 1_500_000


def test_144_heads_over_300_tokens_take_at_most_five_megabytes_to_three_decimals():
    page = map_page("all", words(307), heads(144, 307, 64))
    assert page.precision == "rounded"
    assert len(page.html.encode()) <= 5_000_000
    # of 6.8 million weights one is close to the middle between two thousandths
    assert 0.00049 < page.largest_error <= 0.0005
    assert "To three decimals" in html.unescape(page.html)
    assert "6,808,032 weights" in page.html  # 144 · 307 · 308 / 2


def test_an_exact_page_holds_lse_q_and_each_k_once():
    T, d, given = 13, 5, heads(6, 13, 5, group=3)
    layout, data = held(map_page("six", words(T), given).html)
    assert [head["kv"] for head in layout["heads"]] == [0, 0, 0, 1, 1, 1]
    assert layout["keys"] == [d, d]
    lse, rest = np.frombuffer(data[: 8 * 6 * T], "<f8"), np.frombuffer(data[8 * 6 * T :], "<f4")
    assert np.array_equal(lse.reshape(6, T), [head.weights.lse for head in given])
    assert np.array_equal(rest[: 6 * T * d].reshape(6, T, d), [head.q for head in given])
    assert np.array_equal(rest[6 * T * d :].reshape(2, T, d), [given[0].k, given[3].k])
    shown = [head["scale"] for head in layout["heads"]]
    assert shown == [5**-0.5] * 6  # to the last digit, through JSON


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [None, 1, 3, 11, 17])
def test_a_rounded_page_holds_what_each_query_sees_in_order(causal, window):
    given = heads(2, 11, 3, causal=causal, window=window)
    layout, data = held(map_page("two", words(11), given, "rounded").html)
    low, high = np.frombuffer(data, np.uint8).reshape(2, -1).astype(int)
    expected = [head.weights.dense[head.seen()] for head in given]
    assert np.array_equal(low + 256 * high, np.rint(1000 * np.concatenate(expected)))
    assert [(head["causal"], head["window"]) for head in layout["heads"]] == [(causal, window)] * 2


@settings(max_examples=25)
@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=12), min_size=1, max_size=7))
def test_no_token_and_no_title_leaves_its_place(tokens):
    plain = map_page("x", ["a"] * len(tokens), heads(1, len(tokens), 2)).html
    page = map_page(tokens[0], tokens, heads(1, len(tokens), 2)).html
    for mark in ("<script", "</script", "<style", "<!--", "<img", "<main"):
        assert page.lower().count(mark) == plain.lower().count(mark)
    assert json.loads(block(page, "map"))["tokens"] == [visible(token) for token in tokens]
    assert "<" not in block(page, "map")
    page.encode()  # no half of a surrogate pair is left


def test_the_policy_lets_in_the_pages_own_script_and_style_and_nothing_from_a_network():
    page = map_page("x", words(3), heads(1, 3, 2)).html
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', page)[1])
    assert policy.startswith("default-src 'none';")
    for tag, kind in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}';" in policy
    assert not re.search(r"(src|href)\s*=|https?:|@import|url\(", page)


def test_the_page_has_one_line_that_makes_a_weight():
    page = map_page("x", words(3), heads(1, 3, 2)).html
    assert page.count("Math.exp(head.scale * dot(head, i, j) - head.lse[i])") == 1
    assert "exp(scale · q·k − lse)" in page


def test_the_page_says_how_exact_it_is():
    page = map_page("x", words(7), heads(2, 7, 3))
    assert page.largest_error <= FLOAT32
    assert page.said in html.unescape(page.html)
    assert page.said.startswith("Exact to float32")
    assert "All 56 were compared" in page.said  # 2 · 7 · 8 / 2


@pytest.mark.parametrize("precision", ["exact", "rounded"])
def test_a_weight_the_page_would_show_wrong_is_not_written(precision, monkeypatch):
    (head,) = heads(1, 7, 3)
    right = head.weights
    right.dense[5, 2] *= 1 + 2 * FLOAT32 if precision == "exact" else np.nan
    monkeypatch.setattr(Head, "weights", right)
    with pytest.raises(RiverheadError, match=r"L0\.H0: the weight of query 5 on key 2"):
        map_page("x", words(7), [head], precision)


def test_numbers_that_float32_does_not_hold_are_not_written():
    (head,) = heads(1, 7, 3)
    head.q = 1000 * (head.q.astype(np.float64) + 1 / 3)  # scores of 1000 move by 1000 · 2⁻²⁵
    with pytest.raises(RiverheadError, match=r"L0\.H0: the weight of query"):
        map_page("x", words(7), [head])


def test_pages_too_large_are_refused_with_their_bytes(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 1_000_000)
    with pytest.raises(InputError, match=r"60 heads over 131 tokens .* 1 MB \(rounded\)"):
        map_page("x", words(131), heads(60, 131, 2), "rounded")  # 2 · 60 · 131 · 132 / 2 bytes
    monkeypatch.setattr(module, "EXACT_BYTES", 4 * 2 * 131 * 3)
    assert map_page("x", words(131), heads(1, 131, 3)).precision == "exact"
    assert map_page("x", words(131), heads(2, 131, 3)).precision == "rounded"


def test_rows_come_in_blocks(monkeypatch):
    given = heads(2, 23, 3, window=5)
    whole = [map_page("x", words(23), given, how) for how in ("exact", "rounded")]
    monkeypatch.setattr(module, "BLOCK", 23 * 4)
    assert [map_page("x", words(23), given, how) for how in ("exact", "rounded")] == whole


def test_heads_and_tokens_have_to_fit():
    with pytest.raises(InputError, match="heads is empty"):
        map_page("x", words(3), [])
    with pytest.raises(ShapeError, match="tokens has 5, q has 3"):
        map_page("x", words(5), heads(1, 3, 2))
