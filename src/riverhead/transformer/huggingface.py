"""A Hugging Face config.json becomes a Config: what a family is, and what would change its numbers unsaid.

Fields and defaults are those of transformers' models/*/configuration_*.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from riverhead.cost import Config
from riverhead.errors import ModelError
from riverhead.transformer.rope import SCALINGS

__all__ = ["FAMILIES", "PREDICTS", "classes_of", "config_from", "family_of", "rope_of"]

Json = Mapping[str, Any]

SIZES = {
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "d_model": "hidden_size",
    "d_k": "head_dim",
    "d_ff": "intermediate_size",
    "vocab_size": "vocab_size",
    "context_length": "max_position_embeddings",
    "n_segments": "type_vocab_size",
}
GPT2_SIZES = {
    "n_layers": "n_layer",
    "n_heads": "n_head",
    "d_model": "n_embd",
    "d_ff": "n_inner",
    "vocab_size": "vocab_size",
    "context_length": "n_positions",
}
EPSILON = {"gpt2": "layer_norm_epsilon", "bert": "layer_norm_eps"}
ACTIVATION = {"gpt2": "activation_function"}

# What transformers takes for a field that is not there; a size that is not there is refused.
LLAMA = {"rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": False, "rope_theta": 10000.0}
QWEN = LLAMA | {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28}
DEFAULTS: dict[str, dict[str, Any]] = {
    "llama": LLAMA | {"attention_bias": False, "mlp_bias": False},
    "mistral": LLAMA | {"num_key_value_heads": 8, "sliding_window": 4096},
    "qwen2": QWEN | {"num_key_value_heads": 32},
    "qwen3": QWEN | {"num_key_value_heads": 32, "head_dim": 128, "attention_bias": False},
    "gpt2": {"layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "tie_word_embeddings": True},
    "bert": {"layer_norm_eps": 1e-12, "hidden_act": "gelu", "type_vocab_size": 2},
}
SHIFTED = {"norm": "layer", "gated": False, "qkv_bias": True, "out_bias": True, "feed_forward_bias": True}
TRAITS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True},
    "gpt2": SHIFTED,
    "bert": SHIFTED
    | {"causal": False, "norm_after": True, "embedding_norm": True, "final_norm": False, "predicts": False},
}
FAMILIES = tuple(TRAITS)
ROTARY = ("llama", "mistral", "qwen2", "qwen3")

# Any other value changes the numbers, so it is refused, never ignored.
PLAIN: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False, None),
    "is_causal": (True, None),
    "is_decoder": (False, None),
    "is_encoder_decoder": (False, None),
    "partial_rotary_factor": (1.0, None),
    "position_embedding_type": ("absolute", None),
    "reorder_and_upcast_attn": (False, None),
    "scale_attn_by_inverse_layer_idx": (False, None),
    "scale_attn_weights": (True, None),
}
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
MOST_LAYERS = 1 << 16  # where no tensors are counted
PREDICTS = ("ForCausalLM", "LMHeadModel")  # how classes that have odds of a next token end
LAYER_TYPES = ("full_attention", "sliding_attention")


def classes_of(given: Json) -> list[str]:
    """Return the names of the classes of transformers that the model is of."""
    classes = given.get("architectures")
    return [str(name) for name in classes] if isinstance(classes, list) else []


def family_of(given: Json) -> str:
    """Return the model's family, by ``model_type`` or, in older files, by its class; or refuse it by name."""
    first = next(iter(classes_of(given)), "")
    older = re.match("|".join(FAMILIES), first.lower())
    family = given.get("model_type") or (older and older[0])
    if family not in FAMILIES:
        raise ModelError(
            f"config.json: model_type is {family!r:.60} ({first or 'no architectures'}), read are "
            f"{', '.join(FAMILIES)}; for another model use riverhead.watch with the library it belongs to"
        )
    if given.get("quantization_config") is not None:
        raise ModelError(
            "config.json: the weights are quantised (quantization_config); save them as float32, float16 or "
            "bfloat16 (model.dequantize() in transformers), or take a GGUF file"
        )
    return str(family)


def config_from(given: Json, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Config:
    """Read the config of a model whose tensors, by their names without a prefix, have ``shapes``.

    Without them it is the model that transformers builds anew: a BERT has its pooler then. Raises
    `ModelError` naming the field that is missing or that asks for what is not computed here.
    """
    family = family_of(given)
    given = DEFAULTS[family] | {
        name: value for name, value in given.items() if value is not None or _none(name)
    }
    for name, allowed in PLAIN.items():
        if given.get(name) not in allowed:
            raise ModelError(f"config.json: {name} is {given[name]!r:.60}, read is {allowed[0]!r}")
    sizes = _sizes(family, given)
    n_tensors = MOST_LAYERS if shapes is None else len(shapes)
    if sizes["n_layers"] > n_tensors:
        raise ModelError(
            f"config.json: {sizes['n_layers']} layers, but there are "
            + (f"{n_tensors} tensors" if shapes is not None else f"never more than {n_tensors}")
        )
    traits = TRAITS[family] | {
        "activation": _activation(given, ACTIVATION.get(family, "hidden_act")),
        "tied_embeddings": _flag(given, "tie_word_embeddings"),
        "norm_epsilon": given[EPSILON.get(family, "rms_norm_eps")],
    }
    if family in ROTARY:
        kind, base, _ = rope_of(given)
        traits |= {"rope_base": base, "rope_scaling": kind, "windows": _windows(family, given, sizes)}
        traits |= {trait: True for trait, field in BIASES if _flag(given, field)}
    else:
        pooler = family == "bert" if shapes is None else "pooler.dense.weight" in shapes
        traits |= {"n_positions": sizes["context_length"], "pooler": pooler}
    return Config(architecture=family, **sizes, **traits)


BIASES = (("qkv_bias", "attention_bias"), ("out_bias", "attention_bias"), ("feed_forward_bias", "mlp_bias"))


ROPE_NAMES = ("rope_type", "type", "rope_theta")  # what is said by the kind and the base


def rope_of(given: Json) -> tuple[str | None, float, Json]:
    """Return the kind of RoPE scaling (None: plain), the base, and the scaling's parameters.

    Older files have ``rope_theta`` and ``rope_scaling``, transformers 5 has both in ``rope_parameters``.
    Where a file has both it lets ``rope_scaling`` win, base and all; here they have to say the same.
    """
    fields = [field for field in ("rope_parameters", "rope_scaling") if given.get(field)]
    first, *others = [_rope_in(given, given[field]) for field in fields] or [_rope_in(given, {})]
    if any(other != first for other in others):
        raise ModelError(
            f"config.json: rope_parameters is {given['rope_parameters']!r:.120} and rope_scaling is "
            f"{given['rope_scaling']!r:.120}: they ask for different turns; keep the one the model was "
            "trained with"
        )
    return first


def _rope_in(given: Json, found: Any) -> tuple[str | None, float, Json]:
    if not isinstance(found, dict) or any(isinstance(value, dict) for value in found.values()):
        raise ModelError(f"config.json: RoPE has to be the same in every layer, found {found!r:.120}")
    kind: Any = found.get("rope_type", found.get("type", "default"))
    if kind not in ("default", *SCALINGS) or found.get("partial_rotary_factor", 1) != 1:
        raise ModelError(
            f"config.json: RoPE scaling is {found!r:.120}, read are 'default', 'linear' "
            "and 'llama3', over all of d_k"
        )
    original = {"original_max_position_embeddings": given.get("max_position_embeddings")}
    base: Any = found.get("rope_theta", given.get("rope_theta", 10000.0))
    if kind == "default":
        return None, base, {}
    return kind, base, original | {name: value for name, value in found.items() if name not in ROPE_NAMES}


def _none(name: str) -> bool:
    """Whether null says something of its own: no window, where a missing field would be one of 4096 keys."""
    return name == "sliding_window"


def _sizes(family: str, given: Json) -> dict[str, Any]:
    names = GPT2_SIZES if family == "gpt2" else SIZES
    sizes = {size: given[name] for size, name in names.items() if name in given}
    for size in ("n_layers", "n_heads", "d_model", "vocab_size", "context_length"):
        if type(sizes.get(size)) is not int or sizes[size] < 1:
            found = f"{sizes[size]!r:.60}" if size in sizes else "missing"
            raise ModelError(f"config.json: {names[size]} is {found}, it has to be a whole number above 0")
    if "d_k" not in sizes and sizes["d_model"] % sizes["n_heads"]:
        raise ModelError(
            f"config.json: {names['d_model']} {sizes['d_model']} is no multiple of "
            f"{names['n_heads']} {sizes['n_heads']}"
        )
    d_k = sizes.setdefault("d_k", sizes["d_model"] // sizes["n_heads"])
    sizes.setdefault("n_kv_heads", sizes["n_heads"])
    if family == "gpt2":
        sizes.setdefault("d_ff", 4 * sizes["d_model"])
    if "d_ff" not in sizes:
        raise ModelError(f"config.json: {names['d_ff']} is missing")
    if family in ROTARY and (type(d_k) is not int or d_k % 2):
        raise ModelError(f"config.json: RoPE turns pairs, so head_dim has to be even, it is {d_k!r:.60}")
    if family != "bert":
        sizes.pop("n_segments", None)
    return sizes | {"d_v": d_k}


def _activation(given: Json, field: str) -> str:
    found = given[field]
    if not isinstance(found, str) or found not in ACTIVATIONS:
        raise ModelError(f"config.json: {field} is {found!r:.60}, read are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[found]


def _flag(given: Json, field: str) -> bool:
    if not isinstance(value := given.get(field, False), bool):
        raise ModelError(f"config.json: {field} is {value!r:.60}, it has to be true or false")
    return value


def _windows(family: str, given: Json, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """How many keys the queries of each layer see; empty where all see all."""
    n_layers, types = sizes["n_layers"], given.get("layer_types")
    slides = family == "mistral" or (family.startswith("qwen") and _flag(given, "use_sliding_window"))
    size = given.get("sliding_window") if slides else None
    if types is None:
        first = 0 if family == "mistral" else given.get("max_window_layers", 0)
        if type(first) is not int:
            raise ModelError(f"config.json: max_window_layers is {first!r:.60}, it has to be a whole number")
        types = [LAYER_TYPES[size is not None and layer >= first] for layer in range(n_layers)]
    if not isinstance(types, list) or len(types) != n_layers or not all(t in LAYER_TYPES for t in types):
        raise ModelError(f"config.json: layer_types is {types!r:.60}, each has to be one of {LAYER_TYPES}")
    if LAYER_TYPES[1] not in types:
        return ()
    if type(size) is not int or size < 1:
        raise ModelError(f"config.json: sliding_window is {size!r:.60}, it has to be a whole number above 0")
    return tuple(size if kind == LAYER_TYPES[1] else 0 for kind in types)
