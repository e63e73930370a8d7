"""Forward and backward beside torch's scaled_dot_product_attention: ratios of CPU time.

    OMP_NUM_THREADS=1 python benchmarks/backward.py [--rounds 7] [--threads 1]

Needs the [oracle] extra. Every round runs each once, in the other order the next time, so that a slow minute
of the machine meets both; a figure is the median over rounds of (riverhead ÷ SDPA of the same round). d = 64,
float32. riverhead's forward is the fused pass; its backward is NumPy, tile by tile, with OpenBLAS's products.
``error`` is how far from float64 the gradients are, relative to the largest number: the worst of the three.
For AVX2 alone: ATEN_CPU_CAPABILITY=avx2 RIVERHEAD_KERNEL=avx2 OPENBLAS_CORETYPE=Haswell.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch are loaded

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

from riverhead.core import kernel
from riverhead.torch import scaled_dot_product_attention

SIZES = ((512, 8), (1024, 8), (2049, 4), (4096, 2), (16384, 1))  # T, heads
Attend = Callable[..., torch.Tensor]


def both_ways(attend: Attend, leaves: list[torch.Tensor], d_out: torch.Tensor, causal: bool) -> list[float]:
    """CPU seconds of the forward and of the backward pass."""
    for x in leaves:
        x.grad = None
    start = time.process_time()
    out = attend(*leaves, is_causal=causal)
    middle = time.process_time()
    out.backward(d_out)
    return [middle - start, time.process_time() - middle]


def error(attend: Attend, leaves: list[torch.Tensor], d_out: torch.Tensor, causal: bool) -> float:
    """How far from float64 the gradients are."""
    both_ways(attend, leaves, d_out, causal)
    wide = [x.detach().double().requires_grad_() for x in leaves]
    both_ways(sdpa, wide, d_out.double(), causal)
    pairs = [(x.grad, exact.grad) for x, exact in zip(leaves, wide, strict=True)]
    return max(((d - exact).abs().max() / exact.abs().max()).item() for d, exact in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1, help="torch's, and the fused pass's")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    os.environ["RIVERHEAD_NUM_THREADS"] = str(args.threads)
    print(f"{kernel.path()}, torch {torch.__version__}, {args.threads} threads, {args.rounds} rounds")
    print(f"{'':24}{'forward':>9}{'backward':>10}{'both':>7} × sdpa   error: ours, sdpa's")
    for T, H in SIZES:
        for causal in (False, True):
            leaves = [torch.randn(1, H, T, 64, requires_grad=True) for _ in range(3)]
            d_out = torch.randn(1, H, T, 64)
            seconds: dict[Attend, list[list[float]]] = {scaled_dot_product_attention: [], sdpa: []}
            for turn in range(args.rounds + 1):
                for attend in list(seconds)[:: -1 if turn % 2 else 1]:
                    spent = both_ways(attend, leaves, d_out, causal)
                    if turn:  # the first warms up
                        seconds[attend].append([*spent, sum(spent)])
            rounds = list(zip(*seconds.values(), strict=True))
            ratios = [median(ours[part] / theirs[part] for ours, theirs in rounds) for part in range(3)]
            errors = [error(attend, leaves, d_out, causal) for attend in seconds] if T < 4096 else []
            print(
                f"T {T:<6} {H} heads {'causal' if causal else 'full':8}"
                + "{:9.2f}{:10.2f}{:7.2f}".format(*ratios)
                + " " * 8
                + "  ".join(f"{e:.1e}" for e in errors)
            )


if __name__ == "__main__":
    main()
