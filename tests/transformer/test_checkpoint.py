"""Hugging Face folders: every array as transformers has it, and what a folder may be besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_files import CONFIG, safetensors, tensors, wordpiece, write_folder
from checkpoints import MADE, make

from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import check, convert
from riverhead.transformer.huggingface import config_from

Said = list[str]


def converted(folder: Path, said: Said | None = None) -> Model:
    convert(folder, folder / "converted", say=(said if said is not None else []).append)
    return open_model(folder / "converted")


def saved(folder: Path, theirs: Any, **options: Any) -> Path:
    """Save a model of transformers, and any tokenizer beside it."""
    theirs.save_pretrained(folder, **options)
    wordpiece().save(str(folder / "tokenizer.json"))
    return folder


# ---------------------------------------------------------------- against transformers


LLAMA_PLACES = """
    attention_gain model.layers.{}.input_layernorm.weight
    W_qkv model.layers.{}.self_attn.q_proj.weight
    W_qkv model.layers.{}.self_attn.k_proj.weight
    W_qkv model.layers.{}.self_attn.v_proj.weight
    b_qkv model.layers.{}.self_attn.q_proj.bias
    b_qkv model.layers.{}.self_attn.k_proj.bias
    b_qkv model.layers.{}.self_attn.v_proj.bias
    q_gain model.layers.{}.self_attn.q_norm.weight
    k_gain model.layers.{}.self_attn.k_norm.weight
    W_o model.layers.{}.self_attn.o_proj.weight
    b_o model.layers.{}.self_attn.o_proj.bias
    feed_forward_gain model.layers.{}.post_attention_layernorm.weight
    W_up model.layers.{}.mlp.gate_proj.weight
    W_up model.layers.{}.mlp.up_proj.weight
    b_up model.layers.{}.mlp.gate_proj.bias
    b_up model.layers.{}.mlp.up_proj.bias
    W_down model.layers.{}.mlp.down_proj.weight
    b_down model.layers.{}.mlp.down_proj.bias
    embedding model.embed_tokens.weight
    final_gain model.norm.weight
    W_vocab lm_head.weight
"""
GPT2_PLACES = """
    attention_gain transformer.h.{}.ln_1.weight
    attention_shift transformer.h.{}.ln_1.bias
    W_qkv transformer.h.{}.attn.c_attn.weight
    b_qkv transformer.h.{}.attn.c_attn.bias
    W_o transformer.h.{}.attn.c_proj.weight
    b_o transformer.h.{}.attn.c_proj.bias
    feed_forward_gain transformer.h.{}.ln_2.weight
    feed_forward_shift transformer.h.{}.ln_2.bias
    W_up transformer.h.{}.mlp.c_fc.weight
    b_up transformer.h.{}.mlp.c_fc.bias
    W_down transformer.h.{}.mlp.c_proj.weight
    b_down transformer.h.{}.mlp.c_proj.bias
    embedding transformer.wte.weight
    positions transformer.wpe.weight
    final_gain transformer.ln_f.weight
    final_shift transformer.ln_f.bias
    W_vocab lm_head.weight
"""
BERT_PLACES = """
    attention_gain encoder.layer.{}.attention.output.LayerNorm.weight
    attention_shift encoder.layer.{}.attention.output.LayerNorm.bias
    W_qkv encoder.layer.{}.attention.self.query.weight
    W_qkv encoder.layer.{}.attention.self.key.weight
    W_qkv encoder.layer.{}.attention.self.value.weight
    b_qkv encoder.layer.{}.attention.self.query.bias
    b_qkv encoder.layer.{}.attention.self.key.bias
    b_qkv encoder.layer.{}.attention.self.value.bias
    W_o encoder.layer.{}.attention.output.dense.weight
    b_o encoder.layer.{}.attention.output.dense.bias
    feed_forward_gain encoder.layer.{}.output.LayerNorm.weight
    feed_forward_shift encoder.layer.{}.output.LayerNorm.bias
    W_up encoder.layer.{}.intermediate.dense.weight
    b_up encoder.layer.{}.intermediate.dense.bias
    W_down encoder.layer.{}.output.dense.weight
    b_down encoder.layer.{}.output.dense.bias
    embedding embeddings.word_embeddings.weight
    positions embeddings.position_embeddings.weight
    segments embeddings.token_type_embeddings.weight
    embedding_gain embeddings.LayerNorm.weight
    embedding_shift embeddings.LayerNorm.bias
"""
PLACES_OF = {"gpt2": GPT2_PLACES, "bert": BERT_PLACES}


def in_order(
    state: dict[str, np.ndarray], architecture: str, left: set[str]
) -> Iterator[tuple[str, np.ndarray]]:
    """Every array that the state dict fills, with its name; what is used is taken out of ``left``."""
    parts: dict[str, list[np.ndarray]] = {}
    for line in PLACES_OF.get(architecture, LLAMA_PLACES).split("\n")[1:-1]:
        own, template = line.split()
        for layer in range(3) if "{}" in template else ("",):
            if (name := template.format(layer)) in state:
                left.discard(name)
                array = state[name].T if architecture == "gpt2" and own in CONV1D else state[name]
                parts.setdefault(f"{layer}.{own}" if layer != "" else own, []).append(array)
    yield from ((name, np.concatenate(arrays)) for name, arrays in parts.items())


CONV1D = ("W_qkv", "W_o", "W_up", "W_down")


def arrays_of(model: Model) -> dict[str, np.ndarray]:
    """Each array by its name in the layout, its matrices as (out, in)."""
    whole = {name: getattr(model.weights, name) for name in model.weights.__slots__ if name != "blocks"}
    blocks = {
        f"{layer}.{name}": getattr(block, name)
        for layer, block in enumerate(model.weights.blocks)
        for name in block.__slots__
    }
    found = {name: array for name, array in (whole | blocks).items() if array is not None}
    return {name: array.T if "W_" in name else array for name, array in found.items()}


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", MADE)
def test_every_array_is_transformers_to_the_last_bit(tmp_path: Path, name: str, dtype: str) -> None:
    theirs, _ = make(name, tmp_path)
    theirs = theirs.to(getattr(__import__("torch"), dtype))
    shard = {"max_shard_size": "20KB"} if dtype == "float16" else {}
    model = converted(saved(tmp_path, theirs, **shard))
    assert (tmp_path / "model.safetensors.index.json").exists() == bool(shard)
    found = arrays_of(model)
    state = {key: value.float().numpy() for key, value in theirs.state_dict().items()}
    left = {key for key in state if not key.startswith("pooler.")}
    for own, array in in_order(state, model.config.architecture, left):
        np.testing.assert_array_equal(found.pop(own), array, err_msg=own)
    assert not left
    assert found.keys() <= {"rope_divisors"}


@pytest.mark.oracle
def test_what_stands_on_a_model_is_left_out_and_said(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="a BERT with a head: needs the [oracle] extra")
    masked = transformers.BertForMaskedLM(transformers.BertConfig(**MADE["bert"][2]))
    said: Said = []
    model = converted(saved(tmp_path, masked), said)
    assert not model.config.pooler
    assert not model.config.predicts
    (line,) = said
    assert "no part of attention" in line
    assert "cls.predictions.transform.dense.weight" in line
    found = masked.bert.embeddings.word_embeddings.weight.detach().numpy()
    np.testing.assert_array_equal(model.weights.embedding, found)


@pytest.mark.oracle
def test_a_pooler_is_kept(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="a pooler: needs the [oracle] extra")
    theirs = transformers.BertModel(transformers.BertConfig(**MADE["bert"][2]))
    model = converted(saved(tmp_path, theirs))
    assert model.config.pooler
    pooled = np.load(model.folder / "weights.npy")[-(35 * 35 + 35) :]
    np.testing.assert_array_equal(pooled[:-35].reshape(35, 35), theirs.pooler.dense.weight.detach().numpy())


@pytest.mark.oracle
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["Llama", "GPT2"])
def test_a_model_without_a_head_has_odds_where_the_embedding_gives_them(
    tmp_path: Path, kind: str, tied: bool
) -> None:
    transformers = pytest.importorskip("transformers", reason="bare models: needs the [oracle] extra")
    given = MADE[kind.lower()][2] | {"tie_word_embeddings": tied}
    theirs = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**given))
    said: Said = []
    model = converted(saved(tmp_path, theirs), said)
    assert (model.config.predicts, model.weights.W_vocab is not None) == (tied, tied)
    assert bool(said) != tied
    assert all("no lm_head.weight, so there are no odds" in line for line in said)


# ---------------------------------------------------------------- what a folder may be besides


@pytest.mark.parametrize("n_shards", [1, 3])
def test_a_folder_written_by_hand(tmp_path: Path, n_shards: int) -> None:
    arrays = tensors()
    model = converted(write_folder(tmp_path, arrays, n_shards=n_shards))
    block = model.weights.blocks[0]
    found = {name.removeprefix("model.layers.0."): array for name, array in arrays.items()}
    q, k, v = (found[f"self_attn.{name}_proj.weight"].T for name in "qkv")
    np.testing.assert_array_equal(block.W_qkv, np.concatenate([q, k, v], axis=1))
    np.testing.assert_array_equal(block.W_down, found["mlp.down_proj.weight"].T)
    np.testing.assert_array_equal(model.weights.final_gain, arrays["model.norm.weight"])
    assert check(tmp_path) == 4 * sum(array.size for array in arrays.values())


def test_weights_alone_are_read_with_what_lies_beside_them(tmp_path: Path) -> None:
    one = write_folder(tmp_path / "one")
    (one / "model.safetensors").rename(one / "mine.safetensors")
    shards = write_folder(tmp_path / "shards", n_shards=2)
    for weights in (one / "mine.safetensors", shards / "model-00002-of-00002.safetensors"):
        convert(weights, weights.parent / "converted")
        np.testing.assert_array_equal(
            open_model(weights.parent / "converted").weights.embedding, tensors()["model.embed_tokens.weight"]
        )


def test_names_without_a_prefix_and_older_spellings_are_known(tmp_path: Path) -> None:
    bare = {name.removeprefix("model."): array for name, array in tensors().items()}
    model = converted(write_folder(tmp_path, bare))
    np.testing.assert_array_equal(model.weights.final_gain, bare["norm.weight"])


BERT_SHAPES = {
    "embeddings.word_embeddings.weight": (11, 6),
    "embeddings.position_embeddings.weight": (29, 6),
    "embeddings.token_type_embeddings.weight": (2, 6),
    "embeddings.LayerNorm.gamma": (6,),
    "embeddings.LayerNorm.beta": (6,),
    **{
        f"encoder.layer.0.{name}.{end}": (*shape, columns)[: 2 if end == "weight" else 1]
        for name, shape, columns in (
            ("attention.self.query", (6,), 6),
            ("attention.self.key", (6,), 6),
            ("attention.self.value", (6,), 6),
            ("attention.output.dense", (6,), 6),
            ("intermediate.dense", (13,), 6),
            ("output.dense", (6,), 13),
        )
        for end in ("weight", "bias")
    },
    **{
        f"encoder.layer.0.{name}.LayerNorm.{end}": (6,)
        for name in ("attention.output", "output")
        for end in ("gamma", "beta")
    },
}
BERT = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "num_attention_heads": 3,
    "num_key_value_heads": ...,
    "head_dim": ...,
    "hidden_size": 6,
    "intermediate_size": 13,
}


def test_a_bert_of_the_old_kind(tmp_path: Path) -> None:
    """gamma and beta, and the numbers of positions saved with it (of a kind that is not read)."""
    rng = np.random.default_rng(2)
    arrays = {f"bert.{name}": rng.standard_normal(shape, np.float32) for name, shape in BERT_SHAPES.items()}
    whole = safetensors(arrays | {"bert.embeddings.position_ids": np.arange(29, dtype=np.float32)[None]})
    write_folder(tmp_path, arrays, **BERT)
    (tmp_path / "model.safetensors").write_bytes(whole)
    model = converted(tmp_path)
    np.testing.assert_array_equal(model.weights.embedding_shift, arrays["bert.embeddings.LayerNorm.beta"])
    found = model.weights.blocks[0].attention_gain
    np.testing.assert_array_equal(found, arrays["bert.encoder.layer.0.attention.output.LayerNorm.gamma"])
    assert (model.config.causal, model.config.n_segments, model.config.predicts) == (False, 2, False)


@pytest.mark.parametrize("same", [True, False])
def test_a_head_that_was_saved_beside_the_embedding_counts_where_it_differs(
    tmp_path: Path, same: bool
) -> None:
    head = tensors()["model.embed_tokens.weight"] + np.float32(0 if same else 1)
    model = converted(write_folder(tmp_path, tensors() | {"lm_head.weight": head}))
    assert model.config.tied_embeddings == same
    np.testing.assert_array_equal(model.weights.W_vocab, head.T)


def test_the_family_of_an_older_config_is_its_class(tmp_path: Path) -> None:
    write_folder(tmp_path, model_type=..., architectures=["LLaMAForCausalLM"], auto_map={"x": "evil.py"})
    assert converted(tmp_path).config.architecture == "llama"


def test_a_config_that_says_null_is_not_quantised(tmp_path: Path) -> None:
    assert converted(write_folder(tmp_path, quantization_config=None)).config.n_layers == 1


@pytest.mark.parametrize(
    ("changes", "rope_base", "divisors"),
    [
        ({}, 10000.0, None),
        ({"rope_theta": 19.0}, 19.0, None),
        ({"rope_theta": 19.0, "rope_scaling": {"type": "default"}}, 19.0, None),
        ({"rope_theta": 19.0, "rope_scaling": {"type": "linear", "factor": 4.0}}, 19.0, [4.0] * 7),
        ({"rope_parameters": {"rope_type": "linear", "factor": 3, "rope_theta": 23.0}}, 23.0, [3.0] * 7),
        (
            {
                "rope_theta": 19.0,
                "rope_parameters": {"rope_type": "linear", "factor": 3, "rope_theta": 19.0},
                "rope_scaling": {"type": "linear", "factor": 3.0},
            },
            19.0,
            [3.0] * 7,
        ),
        ({"rope_parameters": {"rope_theta": 19.0}, "rope_scaling": {}}, 19.0, None),
    ],
)
def test_rope_in_both_spellings(
    tmp_path: Path, changes: dict[str, Any], rope_base: float, divisors: list[float] | None
) -> None:
    model = converted(write_folder(tmp_path, **changes))
    assert model.config.rope_base == rope_base
    found = model.weights.rope_divisors
    assert (None if found is None else found.tolist()) == divisors


WINDOWS: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"model_type": "mistral"}, (4096,) * 3),  # transformers' own default
    ({"model_type": "mistral", "sliding_window": None}, ()),
    ({"model_type": "mistral", "sliding_window": 7}, (7,) * 3),
    ({"model_type": "llama", "sliding_window": 7}, ()),  # a Llama has none, whatever its config holds
    ({"model_type": "qwen2", "sliding_window": 7}, ()),
    (
        {"model_type": "qwen2", "sliding_window": 7, "use_sliding_window": True, "max_window_layers": 2},
        (0, 0, 7),
    ),
    (
        {
            "model_type": "qwen3",
            "sliding_window": 7,
            "use_sliding_window": True,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        },
        (7, 0, 7),
    ),
]


@pytest.mark.parametrize(("changes", "windows"), WINDOWS)
def test_windows(changes: dict[str, Any], windows: tuple[int, ...]) -> None:
    given = CONFIG | {"num_hidden_layers": 3} | changes
    assert config_from(given, dict.fromkeys("abc", (1,))).windows == windows


@pytest.mark.oracle
@pytest.mark.parametrize(("changes", "windows"), WINDOWS)
def test_windows_are_transformers(changes: dict[str, Any], windows: tuple[int, ...]) -> None:
    transformers = pytest.importorskip("transformers", reason="windows: needs the [oracle] extra")
    names = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    own = {name: value for name, value in changes.items() if name != "model_type"}
    theirs = getattr(transformers, f"{names[changes['model_type']]}Config")(num_hidden_layers=3, **own)
    if changes["model_type"] == "llama":
        assert windows == ()  # its code has no window at all
    elif changes["model_type"] == "mistral":
        assert (theirs.sliding_window or 0,) * 3 == (windows or (0,) * 3)
    else:
        kinds = [kind == "sliding_attention" for kind in theirs.layer_types]
        assert tuple(theirs.sliding_window if slides else 0 for slides in kinds) == (windows or (0,) * 3)


UNSAID = ("num_key_value_heads", "head_dim", "rms_norm_eps", "tie_word_embeddings", "architectures")
SAID = {field: value for field, value in CONFIG.items() if field not in UNSAID} | {
    "num_hidden_layers": 30,  # a Qwen has 28 without a window
    "num_attention_heads": 64,  # of which 8 and 32 key heads are a share
    "hidden_size": 128,
}
FEW = {  # what a family cannot do without
    "llama": ("Llama", SAID),
    "mistral": ("Mistral", SAID),
    "qwen2": ("Qwen2", SAID | {"use_sliding_window": True}),
    "qwen3": ("Qwen3", SAID | {"use_sliding_window": True}),
    "gpt2": ("GPT2", {"n_layer": 2, "n_head": 3, "n_embd": 21, "vocab_size": 11, "n_positions": 29}),
    "bert": ("Bert", SAID | {"tie_word_embeddings": True}),  # to odds it has not: told to no number
}


@pytest.mark.oracle
@pytest.mark.parametrize("family", FEW)
def test_what_a_config_leaves_unsaid_is_what_transformers_takes(family: str) -> None:
    transformers = pytest.importorskip("transformers", reason="defaults: needs the [oracle] extra")
    name, few = FEW[family]
    given = few | {"model_type": family}
    theirs = getattr(transformers, f"{name}Config")(**given).to_dict()
    assert theirs.keys() > given.keys()
    assert config_from(given) == config_from(theirs)
