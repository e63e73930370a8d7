"""Hugging Face folders: every array as transformers has it, every other folder refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_files import SHAPES, safetensors, tensors, wordpiece, write_folder, write_index
from checkpoints import MADE, make

from riverhead.errors import ModelError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import check, convert

Said = list[str]


def converted(folder: Path, said: Said | None = None) -> Model:
    convert(folder, folder / "converted", say=(said if said is not None else []).append)
    return open_model(folder / "converted")


def saved(folder: Path, theirs: Any, **options: Any) -> Path:
    """Save a model of transformers, and any tokenizer beside it."""
    theirs.save_pretrained(folder, **options)
    wordpiece().save(str(folder / "tokenizer.json"))
    return folder


def configured(folder: Path, **changes: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
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
    from checkpoint_files import CONFIG

    from riverhead.transformer.huggingface import config_from

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


# ---------------------------------------------------------------- refused by name

BASE = {"rope_type": "default", "rope_theta": 19.0}
ROPE = {"rope_type": "llama3", "rope_theta": 19.0, "factor": 8.0, "low_freq_factor": 1.0}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mamba"}, "model_type is 'mamba' .LlamaForCausalLM., read are llama, mistral, qwen2"),
        ({"model_type": ..., "architectures": ["T5Model"]}, "model_type is None .T5Model., read are llama"),
        ({"model_type": ["llama"]}, "model_type is .'llama'"),
        ({"quantization_config": {"bits": 4}}, "the weights are quantised .* or take a GGUF file"),
        (
            {"rope_scaling": {"type": "yarn", "factor": 4}},
            "RoPE scaling is .*yarn.* read are 'default'",
        ),
        ({"rope_scaling": {"type": "dynamic", "factor": 4}}, "RoPE scaling is .*dynamic"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "RoPE scaling is .*longrope"),
        ({"rope_scaling": {"type": "linear"}}, "RoPE scaling 'linear': factor is None"),
        ({"rope_scaling": {"type": "linear", "factor": "4"}}, "RoPE scaling 'linear': factor is '4'"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, "RoPE scaling 'linear': factor is 0"),
        ({"rope_scaling": {"type": "linear", "factor": True}}, "RoPE scaling 'linear': factor is True"),
        ({"rope_scaling": "linear"}, "RoPE has to be the same in every layer, found 'linear'"),
        ({"rope_parameters": ROPE}, "RoPE scaling 'llama3': high_freq_factor is None"),
        (
            {"rope_parameters": ROPE | {"high_freq_factor": 1.0}},
            "low_freq_factor 1.0 has to be below",
        ),
        ({"rope_parameters": {"full_attention": ROPE}}, "RoPE has to be the same in every layer"),
        ({"rope_parameters": BASE, "rope_scaling": {"rope_type": "zzz", "factor": 2}}, "RoPE .*zzz"),
        ({"rope_parameters": {"rope_type": "zzz"}, "rope_scaling": {"type": "default"}}, "RoPE .*zzz"),
        (
            {"rope_parameters": BASE, "rope_scaling": {"type": "linear", "factor": 2}},
            "rope_parameters is .*19.* and rope_scaling is .*linear.* different turns; keep the one",
        ),
        ({"rope_parameters": BASE, "rope_scaling": {"type": "default"}}, "ask for different turns"),
        (
            {
                "rope_parameters": {"type": "linear", "factor": 3},
                "rope_scaling": {"type": "linear", "factor": 2},
            },
            "ask for different turns",
        ),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "RoPE scaling is .*over all of d_k"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5, read is 1.0"),
        ({"is_decoder": True}, "is_decoder is True, read is False"),
        ({"is_causal": False}, "is_causal is False, read is True"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"add_cross_attention": True}, "add_cross_attention is True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True"),
        ({"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn is True"),
        ({"scale_attn_weights": False}, "scale_attn_weights is False, read is True"),
        ({"hidden_act": "quick_gelu"}, "hidden_act is 'quick_gelu', read are silu"),
        ({"hidden_act": ["silu"]}, "hidden_act is .'silu'"),
        ({"attention_bias": "yes"}, "attention_bias is 'yes', it has to be true or false"),
        ({"attention_bias": True}, "self_attn.q_proj.bias is missing"),
        ({"mlp_bias": True}, "mlp.gate_proj.bias is missing"),
        ({"model_type": "qwen2"}, "self_attn.q_proj.bias is missing"),
        ({"model_type": "qwen3"}, "self_attn.q_norm.weight is missing"),
        ({"tie_word_embeddings": False}, "tensor lm_head.weight is missing"),
        ({"num_hidden_layers": ...}, "num_hidden_layers is missing"),
        ({"num_hidden_layers": 10**18}, "1000000000000000000 layers, but there are 11 tensors"),
        ({"num_hidden_layers": 2}, "tensor layers.1.input_layernorm.weight is missing"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0"),
        ({"num_attention_heads": "3"}, "num_attention_heads is '3'"),
        ({"head_dim": ...}, "hidden_size 5 is no multiple of num_attention_heads 3"),
        ({"head_dim": 13}, "head_dim has to be even, it is 13"),
        ({"intermediate_size": ...}, "intermediate_size is missing"),
        (
            {"intermediate_size": 19},
            r"gate_proj.weight has shape \(17, 5\), the sizes .* make it \(19",
        ),
        ({"vocab_size": 1 << 50}, r"embed_tokens.weight has shape \(11, 5\)"),
        ({"rms_norm_eps": "x"}, "norm_epsilon is 'x'"),
        ({"rope_theta": float("nan")}, "rope_base is nan"),
        ({"model_type": "mistral", "sliding_window": -1}, "sliding_window is -1"),
        (
            {"model_type": "qwen3", "layer_types": ["chunked_attention"]},
            "layer_types is .'chunked",
        ),
        (
            {
                "model_type": "qwen2",
                "use_sliding_window": True,
                "max_window_layers": 0,
                "sliding_window": [],
            },
            "sliding_window is ..",
        ),
    ],
)
def test_a_config_that_asks_for_what_is_not_computed(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        convert(write_folder(tmp_path, **changes), tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


ODD = ["", "x", 0, -1, 1 << 63, 10**400, 0.5, float("inf"), True, None, [], {}, ["a"], {"a": {}}]


def test_any_config_is_read_or_refused(tmp_path: Path) -> None:
    write_folder(tmp_path)
    whole = json.loads((tmp_path / "config.json").read_text())
    extra = ("rope_theta", "rope_scaling", "rope_parameters", "sliding_window", "layer_types", "hidden_act")
    for name in (*whole, *extra, "eos_token_id"):
        for value in ODD:
            (tmp_path / "config.json").write_text(json.dumps(whole | {name: value}))
            with suppress(ModelError):  # anything else would be a fault of ours
                check(tmp_path)


@pytest.mark.parametrize("name", SHAPES)
def test_a_missing_tensor_is_named(tmp_path: Path, name: str) -> None:
    left = {other: array for other, array in tensors().items() if other != name}
    with pytest.raises(ModelError, match=f"tensor {name.removeprefix('model.')} is missing"):
        convert(write_folder(tmp_path, left), tmp_path / "converted")


@pytest.mark.parametrize("name", ["model.layers.1.mlp.up_proj.weight", "model.layers.0.self_attn.sinks", "x"])
def test_a_tensor_without_a_place_is_named(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path, tensors() | {name: np.ones((2, 3), np.float32)})
    with pytest.raises(ModelError, match=f"tensor {name.removeprefix('model.')} has no place in a llama"):
        convert(tmp_path, tmp_path / "converted")


def test_a_tensor_that_is_there_with_a_prefix_and_without_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, tensors() | {"norm.weight": np.ones(5, np.float32)})
    with pytest.raises(ModelError, match=r"tensor norm.weight is there twice"):
        convert(tmp_path, tmp_path / "converted")


PLACES = dict.fromkeys(SHAPES, "model-00001-of-00002.safetensors")


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (
            {"x": "../secret.safetensors"},
            "'../secret.safetensors' is no name of a .safetensors file",
        ),
        ({"x": "/etc/passwd.safetensors"}, "is no name of a .safetensors file beside it"),
        ({"x": "..\\\\secret.safetensors"}, "is no name of a .safetensors file beside it"),
        ({"x": "pytorch_model.bin"}, "'pytorch_model.bin' is no name of a .safetensors file"),
        ({"x": ".."}, "is no name of a .safetensors file beside it"),
        ({"x": "model-00003-of-00002.safetensors"}, "model-00003-of-00002.safetensors, which is not there"),
        (PLACES, "tensor .* is not in model-00001-of-00002.safetensors, where it has to be"),
        ({"x": 3}, "weight_map has to name the file of each tensor"),
        ([], "weight_map has to name the file of each tensor"),
    ],
)
def test_an_index_that_cannot_be_followed(tmp_path: Path, places: Any, words: str) -> None:
    (tmp_path / "secret.safetensors").write_bytes(safetensors(tensors()))
    folder = write_folder(tmp_path / "model", n_shards=2)
    write_index(folder, places)
    with pytest.raises(ModelError, match=words):
        convert(folder, tmp_path / "converted")


def test_a_tensor_in_two_shards_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path, n_shards=2)
    both = {"model.norm.weight": np.ones(5, np.float32)}
    (tmp_path / "more.safetensors").write_bytes(safetensors(both))
    file = tmp_path / "model.safetensors.index.json"
    places = json.loads(file.read_text())["weight_map"]
    write_index(tmp_path, places | {"extra": "more.safetensors"})
    with pytest.raises(ModelError, match=r"tensor model.norm.weight is there twice"):
        convert(tmp_path, tmp_path / "converted")


def unlink(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (unlink("config.json"), "there is no config.json; copy it from where the model came from"),
        (
            unlink("tokenizer.json"),
            "no tokenizer.json; in Python: .*AutoTokenizer.*save_pretrained",
        ),
        (unlink("model.safetensors"), "there is no model.safetensors; a model's folder has config"),
        (write("config.json", "{"), "config.json: cannot be read"),
        (write("config.json", "[]"), "config.json: cannot be read: it has to be a JSON object, it is list"),
        (write("config.json", "[" * 100_000), "config.json: cannot be read"),
        (write("tokenizer.json", "{}"), "tokenizer.json: not a tokenizer"),
        (write("tokenizer_config.json", "x"), "tokenizer_config.json: cannot be read"),
        (write("model.safetensors", "x" * 99), "model.safetensors: a header of"),
        (
            lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff"),
            "chat_template.jinja: cannot be",
        ),
    ],
)
def test_a_folder_that_is_not_whole(tmp_path: Path, change: Callable[[Path], object], words: str) -> None:
    folder = write_folder(tmp_path / "model")
    change(folder)
    with pytest.raises(ModelError, match=words):
        convert(folder, tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


def test_a_config_too_long_to_be_one_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverhead.transformer.files.JSON_BYTES", 100)
    with pytest.raises(ModelError, match=r"config.json: cannot be read: it is longer than 100 bytes"):
        convert(write_folder(tmp_path), tmp_path / "converted")
