"""The fused pass beside torch's scaled_dot_product_attention, forward alone: ratios of CPU time.

    OMP_NUM_THREADS=1 python benchmarks/kernel.py [--rounds 7] [--threads 1] [--long] [--growth]

Every round runs each contender once, in turn, so that a slow minute of the machine meets all of them; a
figure is the median over rounds of (contender ÷ SDPA of the same round). d = 64, float32. ``--long`` runs one
causal head at T = 100,000 with its memory; ``--growth`` fits the exponents of time and memory, 4k to 64k.
Under ATEN_CPU_CAPABILITY=avx2 torch keeps to AVX2, as RIVERHEAD_KERNEL=avx2 does here.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from riverhead.core import attend, kernel
from riverhead.core.fused import forward

SIZES = ((1024, 8), (4096, 2), (16384, 1))  # T, heads
Work = Callable[[], object]


def cpu_seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def on(path: str, work: Work) -> Work:
    def run() -> None:
        os.environ["RIVERHEAD_KERNEL"] = path
        work()

    return run


def eager(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> None:
    """The same statistics the way everyone takes them: from the T×T weights."""
    T = q.shape[-2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf)
    lse = scores.logsumexp(-1, keepdim=True)
    weights = (scores - lse).exp()
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    (
        weights @ v,
        torch.special.entr(weights).sum(-1),
        (weights * distance).sum(-1),
        weights.amax(-1),
        weights[..., 0],
        weights.diagonal(dim1=-2, dim2=-1),
        weights.diagonal(-1, dim1=-2, dim2=-1),
        weights.sum(-2),
        weights.amax(-2),
        weights.topk(8),
    )


def contenders(T: int, H: int, causal: bool, threads: int) -> dict[str, Work]:
    tensors = [torch.randn(1, H, T, 64) for _ in range(3)]
    q, k, v = (x.numpy() for x in tensors)
    works: dict[str, Work] = {"sdpa": lambda: scaled_dot_product_attention(*tensors, is_causal=causal)}
    for path in kernel.paths():
        if path == "numpy" and T > 4096:
            continue
        works[f"{path}, all statistics"] = on(path, lambda: attend(q, k, v, causal=causal, threads=threads))
        works[f"{path}, forward only"] = on(path, lambda: forward(q, k, v, causal=causal, threads=threads))
    if T <= 4096:
        works["eager, all statistics"] = lambda: eager(*tensors, causal)
    return works


def table(rounds: int, threads: int) -> None:
    torch.set_num_threads(threads)
    for T, H in SIZES:
        for causal in (False, True):
            works = contenders(T, H, causal, threads)
            seconds = {name: [] for name in works}
            for turn in range(rounds + 1):  # the first warms up
                for name, work in works.items():
                    spent = cpu_seconds(work)
                    if turn:
                        seconds[name].append(spent)
            flops = 4 * H * T * T * 64 / (1 + causal)
            print(f"\nT {T}, {H} heads, {'causal' if causal else 'full'}, {threads} threads, {rounds} rounds")
            for name, spent in seconds.items():
                ratio = median(a / b for a, b in zip(spent, seconds["sdpa"], strict=True))
                print(f"  {name:24}{ratio:7.2f} × sdpa {flops / median(spent) / 1e9:8.1f} GF/s")


def roofline() -> None:
    """What the processor's matrix product reaches, by the libraries at hand."""
    a = torch.randn(1024, 1024)
    n = a.numpy()
    for path in kernel.paths()[:-1]:
        print(f"  {path + ' tile product':24}{'':15}{kernel._kernel.peak(path) / 1e9:8.1f} GF/s")
    for name, work in (("torch sgemm 1024", lambda: a @ a), ("numpy sgemm 1024", lambda: n @ n)):
        work()
        spent = median(cpu_seconds(work) for _ in range(9))
        print(f"  {name:24}{'':15}{2 * 1024**3 / spent / 1e9:8.1f} GF/s")


def long(T: int, threads: int) -> None:
    """One causal head: time beside SDPA, memory above the inputs, then tiles and rows."""
    torch.set_num_threads(threads)
    tensors = [torch.randn(1, 1, T, 64) for _ in range(3)]
    q, k, v = (x[0, 0].numpy() for x in tensors)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def bar(done: float) -> None:
        if sys.stderr.isatty():
            print(f"\r{done:4.0%}", end="", file=sys.stderr)

    start = time.process_time()
    A = attend(q, k, v, causal=True, threads=threads, progress=bar)
    ours = time.process_time() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    theirs = cpu_seconds(lambda: scaled_dot_product_attention(*tensors, is_causal=True))
    rng = np.random.default_rng(0)

    def milliseconds(index: Callable[[int], object]) -> float:
        times = []
        for i in rng.integers(256, T - 256, 25).tolist():
            start = time.perf_counter()
            A[index(i)]
            times.append(time.perf_counter() - start)
        return 1e3 * median(times)

    print(f"\nT {T}, one head, causal, {threads} threads")
    print(f"  {ours / theirs:.2f} × sdpa ({ours:.1f} s of CPU), peak {peak:.0f} MiB above the inputs")
    print(f"  {A.dense_nbytes / 1e9:.0f} GB if it were dense, {A.nbytes / 1e6:.0f} MB of statistics")
    print(f"  a 256×256 tile {milliseconds(lambda i: (slice(i, i + 256), slice(i - 256, i))):.2f} ms")
    print(f"  a row {milliseconds(lambda i: (i, slice(None))):.2f} ms")


GROWTH = """
import re, sys, time, numpy as np
from pathlib import Path
from riverhead.core import attend

def resident_bytes(name):  # VmRSS: now; VmHWM: at most, since it was last reset
    return 1024 * int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

T = int(sys.argv[1])
q, k, v = (np.random.default_rng(0).standard_normal((T, 64), np.float32) for _ in range(3))
attend(q[:64], k[:64], v[:64])
Path("/proc/self/clear_refs").write_text("5")
before, start = resident_bytes("VmRSS"), time.process_time()
attend(q, k, v, causal=True, threads=1)
print(time.process_time() - start, resident_bytes("VmHWM") - before)
"""


def growth() -> None:
    sizes = [4096, 8192, 16384, 32768, 65536]
    found = []
    for T in sizes:
        ran = subprocess.run(
            [sys.executable, "-c", GROWTH, str(T)], capture_output=True, text=True, check=True
        )
        found.append([float(x) for x in ran.stdout.split()])
    (time_exponent, memory_exponent), _ = np.polyfit(np.log(sizes), np.log(found), 1)
    print(
        f"\nfrom {sizes[0]} to {sizes[-1]} tokens: time grows as T^{time_exponent:.2f}, "
        f"memory as T^{memory_exponent:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--long", type=int, nargs="?", const=100_000, help="T of the long run")
    parser.add_argument("--growth", action="store_true")
    asked = parser.parse_args()
    print(
        f"kernel: {', '.join(kernel.paths())}; "
        f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"
    )
    roofline()
    if asked.long:
        long(asked.long, asked.threads)
    elif asked.growth:
        growth()
    else:
        table(asked.rounds, asked.threads)
