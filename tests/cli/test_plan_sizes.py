"""What ``riverhead plan`` plans: a name, a file, sizes alone or beside them; and what cannot be planned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planned import Run, value

from riverhead.cost.known import known
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


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "100")
    return Run(capsysbinary)


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
