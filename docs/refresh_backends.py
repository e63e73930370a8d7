"""Measure torch's attention and a model's own anew and write docs/checking-backends.md: a part of refresh.py.

Its two tables stand in docs/checking.md as well.

    python docs/refresh_backends.py

The errors differ a little from one processor to another; every other cell stays as it is while torch and
transformers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from riverhead.checking.backends import Audit, audit_model, audit_torch
from riverhead.render import render

DOCS = Path(__file__).parent
MODEL = "llama"

TOP = """\
# What torch and transformers do

Implementations of attention agree on the equation, and differ where it says nothing: a query that may
attend to no key, NaN in what is hidden, fewer queries than keys. `riverhead check backend` runs those of
others against [the rules](checking-code.md), as `check code` does with yours, and against float64, and shows
what each does. Every cell is measured when the command runs; none is typed.

    riverhead check backend torch
    riverhead check backend torch --only "SDPA math" --only MHA
    riverhead check backend transformers:llama
    riverhead check backend transformers:path/to/model

`transformers:MODEL` takes a model's folder, or a kind that transformers knows (llama, gpt2, bert, gemma2,
…), of which a tiny one with random numbers is made. Nothing is fetched. Whatever the model's module calls
with `attn_implementation="eager"` and `"sdpa"` is asked, with the masks that transformers itself makes for
it; the last rows are of the whole model. Models are asked in float32, as they run; torch in float64, where
a number that is wrong stands out. `--json` has every rule's verdict, and why what was refused was refused.

Exit status 0 says that no rule that must hold is broken, 1 that one is, 2 and 3 that it could not be
measured.

Both tables are printed by `python docs/refresh_backends.py`; a test compares them with a fresh run.
"""

END = """\
## Worth knowing

- **NaN in a padded slot is not hidden by hiding it.** The weight is 0, and 0 · NaN is NaN: fill what you
  pad with.
- **Looking changes the answer.** `nn.MultiheadAttention` gives NaN for a sample of padding alone where it
  is asked for weights, which is its default, and numbers where it is not.
- **True in a mask has two meanings in one library**: may attend in `scaled_dot_product_attention`, hidden
  in `nn.MultiheadAttention`. A mask of 0.0 and 1.0 is taken by both, added to the scores, and hides
  nothing.
- **`is_causal=True` counts from the first key.** With a cache, where queries are the last ones, give a
  mask; transformers does.
- **`is_causal` beside another mask** is refused, or hides both, or drops one of the two, by kernel and by
  `need_weights`.
- **`dropout_p` knows nothing of evaluation** in `scaled_dot_product_attention`: pass 0 yourself.
- **Packed texts see each other** in transformers unless the mask keeps them apart, or no mask is given and
  no cache is used.
- **`output_attentions=True` with sdpa** hands back nothing, and says nothing.
"""


BETWEEN = re.compile(r"(?<=<!-- backends -->\n).*(?=<!-- end of backends -->)", re.S)
TABLE = re.compile(r"^## What (\w+) does\n\n(.*?)\n\nMeasured with", re.S | re.M)


def tables(page: str) -> str:
    """The tables of the page, each under what it is of."""
    return "".join(f"### {of}\n\n{table}\n\n" for of, table in TABLE.findall(page))


def section(audit: Audit) -> Iterator[str]:
    """One audit in Markdown, its headings one level lower."""
    yield re.sub(r"^#", "##", render(audit.scene(), "markdown"), flags=re.M)


def main() -> None:
    parts = [TOP, *section(audit_torch()), *section(audit_model(MODEL)), END]
    page = "\n".join(part.rstrip() + "\n" for part in parts)
    (DOCS / "checking-backends.md").write_text(page, "utf-8")
    beside = DOCS / "checking.md"
    beside.write_text(BETWEEN.sub(lambda _: tables(page), beside.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
