"""Watching a model beside its own forward pass: time and peak memory, each run in a process of its own.

    OMP_NUM_THREADS=1 python benchmarks/watching.py [ROUNDS] [T ...]

A random GPT-2 (12 layers, 12 heads, d_model 768), float32, one sequence of T tokens. `watch` is
``riverhead.watch(model)`` around transformers' sdpa; `eager` is ``output_attentions=True``; TransformerLens
(its bridge, run_with_cache of the patterns) and BertViz (head_view of the eager weights, its page) are
run where they are installed: pip install transformer_lens bertviz. A round runs each once, in the other order
the next time; what counts is the median over the rounds of CPU time ÷ that of sdpa in the same round. Memory
is the peak of the resident set above what it was before, the median over the rounds; the allocator is told to
give large blocks back at once: the peak of sdpa alone is else twice as high in some runs as in others.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

N_THREADS = int(os.environ.setdefault("OMP_NUM_THREADS", "1"))  # before NumPy and torch are loaded
LONGEST = {"eager": 4096, "transformer_lens": 2048, "bertviz": 512}  # beyond these minutes and many GB


def run(way: str, T: int) -> dict[str, float]:
    """Warm up on 64 tokens, then measure the way once, in this process."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(N_THREADS)
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_positions=4096)
    model = transformers.GPT2LMHeadModel(config).eval()
    model.set_attn_implementation("sdpa" if way in ("sdpa", "watch") else "eager")
    ids = torch.randint(0, config.vocab_size, (1, T))
    with torch.inference_mode():
        forward = WAYS[way](model)
        forward(ids[:, :64])
        before, start = peak_mb(), time.process_time()
        forward(ids)
        return {"seconds": time.process_time() - start, "mb": peak_mb() - before}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sdpa(model: Any) -> Callable[[Any], Any]:
    return lambda ids: model(ids, use_cache=False, logits_to_keep=1)


def watch(model: Any) -> Callable[[Any], Any]:
    import riverhead

    def forward(ids: Any) -> Any:
        with riverhead.watch(model) as seen:
            model(ids, use_cache=False, logits_to_keep=1)
        return seen

    return forward


def eager(model: Any) -> Callable[[Any], Any]:
    return lambda ids: model(ids, use_cache=False, logits_to_keep=1, output_attentions=True).attentions


def bertviz(model: Any) -> Callable[[Any], Any]:
    from bertviz import head_view

    return lambda ids: (
        head_view(eager(model)(ids), [str(n) for n in ids[0].tolist()], html_action="return").data
    )


def transformer_lens(model: Any) -> Callable[[Any], Any]:
    from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module

    bridge = build_bridge_from_module(model, "GPT2LMHeadModel", hf_config=model.config)
    asked = {"names_filter": lambda name: name.endswith("hook_pattern"), "use_cache": False}
    return lambda ids: bridge.run_with_cache(ids, **asked, logits_to_keep=1)


WAYS = {
    "sdpa": sdpa,
    "watch": watch,
    "eager": eager,
    "transformer_lens": transformer_lens,
    "bertviz": bertviz,
}


def main(rounds: int, lengths: list[int]) -> None:
    ways = [way for way in WAYS if way not in ("bertviz", "transformer_lens") or find_spec(way)]
    print(f"GPT-2, 12 layers, 12 heads, d_model 768, random; {N_THREADS} thread(s), {rounds} rounds")
    print(f"{'T':>5}  {'':16}{'CPU s':>8}{'× sdpa':>8}{'MB':>8}{'beyond sdpa':>13}")
    for T in lengths:
        able = [way for way in ways if LONGEST.get(way, T) >= T]
        found: dict[str, list[dict[str, float]]] = {way: [] for way in able}
        for turn in range(rounds):
            for way in able[:: -1 if turn % 2 else 1]:
                found[way].append(apart(way, T))
        for way in able:
            ratio = median(
                a["seconds"] / b["seconds"] for a, b in zip(found[way], found["sdpa"], strict=True)
            )
            seconds, mb = (median(one[what] for one in found[way]) for what in ("seconds", "mb"))
            beyond = mb - median(one["mb"] for one in found["sdpa"])
            print(f"{T:>5}  {way:16}{seconds:>8.2f}{ratio:>8.2f}{mb:>8.0f}{beyond:>13.0f}", flush=True)


def apart(way: str, T: int) -> dict[str, float]:
    """Measure in a new process, whose memory no other run has touched."""
    command, settled = [sys.executable, __file__, "--one", way, str(T)], {"MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settled)
    if done.returncode:
        raise SystemExit(f"{way} at T = {T}: exit {done.returncode}\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(run(sys.argv[2], int(sys.argv[3]))))
    else:
        numbers = [int(word) for word in sys.argv[1:]]
        main(numbers[0] if numbers else 5, numbers[1:] or [512, 1024, 2048, 4096])
