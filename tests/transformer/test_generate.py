"""Generation: the cache changes nothing, sampling follows its seed, and it stops where it should."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from llamas import BEGIN, END, TOKENS, Sizes, random_tensors, write_llama

from riverhead.errors import InputError, ModelError
from riverhead.transformer import Model, open_model
from riverhead.transformer.convert import convert
from riverhead.transformer.generate import Sampling, render_chat


def test_greedy_tokens_are_those_of_recomputation(llama: Model) -> None:
    ids, found = llama.tokenize("the ab"), list(llama.generate("the ab", max_tokens=20))
    for token in found:
        logits = llama.run([ids]).logits(-1)[0].astype(np.float64)
        assert token.token_id == logits.argmax()
        odds = np.exp(logits - logits.max())
        assert token.probability == pytest.approx(odds.max() / odds.sum(), rel=1e-5)
        ids.append(token.token_id)
    assert len(found) == 20 or found[-1].stop


def test_text_comes_out_whole_however_it_is_cut(llama: Model) -> None:
    for max_tokens in range(1, 26):  # so that some end inside a character
        found = list(llama.generate("the", max_tokens=max_tokens, temperature=3.0, seed=4))
        ids = [token.token_id for token in found if not token.stop]
        assert "".join(token.text for token in found) == llama.tokenizer.decode(ids)
    assert any(token.text == "" for token in found)


def test_sampling_follows_its_seed(llama: Model) -> None:
    def sample(seed: int) -> list[int]:
        tokens = llama.generate("the", max_tokens=15, temperature=1.0, top_k=50, top_p=0.9, seed=seed)
        return [token.token_id for token in tokens]

    assert sample(7) == sample(7)
    assert sample(7) != sample(8)


def test_tokens_come_one_by_one(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    run = Model.run
    monkeypatch.setattr(
        Model, "run", lambda self, ids, **kw: calls.append(np.shape(ids)) or run(self, ids, **kw)
    )
    list(itertools.islice(llama.generate("the ab", max_tokens=20), 3))
    assert calls == [(1, 4), (1, 1), (1, 1)]


def test_stop_texts_end_it(llama: Model) -> None:
    options = {"max_tokens": 20, "temperature": 2.0, "seed": 1}
    whole = [token.token_id for token in llama.generate("the ab", **options)]
    pieces = llama.tokenizer.pieces(whole)
    at = next(i for i, piece in enumerate(pieces) if i and pieces.index(piece) == i and piece.isalpha())
    stopped = list(llama.generate("the ab", **options, stop=[pieces[at]]))
    assert [token.token_id for token in stopped] == whole[: at + 1]
    assert [token.stop for token in stopped] == [False] * at + [True]
    assert (
        stopped[-1].text == llama.tokenizer.decode(whole[:at])[len("".join(t.text for t in stopped[:-1])) :]
    )


def test_the_model_s_own_end_ends_it(tmp_path: Path) -> None:
    sizes = Sizes()
    tensors = random_tensors(sizes, tied=False)
    tensors["output"][:] = 0
    tensors["output"][END] = -1  # after "the ab" its logit is above 0, where all others are
    convert(write_llama(tmp_path / "end.gguf", tensors, sizes), tmp_path / "model")
    tokens = list(open_model(tmp_path / "model").generate("the ab", max_tokens=9))
    assert [(token.token_id, token.text, token.stop) for token in tokens] == [(END, "", True)]


ODDS = np.log([0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize(
    ("sampling", "odds"),
    [
        (Sampling(), [1, 0, 0, 0]),
        (Sampling(1.0), [0.5, 0.25, 0.125, 0.125]),
        (Sampling(0.5), [16 / 22, 4 / 22, 1 / 22, 1 / 22]),  # squared
        (Sampling(1.0, top_k=2), [2 / 3, 1 / 3, 0, 0]),
        (Sampling(1.0, top_p=0.7), [2 / 3, 1 / 3, 0, 0]),  # 0.5 is not enough, 0.75 is
        (Sampling(1.0, top_p=1.0), [0.5, 0.25, 0.125, 0.125]),
        (Sampling(1.0, top_k=3, top_p=0.5), [1, 0, 0, 0]),  # of the three, 4/7 is enough
        (Sampling(1e-300), [1, 0, 0, 0]),
    ],
)
def test_draws_have_the_odds_of_the_paper(sampling: Sampling, odds: list[float]) -> None:
    random, n = np.random.default_rng(0), 4000
    order = [2, 0, 3, 1]  # the likeliest is not the first
    logits = np.empty(4, np.float32)
    logits[order] = ODDS
    counts = np.bincount([sampling.draw(logits, random) for _ in range(n)], minlength=4)[order]
    for count, p in zip(counts, odds, strict=True):
        assert abs(count - n * p) <= 5 * np.sqrt(n * p * (1 - p))  # five standard deviations


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"max_tokens": 0},
            "max_tokens is 0; the prompt has 1 token and tiny reads 29: it has to be 1 to 28",
        ),
        ({"max_tokens": 29}, "it has to be 1 to 28"),
        ({"temperature": -1}, "temperature is -1, it has to be 0 or more"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"max_tokens": 2.5}, "max_tokens is 2.5"),
        ({"seed": -1, "max_tokens": 3}, "seed is -1"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_p": 1.5}, "top_p is 1.5, it has to be above 0 and at most 1"),
        ({"stop": ["a b"], "max_tokens": 3}, "'a b' is 3 tokens"),
    ],
)
def test_what_cannot_be_generated_is_said_at_once(llama: Model, options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        llama.generate("a", **options)  # not at the first token


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (30, "^30 tokens, tiny reads at most 29; nothing was cut: give a shorter text$"),
        (29, "^the prompt has 29 tokens, as many as tiny reads: none can follow"),
    ],
)
def test_a_prompt_that_leaves_no_room_is_said_to_be_too_long(llama: Model, n: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        llama.generate("a" * n)


@pytest.mark.parametrize("prompt", ["", []])
def test_an_empty_prompt(llama: Model, prompt) -> None:
    with pytest.raises(InputError, match="the prompt is empty"):
        llama.generate(prompt)


def test_chat_is_written_by_the_model_s_template(llama: Model) -> None:
    messages = [{"role": "user", "content": "the ab"}]
    assert render_chat(llama, messages) == "<|begin|>user\nthe ab<|end|><|begin|>assistant\n"
    chat, text = (
        [token.token_id for token in llama.generate(prompt, max_tokens=3)]
        for prompt in ([{"role": "", "content": "a"}], "<|begin|>\na<|end|><|begin|>assistant\n")
    )
    assert chat == text


def test_a_template_writes_the_first_token_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensors: dict[str, np.ndarray], sizes: Sizes
) -> None:
    template = "{{ bos_token }}{{ messages[0].content }}"
    path = write_llama(tmp_path / "bos.gguf", tensors, sizes, add_bos=True, chat_template=template)
    convert(path, tmp_path / "model")
    model, seen = open_model(tmp_path / "model"), []
    run = Model.run
    monkeypatch.setattr(Model, "run", lambda self, ids, **kw: seen.append(ids) or run(self, ids, **kw))
    next(model.generate([{"role": "user", "content": "a"}], max_tokens=1))
    next(model.generate("a", max_tokens=1))
    assert seen == [[[BEGIN, TOKENS.index("a")]]] * 2


TEMPLATES = {
    "{{ ''.__class__.__mro__ }}": "cannot be applied",
    "{{ messages.append(1) }}": "cannot be applied",
    "{% for i in range(10**9) %}x{% endfor %}": "cannot be applied",
    "{{ raise_exception('roles must alternate') }}": "roles must alternate",
    "{% if %}": "cannot be applied",
    "{{ messages[0]['content'] + 1 }}": "cannot be applied",
    "{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}": "makes more than 4194304 characters",
}


@pytest.mark.parametrize(("template", "words"), TEMPLATES.items())
def test_a_hostile_template_is_refused(
    llama: Model, monkeypatch: pytest.MonkeyPatch, template: str, words: str
) -> None:
    monkeypatch.setattr(llama.tokenizer, "chat_template", template)
    with pytest.raises(ModelError, match=words):
        render_chat(llama, [{"role": "user", "content": "the"}])


def test_templates_know_the_special_tokens(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama.tokenizer, "chat_template", "{{ bos_token }}{{ eos_token }}")
    assert render_chat(llama, []) == TOKENS[BEGIN] + TOKENS[END]


def test_a_model_without_a_template(llama: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama.tokenizer, "chat_template", None)
    with pytest.raises(InputError, match="tiny has no chat template: give the prompt as text"):
        llama.generate([{"role": "user", "content": "the"}])
