"""A server that is not ours and a model that cannot calculate: llama.cpp's own with SmolLM2 behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from talking_server import offline

from riverhead.learning.tutor import prompt
from riverhead.learning.tutor.conversation import Conversation
from riverhead.learning.tutor.endpoint import Endpoint
from riverhead.learning.tutor.events import Done, Notice, Text

pytest.importorskip("httpx", reason="pip install 'riverhead[tutor]'")
xllamacpp = pytest.importorskip("xllamacpp", reason="pip install --no-deps xllamacpp")


@pytest.fixture(scope="module")
def url(smollm2_folder: Path) -> Iterator[str]:
    params = xllamacpp.CommonParams()
    params.model.path = str(smollm2_folder / "model.gguf")
    params.n_ctx, params.n_predict, params.n_parallel = 1024, 60, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    params.port, params.verbosity = 0, -1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.mark.model
def test_what_a_real_model_gets_wrong_is_marked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        prompt, "system", lambda *_: "You write equations."
    )  # read in seconds, not in a minute
    nothing = SimpleNamespace(text="", derivation=None, beside=())
    talk = Conversation(Endpoint.read(url, "smollm2"), offline, nothing)
    talk.takes_tools = False
    events = list(talk.ask("Write 17 * 24, 38 * 47 and 96 * 53 as equations."))
    done = events[-1]
    assert isinstance(done, Done)
    assert done.finish in ("stop", "length")
    assert not [event for event in events if isinstance(event, Notice) and event.failed]
    assert "".join(event.text for event in events if isinstance(event, Text)) == done.reply
    assert len([event for event in events if isinstance(event, Text)]) > 3  # it streamed
    assert any(one.is_wrong for one in done.sums)
    for one in done.sums:  # an oracle of its own: products of whole numbers
        left, right = (math.prod(map(int, side.split("*"))) for side in one.text.split("="))
        assert one.is_wrong == (left != right)
