"""``riverhead plan``: figures of a name, a file or sizes, in every format; what cannot be planned."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest

from riverhead.cli.main import main
from riverhead.cli.plan import DTYPES as OFFERED
from riverhead.cli.plan import plan as command
from riverhead.cost.figures import DTYPES
from riverhead.cost.known import known, known_models
from riverhead.cost.plan import plan
from riverhead.transformer import config_file, store
from tiny import Tiny, write_gguf

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 3,
    "num_attention_heads": 10,
    "num_key_value_heads": 5,
    "hidden_size": 20,
    "intermediate_size": 17,
    "vocab_size": 11,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


class Run:
    """The command in this process: its exit status and what it printed."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self.capsys = capsysbinary

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main(["plan", *argv])
        out, err = self.capsys.readouterr()
        assert isinstance(done.value.code, int)
        return done.value.code, out.decode(), err.decode()

    def json(self, *argv: str) -> dict[str, Any]:
        code, out, err = self(*argv, "--json")
        assert (code, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found["plan"]


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")
    return Run(capsysbinary)


def value(found: dict[str, Any], name: str) -> int:
    """The one figure of that name."""
    (figure,) = [figure for figure in found["figures"] if figure["name"] == name]
    number: int = figure["value"]
    return number


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


def test_sizes_alone(run: Run) -> None:
    sizes = ("--n-layers", "3", "--n-heads", "5", "--d-model", "35", "--vocab-size", "11")
    found = run.json(*sizes)
    assert found["model"] == "n_layers 3, n_heads 5, d_model 35, vocab_size 11"
    assert found["config"]["d_k"] == found["config"]["d_v"] == 7
    assert run.json(*sizes, "--d-k", "3", "--n-kv-heads", "1")["config"]["d_v"] == 3


def test_sizes_beside_a_name_take_the_place_of_its_own(run: Run) -> None:
    found = run.json("llama-3-8b", "--n-kv-heads", "1", "--tokens", "8192", "--dtype", "float16")
    assert found["model"] == "Llama 3 8B with n_kv_heads 1"
    assert value(found, "KV cache") == 2**30 // 8
    config = replace(known("llama-3-8b").config, n_kv_heads=1)
    assert found["config"] == config.to_dict()
    assert run.json("llama-3-8b", "--d-k", "64")["config"]["d_v"] == 64


def test_sizes_that_follow_in_the_model_follow_here(run: Run) -> None:
    found = run.json("gpt2", "--n-layers", "48", "--n-heads", "25", "--d-model", "1600")
    assert found["config"] == known("gpt2-xl").config.to_dict()
    (note,) = found["notes"]
    assert "n_kv_heads 25, d_ff 6,400" in note
    heads = run.json("gpt2", "--n-heads", "6")["config"]
    assert (heads["n_kv_heads"], heads["d_k"], heads["d_v"], heads["d_ff"]) == (6, 128, 128, 3072)
    own = run.json("gpt2", "--n-heads", "6", "--n-kv-heads", "2", "--d-k", "5", "--d-ff", "9")["config"]
    assert (own["n_kv_heads"], own["d_k"], own["d_v"], own["d_ff"]) == (2, 5, 5, 9)
    llama = run.json("llama-3-8b", "--d-model", "2048")["config"]
    assert (llama["n_kv_heads"], llama["d_k"], llama["d_ff"]) == (
        8,
        64,
        14336,
    )  # 3.5·d_model is no whole number
    qwen = run.json("qwen3-0.6b", "--n-heads", "32")["config"]
    assert (qwen["n_kv_heads"], qwen["d_k"]) == (8, 128)  # never was d_model / n_heads
    assert run.json("gpt2", "--n-layers", "7")["notes"] == []


def test_sizes_alone_say_what_they_are_taken_for(run: Run) -> None:
    sizes = ("--n-layers", "3", "--n-heads", "5", "--d-model", "35", "--vocab-size", "11")
    _, out, _ = run(*sizes)
    assert "causal model of Llama's kind that reads 2,048 tokens: RMSNorm, SwiGLU" in " ".join(out.split())


BERT = CONFIG | {"model_type": "bert", "num_key_value_heads": 10, "tie_word_embeddings": True}


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (CONFIG, []),
        (CONFIG | {"architectures": ["LlamaModel"]}, []),
        (CONFIG | {"architectures": "LlamaForCausalLM"}, []),  # no list, so it says nothing
        (
            CONFIG | {"architectures": ["LlamaForSequenceClassification"]},
            ["LlamaForSequenceClassification is counted as a llama without a head; what else it has"],
        ),
        (BERT | {"architectures": ["BertModel"]}, []),
        (
            BERT | {"architectures": ["BertForMaskedLM"]},
            ["BertForMaskedLM is counted as a bert without a head, with its pooler; what else it has"],
        ),
        (CONFIG | {"architectures": ["Marvel"]}, ["Marvel is counted as a llama without a head"]),
        (
            CONFIG | {"quantization_config": {"quant_method": "gptq", "bits": 4}},
            ["Counted as float16; the file's weights are quantised (gptq)."],
        ),
    ],
)
def test_what_a_file_has_and_the_plan_has_not_is_said(
    run: Run, tmp_path: Path, given: dict[str, Any], notes: list[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(given))
    found = run.json(str(tmp_path), "--dtype", "float16")["notes"]
    assert len(found) == len(notes)
    assert all(note.startswith(start) for note, start in zip(found, notes, strict=True))


def test_a_quantised_gguf_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_gguf(tmp_path / "tiny.gguf")
    assert run.json(str(file))["notes"] == []
    monkeypatch.setattr(config_file, "FLOATS", ())  # the tiny model's F32 stands for a packed kind
    assert run.json(str(file))["notes"] == ["Counted as float32; the file's weights are quantised (F32)."]


def test_windows(run: Run) -> None:
    assert run.json("mistral-7b", "--n-layers", "3")["config"]["windows"] == [4096] * 3
    assert run.json("mistral-7b", "--window", "0")["config"]["windows"] == []
    assert run.json("gpt2", "--window", "7", "--n-layers", "2")["config"]["windows"] == [7, 7]


def test_layers_of_different_windows_cannot_change_their_number(run: Run, tmp_path: Path) -> None:
    given = CONFIG | {
        "model_type": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 7,
        "max_window_layers": 1,
    }
    (tmp_path / "config.json").write_text(json.dumps(given))
    assert run.json(str(tmp_path))["config"]["windows"] == [0, 7, 7]
    code, _, err = run(str(tmp_path), "--n-layers", "5")
    assert (code, "give --window, too" in err) == (2, True)
    assert run.json(str(tmp_path), "--n-layers", "5", "--window", "7")["config"]["windows"] == [7] * 5


def test_a_config_json_its_folder_and_a_gguf_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    by_file, by_folder = run.json(str(tmp_path / "config.json")), run.json(str(tmp_path))
    assert by_file["figures"] == by_folder["figures"]
    # by hand: embedding and W_vocab; W_q, W_k, W_v, W_o; gate, up, down; norms
    each = 20 * 10 * 2 + 2 * 20 * 5 * 2 + 10 * 2 * 20 + 3 * 20 * 17 + 2 * 20
    (whole,) = [f for f in by_file["figures"] if (f["part"], f["group"]) == ("parameters", "together")]
    assert whole["value"] == 2 * 11 * 20 + 3 * each + 20
    found = run.json(str(write_gguf(tmp_path / "tiny.gguf")))
    assert (found["config"]["d_model"], found["config"]["n_kv_heads"]) == (10, 1)


def test_a_folder_by_its_name_and_a_model_that_was_added(
    run: Run, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tiny.folder / "mine").mkdir()
    (tiny.folder / "mine" / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tiny.folder)
    assert run.json("mine")["config"]["d_model"] == 20
    store.add(write_gguf(tiny.folder / "own.gguf"), "own")
    assert (run.json("own")["model"], run.json("own")["config"]["d_model"]) == ("own", 10)


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ([], 2, "--n-layers --n-heads --d-model --vocab-size missing"),
        (["--n-layers", "3", "--d-model", "4"], 2, "sizes: --n-heads --vocab-size missing"),
        (["lama3-8"], 2, "nearest: llama-3-8b"),
        (["gpt2", "--n-heads", "7"], 2, "d_model 768 is no multiple of n_heads 7; give --d-k, too"),
        (["llama-3-8b", "--n-heads", "4"], 3, "n_heads 4 is no multiple of n_kv_heads 8"),
        ([""], 2, "give a name: NAME is empty"),
        (["--list", "--tokens", "5"], 2, "leave out --tokens"),
        (["gpt2", "--tokens", "0"], 2, "0 is not in the range"),
        (["gpt2", "--batch", "1e3"], 2, "'1e3' is not a valid integer"),
        (["nowhere/config.json"], 2, "nowhere/config.json: no such file; sizes are read from a config.json"),
        (["gpt2.gguf"], 2, "gpt2.gguf: no such file; sizes are read from"),
        (["--list", "gpt2", "--full"], 2, "--list lists what a NAME can be: leave out NAME"),
    ],
)
def test_what_cannot_be_planned(run: Run, argv: list[str], code: int, words: str) -> None:
    found, out, err = run(*argv)
    assert (found, out) == (code, "")
    assert words in err


def test_sizes_without_end_are_exact_and_at_once(run: Run) -> None:
    most = 10**12
    found = run.json("gpt2", "--n-layers", str(most), "--tokens", str(most), "--batch", str(most))
    assert value(found, "scores of all layers") == most * most * 12 * most**2 * 4
    assert run("gpt2", "--tokens", str(most), "--full")[0] == 0


def test_names_of_files_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "<title>\x1b[31m"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    assert "\x1b" not in run(str(folder / "config.json"))[1]
    assert "<title>\x1b" not in run(str(folder / "config.json"), "--format", "html")[1]


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
