"""How long `riverhead.checking.claims` takes over each kind of text, and over texts made to be slow.

    python benchmarks/claims_speed.py [CHARACTERS] [NAME …]

Each text at a quarter of the size, at half, and whole (1 MB): the seconds of the whole, and how they grew at
each doubling. Names pick texts out. A refusal is an answer.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise

from riverhead.checking.claims import claims
from riverhead.errors import RiverheadError


def repeated(text: str) -> Callable[[int], str]:
    return lambda size: (text * (size // len(text) + 1))[:size]


PAGE = """The scores are 3·2 + 1·4 = 10 and √16 = 4, so 10/4 = 2.5; then softmax([2.5, 1.0]) ≈ [0.82, 0.18].\n
| token | q | k |\n|---|---|---|\n| a | (1, 2) | (0, 1) |\n
Nothing is claimed in this sentence, which goes on for a while about queries, keys and values.\n
$$\\frac{e^{0.5}}{e^{0.5} + e^{1.5}} \\approx 0.27$$\n\nq_a = (1, 2)\n\nq_a · k_a = 2\n\n"""
KINDS: dict[str, Callable[[int], str]] = {
    "a page": repeated(PAGE),
    "prose": repeated("Attention mixes what the tokens say, and no number is named in this sentence.\n"),
    "one line of prose": repeated("attention mixes what the tokens say "),
    "log of training": repeated("step 100 | loss 2.31 | lr 3e-4 | 12,345 tok/s | ETA 01:23:45\n"),
    "matrix": lambda n: "W = [" + repeated("[0.12, -1.5, 3.25, 0.5], ")(n)[:-25] + "[0.12, -1.5, 3.25, 0.5]]",
    "numpy print": lambda n: "[" + repeated("[0.12 -1.5 3.25 0.5]\n ")(n) + "]",
    "HTML": lambda n: "<html><body>" + repeated("<p>2 &times; 3 = <b>6</b>, e<sup>2</sup> ≈ 7.39</p>\n")(n),
    "LaTeX": lambda n: "\\documentclass{article}\n" + repeated("$2 \\times 3 = \\frac{12}{2} = 6$\n")(n),
    "Markdown table": repeated("| 1 | 2 × 3 = 6 | 0.5 |\n"),
    "notebook": lambda n: notebook(n // 66),
    "names": lambda n: "".join(f"n{i} = {i}\n" for i in range(n // 14)),
    "a name of a name": lambda n: "n0 = 1\n" + "".join(f"n{i + 1} = n{i} + 1\n" for i in range(n // 22)),
    "a name doubled": lambda n: "n0 = 1\n" + "".join(f"n{i + 1} = n{i} + n{i} = 3\n" for i in range(n // 30)),
    "1+1+… = 1": lambda n: repeated("1+")(n) + "1 = 1",
    "((…))": lambda n: "(" * (n // 2) + ")" * (n // 2),
    "7…7 = 7…7": lambda n: "7" * (n // 2) + " = " + "7" * (n // 2),
    "7.…7 × 7.…7 = 1": lambda n: "0." + "7" * (n // 2) + " × 0." + "7" * (n // 2) + " = 1",
    "softmax([1,1,…]) = [1]": lambda n: "softmax([" + repeated("1,")(n) + "1]) = [1]",
    "[1,…] = [1,…]": lambda n: "[" + repeated("1,")(n // 2) + "1] = [" + repeated("1,")(n // 2) + "1]",
}
ENDLESS = (  # one thing over and over
    *"([{]=x7|$`*_~<&\\ \n\t−-√", "([{", "= ", "1=", "a=", "1=1\n", "1\n=1\n", "=\n", "1+", "1/", "1,",
    "1 ", "1.", "2^", "^2", "e^{", "\\frac{", "\\frac ", "\\sqrt[", "\\begin{bmatrix}", "softmax(",
    "| | |\n", "```\n", "<a ", "<!--", "</", "&amp", "&#", "\\\\", "a_", "a_b = 1\n", "[1 ", "[1,2] = ",
    "[[1,2],\n", "1"+" " * 999, "x̂", "[0.5, 0.5] sums to 1\n", "weights: [0.5, 0.5]\n",
    "scores: [1, 1]\n", '{"a": [1, 2], "b": 0.5}\n', "‏1 = 1 ", "总和为三的二倍，", "1 = 1, ",
    "1 GB = 1 MB ", "0.5 → ", "Q = [[1]]\nK = [[1]]\nV = [[1]]\n",
)  # fmt: skip
KINDS |= {json.dumps(text, ensure_ascii=False): repeated(text) for text in ENDLESS}


def notebook(n_cells: int) -> str:
    cell = {"cell_type": "markdown", "metadata": {}, "source": "2 × 3 = 6"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell] * n_cells})


def main(size: int, names: list[str]) -> None:
    print(f"{'':28}{'seconds':>9} for {size / 1e6:g} MB   growth as it doubles")
    worst = 0.0
    for name, make in KINDS.items():
        if names and name not in names:
            continue
        seconds, words = [], ""
        for part in (4, 2, 1):
            spent, crash = timed(make(size // part)) if not words else (float("nan"), "")
            seconds.append(spent)
            words += f" {crash} at {size // part}" if crash else ""
            words += f" too long at {size // part}" if spent > 20 else ""
        first, second = (b / a for a, b in pairwise(seconds))
        worst = max([worst, *(s / size * 1e6 for s in seconds)])
        words += " SLOW" if seconds[-1] > 2e-6 * size else ""
        words += " STEEP" if min(first, second) > 2.6 and seconds[-1] > 0.1 else ""
        print(f"{name:28}{seconds[-1]:9.2f}{'':12}{first:8.1f}{second:6.1f}{words}", flush=True)
    print(f"{'slowest':28}{worst:9.2f} s/MB   limit 2")


def timed(text: str) -> tuple[float, str]:
    """CPU seconds, and what broke if something did."""
    start, crash = time.process_time(), ""
    try:
        claims(text)
    except RiverheadError:
        pass
    except Exception as error:  # noqa: BLE001 - any crash is a line of the table
        crash = type(error).__name__
    return max(time.process_time() - start, 1e-6), crash


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:])
