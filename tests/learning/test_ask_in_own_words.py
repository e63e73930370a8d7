"""Questions about numbers as learners type them: what is answered; ideas are left to the lessons."""

from __future__ import annotations

import math
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from riverhead.cost import Config
from riverhead.cost.memory import score_matrix
from riverhead.derivation import derive
from riverhead.derivation.vectors import Example, parse
from riverhead.learning.tutor.at_hand import AtHand, of_example, of_sentence
from riverhead.learning.tutor.numbers import answer
from riverhead.learning.tutor.offline import answer as offline_answer
from riverhead.learning.tutor.phrases import plain
from riverhead.scene import Scene, Text

RIVER, MONEY = of_sentence(), of_sentence("money bank grows")
OWN: Example = parse(
    "own",
    {
        "tokens": ["Cats", "chase", "mice"],
        "q": [[[1, 0], [2, 1], [0, 1]], [[0, 1], [1, 0], [1, 3]]],
        "k": [[[1, 1], [3, 0], [0, 2]], [[2, 0], [0, 1], [1, 1]]],
        "v": [[[1, 0], [0, 1], [2, 2]], [[4, 0], [0, 1], [1, 1]]],
        "causal": True,
    },
)
ONE_ROW = AtHand(  # as one head of a causal model is at hand: a word, and the words it sees
    "Cats chase mice",
    derive([[1, 0]], [[1, 1], [3, 0]], [[1, 0], [0, 1]], tokens=["chase"], tokens_k=["Cats", "chase"]),
    beside=(Text(("A habit.",)),),
)
SENTENCES = {"river": RIVER, "money": MONEY, "own": of_example(OWN), "one row": ONE_ROW}


def said(question: str, at_hand: AtHand = RIVER) -> str:
    return " ".join(str(Scene("", answer(question, at_hand))).split())


@pytest.mark.parametrize(
    ("at_hand", "question", "holds"),
    [
        ("river", "shouldn't the weights add up to 1.001?", "add up to exactly 1"),
        ("river", "do bank's weights sum to 1?", "0.065 + 0.539 + 0.266 + 0.131 = 1.001"),
        ("river", "what's bank's query", "q_bank = (2, 1)"),
        ("river", "v_bank?", "v_bank = (0, 1)"),
        ("river", "whose key is (2, 0)", "(2, 0) is the key of river."),
        ("river", "is bank's query (1, 2)?", "It is not (1, 2)."),
        ("river", "which word does flooded look at most", "of flooded is 0.334881, on The and on bank."),
        ("river", "which word gets the least of bank's attention?", "is 0.064585, on The."),
        ("river", "who looks at river the most?", "The largest weight on river is 0.538776, that of bank."),
        ("river", "which word gets the most attention from bank?", "of bank is 0.538776, on river."),
        ("river", "what does bank get from flooded", "The weight of bank on flooded is 0.130985."),
        ("river", "is (0.5, 1) the value of flooded?", "It is not (0.5, 1)."),
        ("river", "is (0.5, 0) the value of flooded?", "It is."),
        ("river", "what does bank become", "bank′ = (0.604, 0.266)"),
        ("river", "bank becomes (0.61, 0.27), right?", "0.61 is component 1, worked from rounded numbers"),
        ("river", "bank becomes (0.72, 0.27), right?", "It is not (0.72, 0.27)."),
        ("river", "where does the second number of bank' come from", "Component 2 of bank′ is 0.265654."),
        ("river", "what are all the weights of bank", "0.539 on river, 0.266 on bank and 0.131 on flooded"),
        ("river", "what are the raw scores for river", "q_river·k_bank = 1·1 + 1·1 = 2"),
        ("river", "how do you get from 2.83 to 16.92?", "16.92 is the e^score of bank on river"),
        ("river", "why is 16.9 divided by 31.4", "The weight of bank on river is 0.538776."),
        ("river", "why is river 0.539 but flooded only 0.131?", "0.131 is the weight of bank on flooded"),
        ("river", "why is the score of river and bank not 4?", "with river, the other way round."),
        ("river", "isn't the weight on river 0.64?", "0.64 is what it would be without dividing by √d_k."),
        ("river", "why does river get 53.9 percent?", "53.9 % is the weight of bank on river"),
        ("river", "whats the wight of bnak on floded", "The weight of bank on flooded is 0.130985."),
        ("river", "what does river give bank?", "The weight of bank on river is 0.538776."),
        ("river", "Bank gives flooded 13%, how?", "13% is the weight of bank on flooded"),
        ("river", "how much does water contribute", "The weight of bank on river is 0.538776."),
        ("river", "q_bank . k_flooded = ?", "q_bank·k_flooded = 2·1 + 1·0 = 2"),
        ("river", "what is q·k for bank and river?", "q_bank·k_river = 2·2 + 1·0 = 4"),
        ("river", "q.k for bank and river", "q_bank·k_river = 2·2 + 1·0 = 4"),
        ("river", "q*k of bank and river", "q_bank·k_river = 2·2 + 1·0 = 4"),
        ("river", "qk of bank and river", "q_bank·k_river = 2·2 + 1·0 = 4"),
        ("river", "why is The 0.065?", "0.065 is the weight of bank on The: 0.064585, rounded."),
        ("river", "why is it 0.999?", "No number of the sentence at hand is 0.999."),
        ("river", "softmax of 1e1, 2", "the softmax of 10, 2."),
        ("one row", "weight of mice on Cats", "that of chase, not of mice. --focus mice gives"),
        ("one row", "weight of Cats on chase", "that of chase, not of Cats. --focus Cats gives"),
        ("one row", "why is the weight on mice 0?", "so chase cannot see it: its weight is exactly 0."),
        ("river", "flooded -> bank?", "The weight of flooded on bank is 0.334881."),
        ("river", "what is d_k here", "d_k = 2"),
        ("money", "why is the cosine of money and bank 0.978", "is 0.5 before and 0.977887 after attention."),
        ("money", "what's e for bank", "e_bank = (1, 1, 0, 0)"),
        ("own", "in head 1, what's the weight of chase on cats?", "of chase on Cats in head 1 is 0.804430."),
        ("own", "what is mice's key in the second head", "k_mice = (1, 1)"),
        ("own", "why can't chase see mice", "The mask hides it"),
        ("own", "what's chase's final vector", "merged_chase = (0.107, 0.893, 3.218, 0.196)"),
        ("own", "what are chase's weights in head 7", "There is no head 7 in the sentence at hand"),
        ("own", "chases weight on mice?", "The weight of chase on mice in head 0 is 0."),
    ],
)  # fmt: skip
def test_a_learners_own_words_are_answered(at_hand: str, question: str, holds: str) -> None:
    assert holds in said(question, SENTENCES[at_hand])


def test_a_slip_is_mended_and_another_word_is_none() -> None:
    assert plain("bnak bankk bak tank back", {"bank": "bank"}).named == ("bank", "bank")


def softmax(scores: list[float]) -> np.ndarray:
    exps = np.exp(np.array(scores))
    return exps / exps.sum()


ROOT = math.sqrt(2)
CAUSAL = softmax([1 / ROOT, 4 / ROOT, 3 / ROOT, -math.inf])


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        ("what if river's key was (0,2)", softmax([1 / ROOT, 2 / ROOT, 3 / ROOT, 2 / ROOT])),
        ("what if bank's query were (4, 2)?", softmax([2 / ROOT, 8 / ROOT, 6 / ROOT, 4 / ROOT])),
        ("what if I double the query of bank?", softmax([2 / ROOT, 8 / ROOT, 6 / ROOT, 4 / ROOT])),
        ("what if I halve bank's query", softmax([0.5 / ROOT, 2 / ROOT, 1.5 / ROOT, 1 / ROOT])),
        ("what if river's key were three times as large", softmax([1 / ROOT, 12 / ROOT, 3 / ROOT, 2 / ROOT])),
        ("what if bank's query were (1, 1)?", softmax([1 / ROOT, 2 / ROOT, 2 / ROOT, 1 / ROOT])),
        ("what if I don't divide", softmax([1, 4, 3, 2])),
        ("what changes if temperature is 2", softmax([0.5 / ROOT, 2 / ROOT, 1.5 / ROOT, 1 / ROOT])),
        ("what happens to bank's row if flooded is hidden", CAUSAL),
        ("what if bank cannot see river?", softmax([1 / ROOT, -math.inf, 3 / ROOT, 2 / ROOT])),
        ("what would bank's weights be with a causal mask", CAUSAL),
        ("what if the score on river was 5 instead of 4", softmax([1 / ROOT, 5 / ROOT, 3 / ROOT, 2 / ROOT])),
    ],
)  # fmt: skip
def test_a_what_if_gives_the_row_that_numpy_makes(question: str, weights: np.ndarray) -> None:
    tables = [part for part in answer(question, RIVER) if getattr(part, "columns", ("",))[-1:] == ("sum",)]
    (row,) = [row for row in tables[0].rows if row[0] == "weight"]
    assert [cell.value for cell in row[1:-1]] == pytest.approx(list(weights), rel=1e-12)


def test_a_change_that_cannot_be_made_says_why() -> None:
    assert said("what if river's key was (0, 2, 5)") == "K.river has 2 numbers, not 3."


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("what's e to the 2.83", "e^2.83 = 16.945461"),
        ("what is ln 2", "ln(2) = 0.693147"),
        ("square root of 128?", "√128 = 11.313708"),
        ("what's 4/√2", "4/√2 = 2.828427"),
        ("4/1.414", "4/1.414 = 2.828854"),
        ("is (2,1)·(2,0) = 5", "No: it is not 5. (2,1)·(2,0) = 4"),
        ("is 2*2+1*0 = 5?", "No: it is not 5. 2*2+1*0 = 4"),
        ("is 2*2+1*0 = 4?", "Yes. 2*2+1*0 = 4"),
        ("e^100000", "e^100000 is too large for a float64, whose largest number is about 1.8·10^308."),
        ("what is 1/0?", "1/0 is not defined: it divides by 0."),
        ("what is ln(0)", "ln(0) is not defined: no real number is its value."),
        ("cosine of (1,0) and (1,1)", "cos((1,0), (1,1)) = 0.707107"),
        ("how long is (3, 4)", "norm((3, 4)) = 5"),
        ("0.2*(1,0)+0.8*(0,1)", "0.2*(1,0)+0.8*(0,1) = (0.2, 0.8)"),
        ("average of (2, 4) and (0, 2)?", "((2, 4) + (0, 2))/2 = (1, 3)"),
        ("d_model 768, 12 heads: head size?", "d_k = d_model / heads = 768 / 12 = 64"),
        ("how many scores for 12 tokens",
         "Every token with every token, the scores of one head: T² = 12² = 144."),
        ("31.40 = 2.03+16.92+8.34+4.11 ?", "2.03+16.92+8.34+4.11 = 31.4"),
    ],
)  # fmt: skip
def test_a_sum_needs_no_sentence(question: str, answered: str) -> None:
    assert said(question, AtHand()) == answered


@pytest.mark.parametrize(
    ("question", "tokens", "heads", "dtype"),
    [
        ("how much memory for 100000 tokens", 100_000, 1, "float32"),
        ("32 heads, 2048 tokens, fp16: how big are the scores?", 2_048, 32, "float16"),
        ("how many bytes do 1k tokens' scores take", 1_000, 1, "float32"),
    ],
)
def test_the_bytes_of_the_scores_are_the_plans(question: str, tokens: int, heads: int, dtype: str) -> None:
    config = Config(
        architecture="llama", n_layers=1, n_heads=heads, n_kv_heads=heads, d_model=7 * heads, d_k=7, d_v=7,
        d_ff=5, vocab_size=11, context_length=13, rope_base=10000.0, norm_epsilon=1e-5,
    )  # fmt: skip
    planned = score_matrix(config, tokens, dtype=dtype)[1]
    assert f"{planned.exactly} bytes = {planned.said}" in said(question)


@pytest.mark.parametrize(
    "question",
    [
        "why 12 layers", "does 8 heads cost more than 1", "why 1/sqrt(2)?", "why do weights sum to 1",
        "what does bank mean in a river sentence", "how does bank know about river",
        "why 10000 in the formula",
        "what happens with 2 banks in a sentence", "is 1 head enough", "could the weight on river ever be 1",
        "if all scores are equal what do the weights look like", "what happens if a whole row is masked",
        "why does bank look back", "what does riverhead plan llama-3-8b do", "what does a score of 0 say",
        "why is 0.25 the biggest it can get", "how much memory does the KV cache take for 4096 tokens",
        "why is river's row 0.5 and 0.5", "my uncle's printer broke while printing sqrt(512)",
        "softmax of 1e308, -1e308", "why is 1/0 a problem", "what happens if I double the query",
        "does river use bank's query or its own", "why is this sum so large", "what if there are 100 words",
    ],
)  # fmt: skip
def test_an_idea_is_left_to_the_lessons(question: str) -> None:
    assert answer(question, RIVER) == ()


def test_few_of_the_learners_ideas_are_taken_for_numbers() -> None:
    """Of every tenth of those that lead to a passage; some of them do ask for a number too."""
    asked = tomllib.loads((files("riverhead.learning.tutor") / "asked.toml").read_text("utf-8"))
    some = [question for questions in asked.values() for question in questions][::10]
    assert sum(answer(question, RIVER) != () for question in some) < len(some) / 25


def test_a_number_that_is_named_in_words_is_told_of_in_the_lessons_too() -> None:
    found = offline_answer("what are the weights of bank", RIVER)
    assert found.kind == "number"
    assert found.passages
    assert "In the lessons" in str(found)
    assert offline_answer("what is 0.539", RIVER).passages == ()
