"""A model's own attention, eager and sdpa: its module, what that calls, the masks it makes."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from riverhead.checking.backends.backend import Backend, four_axes, in_a_sentence
from riverhead.checking.rules.running.raised import described
from riverhead.errors import InputError, MissingExtraError, ModelError

__all__ = ["Attending", "Opened", "called", "model_backends", "opened", "versions"]

WAYS = ("eager", "sdpa")
ASKED = "riverhead"  # what the function that looks on is registered as
# A model of a kind, small: whoever calls a size otherwise has told transformers so.
TINY: Mapping[str, int] = {
    "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 3,
    "head_dim": 8, "intermediate_size": 64, "vocab_size": 97, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attending:
    """One attention module of a model, and what it hands to its function beside q, k, v."""

    module: Any
    scaling: float | None
    width: int
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """A model for each way that it can attend in, with the same numbers, and its first attention."""

    name: str
    models: Mapping[str, Any]
    refused: Mapping[str, str]
    first: Attending


def opened(model: str) -> Opened:
    """Open a model's folder, or make a tiny one of a kind that transformers knows (llama, gpt2, bert, …).

    Nothing is fetched. `InputError` for a name that is neither, `ModelError` where the model cannot be made,
    or does not attend through transformers' attention interface.
    """
    try:
        import transformers
    except ImportError as missing:
        raise MissingExtraError("transformers is not installed: pip install 'riverhead[oracle]'") from missing
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    make = _folder(Path(model)) if Path(model).is_dir() else _tiny(model)
    models, refused = {}, {}
    for way in WAYS:
        try:
            models[way] = make(way).eval()
        except (ImportError, OSError, TypeError, ValueError) as raised:
            refused[way] = in_a_sentence(raised)
    if not models:
        raise ModelError(f"{model} cannot be opened: {refused[WAYS[0]]}")
    name = Path(model).name
    return Opened(name, models, refused, _first(name, next(iter(models.values()))))


def _folder(folder: Path) -> Callable[[str], Any]:
    from transformers import AutoModel

    return lambda way: AutoModel.from_pretrained(
        folder, local_files_only=True, attn_implementation=way, dtype="float32"
    )


def _tiny(kind: str) -> Callable[[str], Any]:
    import torch
    from transformers import CONFIG_MAPPING, AutoConfig, AutoModel

    if kind not in CONFIG_MAPPING:
        near = get_close_matches(kind, list(CONFIG_MAPPING), 1)
        mean = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"{kind} is neither a folder nor a kind of model that transformers knows{mean}")

    def make(way: str) -> Any:
        torch.manual_seed(0)
        config = AutoConfig.for_model(kind, **TINY)
        return AutoModel.from_config(config, attn_implementation=way)  # type: ignore[no-untyped-call]

    return make


class _SeenError(Exception):
    """Enough was seen."""


def _first(name: str, model: Any) -> Attending:
    """Let the model read a few tokens, and look at the first attention that it asks for."""
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    seen: list[Attending] = []

    def look(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **more: Any) -> Any:
        seen.append(Attending(module, more.get("scaling"), query.shape[-1], more))
        raise _SeenError

    AttentionInterface.register(ASKED, look)
    AttentionMaskInterface.register(ASKED, sdpa_mask)
    before = model.config._attn_implementation
    try:
        model.set_attn_implementation(ASKED)
        with torch.no_grad():
            model(torch.arange(3, 8)[None])
    except _SeenError:
        pass
    except Exception as raised:
        raise ModelError(f"{name} cannot read a few tokens: {described(raised)}") from raised
    finally:
        model.set_attn_implementation(before)
    if not seen:
        raise ModelError(f"{name} does not attend through transformers' attention interface")
    return seen[0]


def model_backends(model: Opened) -> tuple[Backend, ...]:
    """Return each way in which the model's module attends, with the masks that transformers makes for it."""
    kind = type(model.first.module).__name__
    says = "what {} calls with attn_implementation={!r}; masks by masking_utils.{}_mask"
    return tuple(
        Backend(
            f"{model.name} {way}",
            says.format(kind, way, way),
            attending(model.first, way) if way in model.models else None,
            model.refused.get(way, ""),
            way,
        )
        for way in WAYS
    )


def attending(first: Attending, way: str) -> Callable[..., Any]:
    """Return the path from q, k, v (B, H, T, d) and a mask (True = may attend) as the model goes it.

    The mask becomes what transformers hands to this way; fewer queries than keys are the last ones, as with a
    cache. The scale is 1/√d unless one is given, whatever the model's own.
    """

    def attend(
        query: Any, key: Any, value: Any, mask: Any = None, key_mask: Any = None, is_causal: bool = False,
        scale: float | None = None, dropout_p: float = 0.0, **more: Any,
    ) -> Any:  # fmt: skip
        four_axes(query)
        if str(query.dtype) == "torch.float64":
            raise TypeError("models run in float32 or less; in float64 some work out the softmax in float32")
        made = _mask(way, query, key, mask, key_mask, is_causal)
        out, weights = called(first, way, query, key, value, made, scale, dropout_p, is_causal, **more)
        return out if weights is None else (out, weights)

    def capped(
        query: Any, key: Any, value: Any, mask: Any = None, key_mask: Any = None, is_causal: bool = False,
        scale: float | None = None, dropout_p: float = 0.0, softcap: float | None = None,
    ) -> Any:  # fmt: skip
        return attend(query, key, value, mask, key_mask, is_causal, scale, dropout_p, softcap=softcap)

    return capped if "softcap" in first.more else attend


def called(
    first: Attending, way: str, query: Any, key: Any, value: Any, made: Any = None,
    scale: float | None = None, dropout: float = 0.0, is_causal: bool = False, **more: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Call the function of a way as the module does, for as many heads as are given; out (B, H, T, d)."""
    module = copy.copy(first.module)
    if hasattr(module, "num_key_value_groups"):
        module.num_key_value_groups = query.shape[1] // key.shape[1]
    if way == "eager":
        function = sys.modules[type(module).__module__].eager_attention_forward
    else:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        function = ALL_ATTENTION_FUNCTIONS[way]
    scaling = query.shape[-1] ** -0.5 if scale is None else scale
    out, weights = function(
        module, query, key, value, made, scaling=scaling, dropout=dropout, is_causal=is_causal, **more
    )
    return out.transpose(1, 2), weights


def _mask(way: str, query: Any, key: Any, mask: Any, key_mask: Any, is_causal: bool) -> Any:
    """What transformers hands to this way of attending, made by its own function."""
    from transformers import masking_utils as made

    (B, _, T, _), S = query.shape, key.shape[2]
    functions: list[Any] = [made.causal_mask_function if is_causal else made.bidirectional_mask_function]
    if mask is not None:
        given = mask.expand(B, *(mask.shape[1:] if mask.dim() == 4 else (1, T, S)))
        if given.shape[1] > 1:
            raise ValueError("transformers makes one mask for all heads")
        functions.append(lambda b, h, i, j: given[b, h, i - (S - T), j])
    elif key_mask is None and not is_causal:
        return None
    return made.ALL_MASK_ATTENTION_FUNCTIONS[way](
        batch_size=B, q_length=T, kv_length=S, q_offset=S - T, dtype=query.dtype, attention_mask=key_mask,
        mask_function=made.and_masks(*functions), allow_is_causal_skip=is_causal and mask is None,
    )  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions that a measurement depends on."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}
