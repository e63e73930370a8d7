"""``riverhead plan``: the overview, every format, one part, ``--full``, ``--list``."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import click
import pytest
from planned import Run, value

from riverhead.cli.plan import DTYPES as OFFERED
from riverhead.cli.plan import plan as command
from riverhead.cost.figures import DTYPES
from riverhead.cost.known import known, known_models
from riverhead.cost.plan import plan


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")
    return Run(capsysbinary)


def test_the_overview_has_both_units_and_every_digit(run: Run) -> None:
    code, out, err = run("llama-3-8b", "--tokens", "8192", "--dtype", "float16")
    assert (code, err) == (0, "")
    rows = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    assert ["KV cache, 8 kv heads", "1.07 GB (1.00 GiB)", "1,073,741,824"] in rows
    assert ["parameters", "8.03 billion", "8,030,261,248"] in rows
    assert ["scores of a head", "134 MB (128 MiB)", "134,217,728"] in rows
    assert not re.search(r"\d [GM]B(?! \()", out)  # never the decimal unit without the binary one


def test_forty_gigabytes_a_head_for_100_000_tokens(run: Run) -> None:
    _, out, _ = run("gpt2", "--tokens", "100000")
    assert re.search(r"scores of a head +40\.0 GB \(37\.3 GiB\) +40,000,000,000", out)
    assert "reads 1,024 tokens; the figures are those of 100,000 all the same" in " ".join(out.split())
    assert "all the same" not in run("gpt2", "--tokens", "1024")[1]


def overview_of(run: Run, *argv: str) -> dict[str, str]:
    """The last column of the overview, by the first."""
    rows = [re.split(r"  +", line.strip()) for line in run(*argv)[1].splitlines()]
    return {row[0]: row[-1] for row in rows if len(row) == 3}


def test_the_overview_by_hand(run: Run) -> None:
    """Every row but the peak, worked out apart: grouped heads, a window, a batch, numbers of 2 bytes."""
    B, T, n, H, G, d_model, d_k, d_ff, n_vocab, w = 3, 29, 32, 32, 8, 4096, 128, 14336, 32000, 7
    block = d_model * d_k * (2 * H + 2 * G) + 3 * d_model * d_ff
    parameters = n * (block + 2 * d_model) + d_model + 2 * n_vocab * d_model
    products = 2 * (n * block + n_vocab * d_model)
    pair, visible = 4 * B * n * H * d_k, sum(min(i, w) for i in range(1, T + 1))
    expected = {
        "parameters": parameters,
        "prefill: matrix products": B * T * products,
        "prefill: attention, all pairs": T * T * pair,
        "prefill: attention, visible": visible * pair,
        "next token: matrix products": B * products,
        "next token: attention, all pairs": (T + 1) * pair,
        "next token: attention, visible": w * pair,
        "training: matrix products": 3 * B * T * products,
        "training: attention, all pairs": 3 * T * T * pair,
        "training: attention, visible": 3 * visible * pair,
        "weights": 2 * parameters,
        "scores of a head": 2 * T * T,
        "scores of a layer's heads": 2 * B * H * T * T,
        "scores of all layers": 2 * n * B * H * T * T,
        "KV cache, 8 kv heads": 2 * B * n * w * 2 * G * d_k,
        "KV cache as MHA, 32 kv heads": 2 * B * n * w * 2 * H * d_k,
        "KV cache as MQA, 1 kv head": 2 * B * n * w * 2 * d_k,
        # the first T at which T·pair > products of a token, B and T divided out
        "T*: attention, all pairs": products // (4 * n * H * d_k) + 1,
    }
    shown = overview_of(
        run, "mistral-7b", "--window", "7", "--tokens", "29", "--batch", "3", "--dtype", "float16"
    )
    peak = [f for f in plan(known("mistral-7b").config, 29, 3, "float16").figures if "peak" in f.name]
    assert shown.pop("peak of a prefill, no cache") == f"{peak[0].value:,}"
    assert shown == {name: f"{number:,}" for name, number in expected.items()}


def test_the_overview_repeats_no_row(run: Run) -> None:
    """A model whose heads share nothing is MHA, one with one kv head MQA: no row says so once more."""
    assert [name for name in overview_of(run, "gpt2") if "KV" in name] == [
        "KV cache, 12 kv heads",
        "KV cache as MQA, 1 kv head",
    ]
    assert [name for name in overview_of(run, "gpt2", "--n-kv-heads", "1") if "KV" in name] == [
        "KV cache, 1 kv head",
        "KV cache as MHA, 12 kv heads",
    ]


def test_the_overview_shows_what_the_plan_counts(run: Run) -> None:
    """Each number of the overview is one of the plan, of models with groups, windows, and both ways."""
    for name in ("smollm2", "mistral-7b", "bert-base"):
        counted = {f"{figure.value:,}" for figure in plan(known(name).config, 29).figures if figure.value}
        _, out, _ = run(name, "--tokens", "29")
        shown = re.findall(r"  ([\d,]+)$", out, re.M)
        assert len(shown) >= 11
        assert set(shown) <= counted


def test_a_model_that_sees_both_ways_has_no_cache(run: Run) -> None:
    _, out, _ = run("bert-base")
    assert "KV cache" not in out
    assert "next token" not in out
    assert run("bert-base", "--full")[0] == 0


def test_json_has_every_figure_with_its_formula(run: Run) -> None:
    code, out, _ = run("smollm2", "--tokens", "29", "--json")
    found = json.loads(out)
    assert (code, found["schema"]) == (0, "riverhead.plan/1")
    whole = plan(known("smollm2").config, 29, name="SmolLM2-135M").to_dict()
    assert found["plan"] == {name: part for name, part in whole.items() if name != "schema"}
    assert all(figure["formula"] and figure["numbers"] for figure in found["plan"]["figures"])


def test_csv_has_a_row_for_every_figure(run: Run) -> None:
    code, out, _ = run("smollm2", "--tokens", "29", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    figures = plan(known("smollm2").config, 29).figures
    assert code == 0
    assert [row["value"] for row in rows] == ["" if f.value is None else str(f.value) for f in figures]


@pytest.mark.parametrize("part", ["parameters", "flops", "memory", "growth"])
def test_a_part_is_that_part_alone(run: Run, part: str) -> None:
    found = run.json("gpt2", "--part", part)
    assert {figure["part"] for figure in found["figures"]} == {part}
    assert ("doubled" in found) == (part == "growth")
    titles = {"parameters": "Parameters", "flops": "FLOPs: 1,024", "memory": "KV cache of", "growth": "T*"}
    _, out, _ = run("gpt2", "--part", part)
    assert {name for name, title in titles.items() if re.search(f"^{re.escape(title)}", out, re.M)} == {part}


def test_full_puts_the_numbers_in(run: Run) -> None:
    assert "12·768·12·64 = 7,077,888" in run("gpt2", "--full")[1]
    assert "12·768·12·64" not in run("gpt2", "--part", "parameters")[1]


@pytest.mark.parametrize("format", ["markdown", "html", "latex"])
def test_a_document_has_every_table(run: Run, format: str) -> None:
    code, out, _ = run("gpt2", "--format", format)
    assert code == 0
    assert "124,439,808" in out.replace("{,}", ",")
    assert "twice as long" in out


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_is_the_plot(run: Run, tmp_path: Path, suffix: str, start: bytes) -> None:
    file = tmp_path / f"cost.{suffix}"
    assert run("llama-3-8b", "-o", str(file)) == (0, "", "")
    assert file.read_bytes().startswith(start)
    if suffix == "svg":
        drawn = file.read_text("utf-8")
        assert all(words in drawn for words in ("matrix products", "KV cache as MHA", "T* = "))
        assert "stands for" not in drawn


def test_a_picture_of_one_part_is_refused(run: Run, tmp_path: Path) -> None:
    code, _, err = run("gpt2", "--part", "flops", "-o", str(tmp_path / "cost.svg"))
    assert (code, "--part flops has no picture" in err) == (2, True)


@pytest.mark.parametrize("batch", ["1", "3"])
@pytest.mark.parametrize("dtype", OFFERED)
def test_batch_and_dtype(run: Run, batch: str, dtype: str) -> None:
    found = run.json("smollm2", "--tokens", "7", "--batch", batch, "--dtype", dtype)
    assert value(found, "KV cache") == int(batch) * 7 * 30 * 3 * (64 + 64) * DTYPES[dtype]


def test_dtypes_are_those_that_are_known() -> None:
    assert set(OFFERED) == set(DTYPES)


def test_tokens_are_the_models_context_unless_given(run: Run) -> None:
    assert run.json("smollm2")["tokens"] == 8192


def test_list_is_every_known_model(run: Run) -> None:
    code, out, err = run("--list")
    assert (code, err) == (0, "")
    table = tomllib.loads(files("riverhead.cost").joinpath("models.toml").read_text("utf-8"))["model"]
    assert re.findall(r"^  ([\w.-]+) +[\d,]+ +\d+ ", out, re.M) == list(table)
    assert "llama-2-13b: published 13,015,866,880, 2,560 more" in " ".join(out.split())
    assert "https://" not in out
    assert "https://" in run("--list", "--full")[1]


def test_list_as_data(run: Run) -> None:
    code, out, _ = run("--list", "--json")
    found = json.loads(out)
    assert (code, found["schema"]) == (0, "riverhead.plan.list/1")
    assert {row["name"]: row["source"] for row in found["models"]} == {
        model.name: model.source for model in known_models().values()
    }
    _, out, _ = run("--list", "--format", "csv")
    assert len(list(csv.DictReader(io.StringIO(out)))) == len(known_models())


def test_every_option_has_help() -> None:
    assert all(option.help for option in command.params if isinstance(option, click.Option))
