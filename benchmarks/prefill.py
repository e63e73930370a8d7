"""Reading a text: riverhead beside transformers (sdpa, float32), CPU time, same threads.

    OMP_NUM_THREADS=1 python benchmarks/prefill.py [ROUNDS] [TOKENS]

Needs the model (riverhead models fetch smollm2) and the [oracle] extra. Each round times both, one after the
other, in the other order the next time, so that a slow minute of the machine meets both; what counts is the
median of the rounds' ratios. transformers' weights are random: they do not change its time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

N_THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", "1"))  # before NumPy and torch are loaded


def main(rounds: int, n_tokens: int) -> None:
    import numpy as np
    import torch
    import transformers

    from riverhead.transformer import load

    model = load("smollm2")
    c = model.config
    ids = np.random.default_rng(0).integers(0, c.vocab_size, (1, n_tokens))
    torch.set_num_threads(N_THREADS)
    config = transformers.LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.d_model,
        intermediate_size=c.d_ff,
        num_hidden_layers=c.n_layers,
        num_attention_heads=c.n_heads,
        num_key_value_heads=c.n_kv_heads,
        head_dim=c.d_k,
        max_position_embeddings=c.context_length,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
        dtype="float32",
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    torch_ids = torch.tensor(ids)

    @torch.inference_mode()
    def read_with_transformers() -> Any:
        return theirs(torch_ids, logits_to_keep=1, use_cache=False).logits

    readers = {"riverhead": lambda: model.run(ids).logits(-1), "transformers": read_with_transformers}
    seconds = run(readers, rounds)
    ratio = median(a / b for a, b in zip(seconds["riverhead"], seconds["transformers"], strict=True))
    print(
        f"{n_tokens} tokens, {N_THREADS} thread(s), {rounds} rounds, transformers {transformers.__version__}"
    )
    for name, found in seconds.items():
        print(f"{name:14}{median(found):8.3f} CPU s")
    print(f"{'ratio':14}{ratio:8.2f}   limit {1.1 if n_tokens < 4096 else 1.0}")


def run(readers: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the CPU seconds of each reader, round by round; a first round warms up and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(rounds + 1):
        for name in list(readers)[:: -1 if turn % 2 else 1]:
            start = time.process_time()
            readers[name]()
            if turn:
                seconds[name].append(time.process_time() - start)
    return seconds


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], *["9", "512"][len(sys.argv) - 1 :]]))
