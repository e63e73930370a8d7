"""Modules as people write them are made, read and called; what cannot be is refused with a reason."""

import numpy as np
import pytest

from riverhead.checking.rules import implementation
from riverhead.checking.rules.adapting.module import heads_adapter, looks_like
from riverhead.checking.rules.adapting.module_names import forward_role, named, size_of
from riverhead.checking.rules.adapting.module_parameters import parameters_of
from riverhead.checking.rules.adapting.signature import Asked
from riverhead.checking.rules.call import Call
from riverhead.errors import InputError


def found(report):
    return {(failure.rule, failure.mistake) for failure in report.failed}


def agreed(report):
    return {(each.aspect, each.name) for each in report.conventions}


def asked(thing, **arguments):
    return implementation(thing, isolated=False, arguments=arguments)


# Names


PATHS = {
    "W_q": ("q", False, None),
    "attn.q_proj.weight": ("q", False, None),
    "wk.weight": ("k", False, None),
    "heads.2.value.bias": ("v", True, 2),
    "W_query.weight": ("q", False, None),
    "keys.weight": ("k", False, None),
    "in_proj_weight": ("qkv", False, None),
    "in_proj_bias": ("qkv", True, None),
    "c_attn.weight": ("qkv", False, None),
    "to_kv.weight": ("kv", False, None),
    "W_qkv": ("qkv", False, None),
    "linears.2.weight": ("v", False, None),
    "linears.3.bias": ("o", True, None),
    "to_out.0.weight": ("o", False, 0),
    "c_proj.weight": ("o", False, None),
    "fc.weight": ("o", False, None),
    "output.dense.weight": ("o", False, None),
    "q_proj.linear.weight": ("q", False, None),
    "q_bias": ("q", True, None),
    "b_o": ("o", True, None),
    "params.W_v": ("v", False, None),
    "q_proj.W": ("q", False, None),
}


@pytest.mark.parametrize("path", PATHS)
def test_parameters_are_known_by_their_names(path):
    known = named(path)
    assert (known.job, known.bias, known.index) == PATHS[path]


@pytest.mark.parametrize(
    "path", ["norm.weight", "out.LayerNorm.weight", "q_norm.weight", "alpha", "linears.7.weight"]
)
def test_what_has_no_known_name_is_not_guessed_at(path):
    assert named(path) is None


def test_sizes_and_arguments_are_known_by_their_names():
    sizes = {
        "embed_dim": "d_model",
        "nhead": "n_heads",
        "head_dim": "d_k",
        "block_size": "length",
        "color": None,
    }
    assert {name: size_of(name) for name in sizes} == sizes
    roles = {
        "hidden_states": "x",
        "query": "q",
        "memory": "context",
        "key_padding_mask": "key_mask",
        "beta": None,
    }
    assert {name: forward_role(name) for name in roles} == roles


# NumPy


def soft(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Layer:
    def __init__(self, n_in, n_out):
        self.W, self.b = np.zeros((n_out, n_in)), np.zeros(n_out)

    def __call__(self, x):
        return x @ self.W.T + self.b


class OfLayers:
    """One text at a time, layers of its own, a forward and no __call__."""

    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (Layer(d_model, d_model) for _ in range(4))

    def forward(self, x):
        T, d = x.shape
        q, k, v = (
            W(x).reshape(T, self.num_heads, -1).transpose(1, 0, 2)
            for W in (self.q_proj, self.k_proj, self.v_proj)
        )
        out = soft(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])) @ v
        return self.out_proj(out.transpose(1, 0, 2).reshape(T, d))


class OfADict:
    """Matrices in a dict, in float32; a causal option; weights on demand."""

    def __init__(self, d_model=12, h=3):
        self.h = h
        self.params = {
            name: np.zeros((d_model, d_model), np.float32) for name in ("W_q", "W_k", "W_v", "W_o")
        }

    def __call__(self, x, causal=False, return_weights=False):
        B, T, d = x.shape
        q, k, v = (
            (x @ self.params[W]).reshape(B, T, self.h, -1).transpose(0, 2, 1, 3)
            for W in ("W_q", "W_k", "W_v")
        )
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        weights = soft(np.where(np.tril(np.ones((T, T), bool)) | (not causal), scores, -np.inf))
        out = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, d) @ self.params["W_o"]
        return (out, weights) if return_weights else out


def one_head(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    return soft(q @ k.T / np.sqrt(k.shape[-1])) @ v


def columns_times(x, W_q, W_k, W_v):
    """(out, in), and one text at a time."""
    q, k, v = (W_q @ x.T).T, (W_k @ x.T).T, (W_v @ x.T).T
    return soft(q @ k.T / np.sqrt(k.shape[-1])) @ v


def test_layers_of_ones_own_are_found_and_one_text_is_enough():
    report = asked(OfLayers)
    assert report.failed == ()
    assert report.notes[1] == "x (T, d_model), d_model 24, 6 heads"
    assert ("matrices", "out-by-in") in agreed(report)
    assert "samples" not in report.passed


def test_a_dict_of_matrices_is_found_and_left_as_it_was():
    mine = OfADict()
    report = asked(mine)
    assert report.failed == ()
    assert {"causal", "weights-returned", "weights-per-head", "weights-asked", "future"} <= {*report.passed}
    assert not any(W.any() for W in mine.params.values())


def test_functions_of_one_head_are_called_either_way_round():
    assert ("matrices", "in-by-out") in agreed(asked(one_head))
    report = asked(columns_times)
    assert report.failed == ()
    assert ("matrices", "out-by-in") in agreed(report)


def test_numbers_come_back_as_they_were_written():
    adapter = heads_adapter(OfLayers, Asked(arguments={"d_model": 8, "num_heads": 2}))
    described = adapter.run(Call({}, want=("parameters",)))
    assert described.facts["n_heads"] == 2
    rng = np.random.default_rng(0)
    written = {name: rng.integers(-8, 9, x.shape) / 4 for name, x in described.arrays.items()}
    adapter.run(Call({"x": np.ones((3, 8)), **written}))
    read = adapter.run(Call({}, want=("parameters",))).arrays
    assert all(np.array_equal(read[name], x) for name, x in written.items())


# What is refused


def test_an_argument_that_is_not_known_is_named():
    class Strange:
        def __init__(self, d_model, n_heads, flavour):
            pass

        def __call__(self, x):
            return x

    with pytest.raises(InputError, match=r"must be given 'flavour'.*--argument flavour=VALUE"):
        heads_adapter(Strange, Asked())


def test_an_argument_of_forward_that_is_not_known_is_named():
    def strange(x, W_q, W_k, W_v, beta):
        return x

    with pytest.raises(InputError, match="must be given 'beta'"):
        heads_adapter(strange, Asked())
    heads_adapter(lambda x, W_q, W_k, W_v, beta: one_head(x, W_q, W_k, W_v), Asked(arguments={"beta": 1}))


def test_a_parameter_that_is_not_there_is_named():
    class Two:
        def __init__(self):
            self.W_q = self.W_k = np.zeros((4, 4))

        def __call__(self, x):
            return x

    with pytest.raises(InputError, match="no W_v"):
        heads_adapter(Two(), Asked())


def test_heads_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"n_heads 5.*12 columns"):
        heads_adapter(OfADict(12, 5), Asked())


def test_an_argument_that_nothing_takes_is_refused():
    with pytest.raises(InputError, match="takes no argument 'colour'"):
        heads_adapter(OfADict(), Asked(arguments={"colour": "red"}))


def test_a_constructor_that_raises_is_said_with_what_it_was_given():
    class Raising:
        def __init__(self, d_model, n_heads):
            raise RuntimeError("no weights today")

        def __call__(self, x):
            return x

    with pytest.raises(
        InputError, match=r"Raising\(d_model=24, n_heads=6\) raised RuntimeError: no weights today"
    ):
        heads_adapter(Raising, Asked())


def test_what_looks_like_a_module():
    assert all(map(looks_like, (OfLayers, OfADict(), one_head)))
    assert not any(map(looks_like, (lambda q, k, v: q, lambda x, d: x, Layer(2, 3))))


# torch

NAN = ("hidden-nan", "hidden-nan")  # 0 · NaN is NaN: true of all that multiply hidden values


def styles():
    pytest.importorskip("torch", reason="torch is not installed: the [oracle] extra")
    import module_styles

    return module_styles


RIGHT = {  # what is said of each
    "Annotated": {NAN}, "Configured": set(), "InAndOut": set(), "Head": set(), "ListOfHeads": set(),
    "SelfAttention": {NAN, ("empty-row", "empty-row-nan")}, "KeysAndValuesPacked": {NAN}, "HeadByHead": {NAN},
    "GroupedAndRotary": set(), "ValuesFirst": {NAN}, "PlainParameters": set(), "AxisOfHeads": set(),
    "made_by_a_function": {NAN},
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", RIGHT)
def test_a_module_of_torch_is_called_in_its_own_way(name):
    report = asked(getattr(styles(), name))
    assert report.kind == "heads"
    assert found(report) == RIGHT[name]
    assert {"definition", "projections", "gradient-reaches"} <= {*report.passed}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "rule", "mistake"),
    [("HeadByWholeWidth", "scale", "scale-by-d_model"), ("Detached", "gradient-reaches", "no-gradient"),
     ("Dropping", "dropout-option", "dropout-in-evaluation"),
     ("DroppingOnce", "dropout-again", "dropout-off-for-good")],
)  # fmt: skip
def test_what_is_wrong_is_named(name, rule, mistake):
    assert found(asked(getattr(styles(), name))) == {(rule, mistake)}


@pytest.mark.oracle
def test_a_dropout_that_was_tried_is_taken_back():
    adapter = heads_adapter(styles().Dropping, Asked())
    call = Call({"x": np.ones((2, 5, 24))})
    adapter.run(Call(call.arrays, {"dropout": 0.5, "modes": ["train", "eval"]}))
    assert np.array_equal(adapter.run(call).out, adapter.run(call).out)


@pytest.mark.oracle
def test_an_input_that_is_changed_is_no_dropout():
    class Doubling(styles().Configured):
        def forward(self, x):
            y = super().forward(x)
            x.mul_(2)
            return y

    assert found(asked(Doubling)) == {("inputs-unchanged", "inputs-changed")}


@pytest.mark.oracle
def test_heads_averaged_before_a_narrow_last_matrix_are_named():
    styles()
    from torch import nn
    from torch.nn.functional import scaled_dot_product_attention

    class Narrow(styles().ValuesFirst):
        def __init__(self, embed_size, heads):
            super().__init__(embed_size, heads)
            self.fc_out = nn.Linear(self.head_dim, embed_size)

        def forward(self, x):
            B, T, _ = x.shape
            matrices = (self.queries, self.keys, self.values)
            q, k, v = (W(x).view(B, T, self.heads, -1).transpose(1, 2) for W in matrices)
            return self.fc_out(scaled_dot_product_attention(q, k, v).mean(1))

    assert found(asked(Narrow)) == {("heads-merged", "heads-averaged")}


@pytest.mark.oracle
def test_what_may_be_agreed_upon_is_said():
    s = styles()
    assert ("packing", "head-by-head") in agreed(asked(s.HeadByHead))
    assert ("packing", "qkv") in agreed(asked(s.Configured))
    assert ("matrices", "out-by-in") in agreed(asked(s.PlainParameters))
    assert ("positions", "rotary-half") in agreed(asked(s.GroupedAndRotary))
    assert ("empty-row", "mean") in agreed(asked(s.Annotated))
    assert "empty-row" not in {aspect for aspect, _ in agreed(asked(s.SelfAttention))}  # NaN is none
    assert asked(s.Configured).notes[-1] == "always causal: no token sees what comes after it"


@pytest.mark.oracle
def test_an_instance_is_asked_as_it_is_and_left_as_it_was():
    s = styles()
    mine = s.Annotated(8, 64)
    before = {name: x.clone() for name, x in mine.state_dict().items()}
    report = asked(mine)
    assert found(report) == {NAN}
    assert "8 heads" in report.notes[1]
    assert mine.training
    assert all(x.equal(before[name]) for name, x in mine.state_dict().items())


@pytest.mark.oracle
@pytest.mark.parametrize(("H", "B", "T"), [(2, 2, 5), (3, 3, 5), (5, 2, 5)])
def test_as_many_heads_as_samples_or_tokens_hide_nothing(H, B, T):
    assert found(asked(styles().Annotated(H, 4 * H))) == {NAN}


@pytest.mark.oracle
def test_a_parameter_of_no_known_use_is_named():
    with pytest.raises(InputError, match=r"parameter norm\.weight"):
        heads_adapter(styles().WithNorm, Asked())


@pytest.mark.oracle
@pytest.mark.parametrize("about", [{}, {"batch_first": True}, {"bias": False}])
def test_torchs_own_module_changes_its_output_where_weights_are_asked_for(about):
    """A sample that is padding throughout: NaN with need_weights=True, numbers without (torch 2.13)."""
    styles()
    from torch import nn

    report = asked(nn.MultiheadAttention(24, 6, **about))
    assert found(report) == {NAN, ("weights-asked", "weights-change-output")}
    assert {("mask", "drop"), ("padding", "drop")} <= agreed(report)
    assert ("layout", "batch-first" if "batch_first" in about else "time-first") in agreed(report)


@pytest.mark.oracle
def test_torchs_own_module_fed_samples_first_lets_them_see_each_other():
    styles()
    from torch import nn

    class Wrapped(nn.Module):
        def __init__(self, embed_dim, num_heads):
            super().__init__()
            self.attn = nn.MultiheadAttention(embed_dim, num_heads)

        def forward(self, x):
            return self.attn(x, x, x)[0]

    assert found(asked(Wrapped)) == {("samples", "samples-see-each-other")}


@pytest.mark.oracle
def test_keys_that_are_added_are_refused():
    styles()
    from torch import nn

    with pytest.raises(InputError, match="several b_k: in_proj_bias, bias_k"):
        heads_adapter(nn.MultiheadAttention(24, 6, add_bias_kv=True), Asked())


@pytest.mark.oracle
def test_parameters_of_torch_are_read_as_they_are_used():
    """in_proj_weight is (3·d_model, d_model), rows of q, k, v; here it is read as x @ W_q."""
    styles()
    import torch
    from torch import nn

    styles()
    module = nn.MultiheadAttention(6, 2)
    read = parameters_of(module, "", {}).read()
    with torch.no_grad():
        assert np.array_equal(read["W_k"], module.in_proj_weight[6:12].numpy().T)
        assert np.array_equal(read["W_o"], module.out_proj.weight.numpy().T)
