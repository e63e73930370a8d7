"""What is wrong without recomputing, and what only looks like it."""

import pytest
from attention_texts import false

FALSE = {  # each with what is said of it
    "The softmax gives\nattention weights: [0.31, 0.27, 0.55]\n": "weights that sum to 1.13, not to 1",
    "attention weights = [-0.2, 0.5, 0.7]\n": "a weight below 0",
    "softmax = [1.3, -0.3]\n": "a weight above 1",
    "attention weights: [61%, 52%]\n": "weights that sum to 1.13, not to 1",
    "scores = [2, 5, 3]\nattention weights = [0.25, 0.20, 0.55]\n": "order against order",
    "scores = [2, 2, 3]\nattention weights = [0.15, 0.29, 0.56]\n": "equal scores with unequal weights",
    "V = [[1, 7], [3, 2]]\noutput = [2.0, 7.9]\n": "outside the values it is a mean of: they go from 2 to 7",
    "Causal attention weights = [[0.6, 0.4], [0.3, 0.7]]\n": "diagonal",
    "Causal attention weights = [[1.0, 0, 0], [0.4, 0.5, 0.1], [0.2, 0.3, 0.5]]\n": "diagonal",
    "| softmax | hen | fox | sum |\n|---|---|---|---|\n| exp | 2.5 | 1.5 | 4.2 |\n": "not the sum of its row",
}
TRUE = (
    "The softmax gives\nattention weights: [0.33, 0.33, 0.33]\n",  # three halves of the last digit
    "attention weights: [0.67, 0.24, 0.1]\n",
    "The sigmoid gives\nattention weights: [0.6, 0.9]\n",
    "Without a softmax: unnormalised attention weights = [1.2, 0.9]\n",
    "weights = [0.7, -1.2, 0.4]\n",  # of a neuron
    "The attention weights begin\nattention weights = [0.5, 0.2], …\n",
    "attention weights = [[0.15, 0.70], [0.85, 0.30]]\n",  # columns sum to 1
    "scores = [2.0, 2.1]\nattention weights = [0.50, 0.50]\n",
    "scores = [0.3, 0.3, 0.1]\nattention weights = [0.36, 0.35, 0.29]\n",  # scores that were rounded
    "V = [[1, 7], [3, 2]]\noutput = [1.0, 7.0]\n",
    "V = [[1, 7], [3, 2]]\nAfter W_O:\noutput = [9.0, 9.0]\n",
    "Before the causal mask:\nattention weights = [[0.5, 0.5], [0.4, 0.6]]\n",
    "| x | params | layers | total |\n|---|---|---|---|\n| a | 3 | 4 | 12 |\n",
    "| softmax | hen | fox | sum |\n|---|---|---|---|\n| weight | 0.335 | 0.666 | 1.000 |\n",
)


@pytest.mark.parametrize(("text", "cause"), FALSE.items())
def test_what_cannot_be_is_found(text, cause):
    found = false(text)
    assert found
    assert cause in found[0][1]


@pytest.mark.parametrize("text", TRUE)
def test_what_can_be_is_left_alone(text):
    assert false(text) == []
