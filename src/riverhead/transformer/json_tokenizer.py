"""The tokenizer a Hugging Face folder describes, in tokenizer.json and a few facts beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers

from riverhead.errors import ModelError
from riverhead.transformer.tokens import FALLBACK, spelling_of

__all__ = ["tokenizer_of"]

TOKENIZER_BYTES = 128 << 20  # the largest in use take 35 MB

Json = Mapping[str, Any]


def tokenizer_of(
    path: Path, config: Json, facts: Json, template: str | None
) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """Read tokenizer.json, and from config.json and tokenizer_config.json what else belongs to texts.

    What stands around a text is tokenizer.json's alone, as in transformers 5: flags beside it are older.
    Raises `ModelError` for a file that is none, or a vocabulary that would lose parts of a text unsaid.
    """
    try:
        if path.stat().st_size > TOKENIZER_BYTES:
            raise ValueError(f"it is longer than {TOKENIZER_BYTES} bytes")
        backend = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing narrower
        raise ModelError(f"{path}: not a tokenizer: {error}") from error
    backend.no_truncation()
    backend.no_padding()
    if backend.decoder is None and isinstance(backend.model, tokenizers.models.WordPiece):
        # as transformers' BertTokenizer puts it there, whatever the file leaves out
        backend.decoder = tokenizers.decoders.WordPiece(backend.model.continuing_subword_prefix)
    unknown_id = _unknown_id(path, backend)
    _check(path, backend, unknown_id)
    ids = {name: _special(name, backend, config, facts) for name in ("bos", "eos")}
    text = {"bos_id": ids["bos"], "eos_id": ids["eos"], "chat_template": _template(facts, template)}
    return backend, text | {"unknown_id": unknown_id}


def _check(path: Path, backend: tokenizers.Tokenizer, unknown_id: int | None) -> None:
    """Refuse what the rest of riverhead cannot spell, and what would drop characters."""
    model, spelling = backend.model, spelling_of(backend)
    kind = type(model).__name__
    if spelling is None or (kind == "WordPiece") != (spelling == "wordpiece"):
        raise ModelError(
            f"{path}: a {kind} vocabulary with {_decoder(backend)}; read are byte-level BPE, "
            "SentencePiece (BPE or Unigram) and WordPiece"
        )
    if getattr(model, "dropout", None):
        raise ModelError(f"{path}: it cuts texts at random (dropout {model.dropout}); set dropout to null")
    falls_back = getattr(model, "byte_fallback", False) and None not in map(backend.token_to_id, FALLBACK)
    if spelling != "bytes" and not falls_back and unknown_id is None:
        raise ModelError(f"{path}: it has no token for unknown characters, and would drop them")


def _decoder(backend: tokenizers.Tokenizer) -> str:
    if backend.decoder is not None:
        return f"the decoder {type(backend.decoder).__name__}"
    return "no decoder, which says how its tokens spell (for bytes: tokenizer.decoder = decoders.ByteLevel())"


def _unknown_id(path: Path, backend: tokenizers.Tokenizer) -> int | None:
    """Return the id of the token for what the vocabulary lacks; a Unigram tells it in its file alone."""
    if hasattr(backend.model, "unk_token"):
        token = backend.model.unk_token
        return None if token is None else backend.token_to_id(token)
    found = json.loads(path.read_bytes())["model"].get("unk_id")
    return found if type(found) is int else None


def _special(name: str, backend: tokenizers.Tokenizer, config: Json, facts: Json) -> int | None:
    token = facts.get(f"{name}_token")
    token = token.get("content") if isinstance(token, dict) else token
    if isinstance(token, str) and (token_id := backend.token_to_id(token)) is not None:
        return int(token_id)
    found = config.get(f"{name}_token_id")
    first: Any = found[0] if isinstance(found, list) and found else found
    if type(first) is not int or not 0 <= first < 1 << 31 or backend.id_to_token(first) is None:
        return None
    return first


def _template(facts: Json, template: str | None) -> str | None:
    """Return the chat template: a file of its own, or in tokenizer_config.json, where it may be a list."""
    found = template if template is not None else facts.get("chat_template")
    if isinstance(found, list):
        found = next(
            (one.get("template") for one in found if isinstance(one, dict) and one.get("name") == "default"),
            None,
        )
    return found if isinstance(found, str) and found else None
