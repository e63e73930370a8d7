"""riverhead.torch against torch's own attention, against the course's code it stands in for, and on paper."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from riverhead.errors import DtypeError, GradientError, InputError, MissingExtraError, ShapeError

pytestmark = pytest.mark.oracle

PRIMES = (2, 15, 7, 13), (2, 3, 11, 13), (2, 3, 11, 17)  # H 15 = 5·3 heads over G 3
DTYPES = ["float32", "float64", "bfloat16", "float16"]
E_IN_MONEY_BANK_GROWS = [[1.0, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="riverhead.torch needs the [oracle] extra")


@pytest.fixture
def rt(torch):
    import riverhead.torch

    return riverhead.torch


@pytest.fixture
def leaves(torch):
    """Make a tensor of each shape that wants its gradient."""

    def make(*shapes, dtype="float64", seed=0):
        of = torch.Generator().manual_seed(seed)
        drawn = (torch.randn(shape, generator=of, dtype=torch.float64) for shape in shapes)
        return [x.to(getattr(torch, dtype)).requires_grad_() for x in drawn]

    return make


@pytest.fixture
def from_scratch(torch):
    """The bare function of the course as it is written there, heads repeated as they are shared."""

    def scaled_dot_product_attention(Q, K, V, mask=None):
        K, V = (x.repeat_interleave(Q.size(-3) // x.size(-3), -3) for x in (K, V))
        d_k = Q.size(-1)
        scores = (Q @ K.transpose(-2, -1)) / d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return torch.nn.functional.softmax(scores, dim=-1) @ V

    return scaled_dot_product_attention


def gradients(torch, out, leaves, seed=1):
    """How a random loss moves with each leaf."""
    d_out = torch.randn(out.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.autograd.grad(out, leaves, d_out.to(out.dtype))


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "riverhead.torch", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'riverhead\[oracle\]'"):
        __import__("riverhead.torch")


# the function


def test_the_bank_row_on_paper(torch, rt):
    """Scores 0.5, 1, 0.5 of "bank": the weights and the mixture that the course prints."""
    E = torch.tensor(E_IN_MONEY_BANK_GROWS)
    Y, A = rt.scaled_dot_product_attention(E, E, E, return_map=True)
    assert A[1].round(4).tolist() == pytest.approx([0.2741, 0.4519, 0.2741])
    torch.testing.assert_close(Y[1], torch.tensor([0.7259, 0.7259, 0.5481, 0.2741]), atol=5e-5, rtol=0)


@pytest.mark.parametrize("kind", ["bool", "int64", "float32", "bfloat16", "uint8"])
@pytest.mark.parametrize("shape", [(7, 11), (1, 11), (2, 1, 7, 11), (2, 15, 7, 11), (15, 7, 1)])
def test_equals_the_code_of_the_course(torch, rt, leaves, from_scratch, shape, kind):
    """float64 on both sides: sums of up to 5·7·17 products of some size 3, rounded at 1e-16."""
    given = leaves(*PRIMES)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.6
    mask[..., 0] = True
    mask = mask.to(getattr(torch, kind))
    out, right = rt.scaled_dot_product_attention(*given, mask), from_scratch(*given, mask)
    torch.testing.assert_close(out, right, atol=1e-13, rtol=0)
    for d, exact in zip(gradients(torch, out, given), gradients(torch, right, given), strict=True):
        torch.testing.assert_close(d, exact, atol=1e-13, rtol=0)


CASES = {  # ours, torch's
    "causal from the start": ({"is_causal": True, "align": "start"}, {"is_causal": True}),
    "causal to the end": ({"is_causal": True}, {"attn_mask": np.tri(7, 11, 4, dtype=bool)}),
    "scale": ({"scale": 0.1}, {"scale": 0.1}),
    "bias": ({"bias": np.tri(7, 11) - 0.5}, {"attn_mask": np.tri(7, 11) - 0.5}),
    "a row that sees nothing": (
        {"mask": np.arange(7)[:, None] + np.zeros(11) != 3},
        {"attn_mask": np.arange(7)[:, None] + np.zeros(11) != 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_sdpa(torch, rt, leaves, case):
    ours, theirs = ({k: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for k, x in options.items()}
                    for options in CASES[case])  # fmt: skip
    given = leaves(*PRIMES)
    out = rt.scaled_dot_product_attention(*given, **ours)
    right = torch.nn.functional.scaled_dot_product_attention(*given, enable_gqa=True, **theirs)
    torch.testing.assert_close(out, right, atol=1e-13, rtol=0)
    for d, exact in zip(gradients(torch, out, given), gradients(torch, right, given), strict=True):
        torch.testing.assert_close(d, exact, atol=1e-13, rtol=0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True, "softcap": 1.5},
        {"is_causal": True, "window": 3, "align": "start", "scale": -0.7},
        {"lengths": [2, 0], "alibi": np.array([0.5, -0.25, 1.0, 0.0])},
        {"mask": np.tri(5, 3) > 0, "softcap": 3.0},
        {"offset": -3, "is_causal": True},  # three queries see nothing
    ],
    ids=str,
)
def test_gradcheck(torch, rt, leaves, options):
    """Central differences in float64, of sinks as well."""
    options = {k: torch.as_tensor(x) if k in ("lengths", "alibi", "mask") else x for k, x in options.items()}
    given = leaves((2, 4, 5, 3), (2, 2, 3, 3), (2, 2, 3, 2), (4,))

    def attend(Q, K, V, sinks):
        return rt.scaled_dot_product_attention(Q, K, V, sinks=sinks, **options)

    assert torch.autograd.gradcheck(attend, given)
    assert torch.autograd.gradcheck(lambda *x: rt.scaled_dot_product_attention(*x, **options), given[:3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_read_exactly_and_rounded_once(torch, rt, leaves, from_scratch, dtype):
    """The same numbers in float64: what is left is float32's rounding, 1e-6 of sums near 10, and dtype's."""
    given = leaves(*PRIMES, dtype=dtype)
    wide = [x.detach().double().requires_grad_() for x in given]
    out, right = rt.scaled_dot_product_attention(*given), from_scratch(*wide)
    assert out.dtype == getattr(torch, dtype)
    u = torch.finfo(out.dtype).eps / 2
    float32 = 0 if dtype == "float64" else 1e-5
    torch.testing.assert_close(out.double(), right, rtol=u, atol=1e-13 + float32)
    d_out = torch.ones_like(out)
    found = torch.autograd.grad(out, given, d_out)
    for d, exact in zip(found, torch.autograd.grad(right, wide, d_out.double()), strict=True):
        assert d.dtype == out.dtype
        torch.testing.assert_close(d.double(), exact, rtol=u, atol=1e-13 + 10 * float32)


def test_dtypes_may_differ(torch, rt, leaves):
    Q, K, V = (
        x.to(dtype)
        for x, dtype in zip(leaves(*PRIMES), (torch.float32, torch.bfloat16, torch.float64), strict=True)
    )
    assert rt.scaled_dot_product_attention(Q, K, V).dtype == torch.float64
    assert rt.scaled_dot_product_attention(Q, K, K).dtype == torch.float32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["as it comes", "heads behind time", "every other"])
def test_tensors_are_read_where_they_lie(torch, rt, leaves, monkeypatch, dtype, layout):
    jobs = []
    run = rt.kernel.run
    monkeypatch.setattr(rt.kernel, "run", lambda job, **how: jobs.append(job) or run(job, **how))
    given = [x.detach() for x in leaves((2, 3, 7, 10), (2, 3, 7, 10), (2, 3, 7, 10), dtype=dtype)]
    if layout == "heads behind time":
        given = [x.transpose(1, 2) for x in given]
    if layout == "every other":
        given = [x[..., ::2, 1::2] for x in given]
    out, A = rt.scaled_dot_product_attention(*given, return_map=True)
    for x, read in zip(given, (jobs[0].q, jobs[0].k, jobs[0].v), strict=True):
        assert read.ctypes.data == x.data_ptr()
        assert [n // x.element_size() for n in read.strides] == list(x.stride())
    if dtype in ("float32", "float64"):
        assert A.out.ctypes.data == out.data_ptr()
    again = rt.scaled_dot_product_attention(*(x.contiguous() for x in given))
    torch.testing.assert_close(out, again, rtol=0, atol=0 if dtype == "float64" else 1e-6)


def test_tensors_whose_sign_is_still_to_be_turned(torch, rt, leaves):
    """The imaginary part of a conjugate is a view that says "minus", as complex rotary positions make it."""
    given, (turned,) = leaves(*PRIMES), leaves((2, 15, 7, 17), seed=3)
    lazy = [torch.complex(x, x).conj().imag for x in (given[0], turned)]
    assert all(x.is_neg() for x in lazy)
    out = rt.scaled_dot_product_attention(lazy[0], *given[1:])
    right = rt.scaled_dot_product_attention(-given[0], *given[1:])
    torch.testing.assert_close(out, right, atol=0, rtol=0)
    found = torch.autograd.grad(out, given, lazy[1].detach())
    for d, exact in zip(found, torch.autograd.grad(right, given, -turned.detach()), strict=True):
        torch.testing.assert_close(d, exact, atol=0, rtol=0)


def test_a_mask_that_repeats_is_not_written_out(torch, rt, monkeypatch):
    masks = []
    monkeypatch.setattr(rt, "job_of", lambda **given: masks.append(given["mask"]) or job_of(**given))
    from riverhead.core.job import job_of

    mask = torch.ones(7, 7).tril().expand(2, 3, 7, 7)
    rt.scaled_dot_product_attention(*(torch.ones(2, 3, 7, 5),) * 3, mask)
    assert masks[0].shape == (2, 3, 7, 7)
    assert masks[0].untyped_storage().nbytes() == 49


def test_what_repeats_gets_the_sum_of_its_gradients(torch, rt, leaves):
    Q, K, V = leaves((2, 3, 5, 7), (1, 3, 5, 7), (3, 5, 2))
    found = gradients(torch, rt.scaled_dot_product_attention(Q, K, V), (Q, K, V))
    whole = rt.scaled_dot_product_attention(Q, K.expand(2, 3, 5, 7), V.expand(2, 3, 5, 2).clone())
    for d, exact in zip(found, gradients(torch, whole, (Q, K, V)), strict=True):
        torch.testing.assert_close(d, exact, atol=1e-14, rtol=0)
    one = leaves((5, 7), (3, 7), (3, 2))
    assert [d.shape for d in gradients(torch, rt.scaled_dot_product_attention(*one), one)] == [
        (5, 7),
        (3, 7),
        (3, 2),
    ]


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_what_sees_nothing_or_is_not_seen_gets_zeros(torch, rt, leaves, poison):
    given = leaves(*PRIMES)
    mask = torch.ones(7, 11)
    mask[3], mask[:, 4] = 0, 0
    clean = gradients(torch, rt.scaled_dot_product_attention(*given, mask), given)
    with torch.no_grad():
        for x, place in zip(given, (3, 4, 4), strict=True):
            x[..., place, :] = poison
    out = rt.scaled_dot_product_attention(*given, mask)
    assert not out[..., 3, :].any()
    for d, untouched in zip(gradients(torch, out, given), clean, strict=True):
        torch.testing.assert_close(d, untouched, atol=0, rtol=0)


def test_the_map_is_the_weights(torch, rt, leaves):
    Q, K, V = leaves(*PRIMES)
    (sinks,) = leaves((15,))
    out, A = rt.scaled_dot_product_attention(Q, K, V, is_causal=True, sinks=sinks, return_map=True, top=3)
    scores = (Q @ K.repeat_interleave(5, 1).mT / 13**0.5).masked_fill(
        ~torch.ones(7, 11).tril(4).bool(), -torch.inf
    )
    scores = torch.cat([scores, sinks[:, None, None].expand(2, 15, 7, 1)], -1)
    weights = scores.softmax(-1)[..., :-1].detach()
    torch.testing.assert_close(torch.from_numpy(np.asarray(A)), weights, atol=1e-14, rtol=0)
    assert A.top_key.shape == (2, 15, 7, 3)
    torch.testing.assert_close(out, torch.from_numpy(A.out))


# differentiated twice, changed in place, compiled, and not in the way of memory


def test_a_second_derivative_is_an_error_not_zero(torch, rt, leaves):
    Q, K, V = leaves(*PRIMES)
    (d_q,) = torch.autograd.grad(rt.scaled_dot_product_attention(Q, K, V).sum(), Q, create_graph=True)
    with pytest.raises(GradientError, match="no second derivative"):
        d_q.square().sum().backward()


@pytest.mark.parametrize("which", ["Q", "mask", "out"])
def test_a_change_in_place_is_noticed(torch, rt, leaves, which):
    Q, K, V = leaves(*PRIMES)
    Q, mask = Q * 1, torch.ones(7, 11, dtype=torch.bool)
    out = rt.scaled_dot_product_attention(Q, K, V, mask)
    with torch.no_grad():
        {"Q": Q, "mask": mask, "out": out}[which].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_recomputed_by_a_checkpoint(torch, rt, leaves):
    from torch.utils.checkpoint import checkpoint

    given = leaves(*PRIMES)
    out = checkpoint(rt.scaled_dot_product_attention, *given, use_reentrant=False)
    right = gradients(torch, rt.scaled_dot_product_attention(*given), given)
    for d, exact in zip(gradients(torch, out, given), right, strict=True):
        torch.testing.assert_close(d, exact, atol=0, rtol=0)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # read by Dynamo
def test_a_compiled_module_gives_the_same(torch, rt, leaves):
    torch._dynamo.reset()
    module, (x,) = rt.MultiHeadAttention(6, 3).double(), leaves((2, 5, 6))
    out = torch.compile(module, backend="eager")(x, is_causal=True)
    torch.testing.assert_close(out, module(x, is_causal=True), atol=0, rtol=0)


def test_no_t_times_t_is_stored():
    """At T = 8,191 a T×T of bytes is 67 MB, of float32 268 MB; forward and backward need less than 40."""
    pytest.importorskip("torch", reason="riverhead.torch needs the [oracle] extra")
    resource = pytest.importorskip("resource", reason="peak memory: POSIX only")
    assert resource
    script = """
        import resource, torch
        from riverhead.torch import scaled_dot_product_attention
        def attend(T):
            Q, K, V = (torch.randn(1, T, 8, requires_grad=True) for _ in range(3))
            out, A = scaled_dot_product_attention(Q, K, V, is_causal=True, return_map=True)
            out.sum().backward()
        attend(64)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        attend(8191)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    kilobytes = int(ran.stdout) / (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 40_000


# what it does not take


def refusals(torch):
    x = torch.ones(2, 3, 5, 7)
    return {
        "Q is on meta; it must be on the CPU, as Q.cpu() is": ((x.to("meta"), x, x), {}),
        "K is sparse_coo; it must be strided, as K.to_dense() is": ((x, x.to_sparse(), x), {}),
        "V is torch.int64; it must be float32, float64, bfloat16 or float16: V.float()": (
            (x, x, x.long()), {},
        ),
        "Q is of type ndarray; it must be a tensor: torch.as_tensor(Q)": ((x.numpy(), x, x), {}),
        "mask holds -inf; it must be boolean, or 0 and 1 (may attend): "
        "numbers to add to the scores are bias=": (
            (x, x, x, torch.full((5, 5), -torch.inf).triu(1)), {},
        ),
        "mask holds 2; it must be boolean, or 0 and 1 (may attend): "
        "numbers to add to the scores are bias=": (
            (x, x, x, torch.tensor([0, 1, 2, 1, 1])), {},
        ),
        "mask is on meta; it must be on the CPU, as mask.cpu() is": (
            (x, x, x, torch.ones(5, 5, device="meta")), {},
        ),
        "bias requires a gradient, and none is made for it: give bias.detach()": (
            (x, x, x), {"bias": torch.ones(5, 5, requires_grad=True)},
        ),
        "lengths is of type list; it must be a tensor: torch.as_tensor(lengths)": (
            (x, x, x), {"lengths": [1, 2]},
        ),
        "scaled_dot_product_attention() got an unexpected keyword argument 'dropout_p'": (
            (x, x, x), {"dropout_p": 0.1},
        ),
        "T_k differs: k has 5, v has 4; each key is paired with one value": ((x, x, x[..., :4, :]), {}),
        "T_k differs: mask has 4, the scores have 5; mask (5, 4) must broadcast to the scores (2, 3, 5, 5)": (
            (x, x, x, torch.ones(5, 4)), {},
        ),
    }  # fmt: skip


def test_refusals_name_the_argument_and_what_to_do(torch, rt):
    for message, (args, options) in refusals(torch).items():
        with pytest.raises((ShapeError, DtypeError, InputError, TypeError)) as caught:
            rt.scaled_dot_product_attention(*args, **options)
        assert str(caught.value) == message


def test_nested_tensors_are_refused(torch, rt):
    x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(5, 3)], layout=torch.jagged)
    with pytest.raises(
        InputError, match=r"Q is nested; pad it, Q.to_padded_tensor\(0.0\), and give lengths="
    ):
        rt.scaled_dot_product_attention(x, x, x)


# the modules


def test_self_attention_is_the_one_of_the_course(torch, rt, leaves, from_scratch):
    module = rt.SelfAttention(d_model=7, d_k=3).double()
    assert list(module.state_dict()) == ["W_q.weight", "W_k.weight", "W_v.weight"]
    x, mask = leaves((2, 5, 7))[0], torch.ones(5, 5).tril()
    Q, K, V = (W(x) for W in (module.W_q, module.W_k, module.W_v))
    y, A = module(x, mask, return_map=True)
    torch.testing.assert_close(y, from_scratch(Q, K, V, mask), atol=1e-14, rtol=0)
    torch.testing.assert_close(module(x, is_causal=True), y, atol=0, rtol=0)
    assert A.shape == (2, 5, 5)
    each = torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(0)) < 0.9
    each |= torch.eye(5, dtype=torch.bool)
    torch.testing.assert_close(module(x, each), from_scratch(Q, K, V, each), atol=1e-14, rtol=0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_weights_of_torchs_module(torch, rt, leaves, bias, batch_first):
    """Values, maps, and the gradients of every weight, causal, with padding and across two sequences."""
    theirs = torch.nn.MultiheadAttention(6, 3, bias=bias, batch_first=batch_first, dtype=torch.float64)
    if bias:  # which torch starts at 0
        torch.nn.init.normal_(theirs.in_proj_bias)
        torch.nn.init.normal_(theirs.out_proj.bias)
    ours = rt.MultiHeadAttention.from_torch(theirs)
    x, context = leaves((2, 5, 6), (2, 7, 6))
    padding = torch.arange(7) >= torch.tensor([[7], [4]])  # (B, T_k), True = ignore
    future = ~torch.ones(5, 7, dtype=torch.bool).tril(2)
    turn = (lambda x: x) if batch_first else (lambda x: x.transpose(0, 1))
    y, A = ours(x, ~future & ~padding[:, None, None], context=context, return_map=True)
    right, weights = theirs(*map(turn, (x, context, context)), key_padding_mask=padding, attn_mask=future,
                            average_attn_weights=False)  # fmt: skip
    torch.testing.assert_close(y, turn(right), atol=1e-14, rtol=0)
    torch.testing.assert_close(torch.from_numpy(np.asarray(A)), weights.detach(), atol=1e-14, rtol=0)
    short = ours(x, ~future, context=context, lengths=torch.tensor([7, 4]))
    torch.testing.assert_close(short, y, atol=1e-14, rtol=0)

    packed = ["in_proj_weight", "in_proj_bias"] if bias else ["in_proj_weight"]
    loss = y.square().sum(), right.square().sum()
    d_theirs = torch.autograd.grad(loss[1], [getattr(theirs, name) for name in packed])
    for kind, d in zip(("weight", "bias"), d_theirs, strict=False):
        rows = [getattr(W, kind) for W in (ours.W_q, ours.W_k, ours.W_v)]
        d_ours = torch.cat(torch.autograd.grad(loss[0], rows, retain_graph=True))
        torch.testing.assert_close(d_ours, d, atol=1e-13, rtol=0)
    assert ours.W_o.weight.data_ptr() != theirs.out_proj.weight.data_ptr()


def test_what_torchs_module_does_and_this_does_not(torch, rt):
    for what, options in {
        "mha's dropout 0.1 while training": {"dropout": 0.1},
        "add_bias_kv": {"add_bias_kv": True},
        "add_zero_attn": {"add_zero_attn": True},
        "kdim 5 and vdim 6 beside embed_dim 6": {"kdim": 5},
    }.items():
        with pytest.raises(InputError, match=what):
            rt.MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(6, 3, **options))
    still = torch.nn.MultiheadAttention(6, 3, dropout=0.1).eval()
    assert not rt.MultiHeadAttention.from_torch(still).training


def test_grouped_heads_are_heads_whose_keys_and_values_repeat(torch, rt, leaves):
    grouped = rt.MultiHeadAttention(30, 15, 3, bias=True).double()
    whole = rt.MultiHeadAttention(30, 15, bias=True).double()
    state = grouped.state_dict()
    for name in ("W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias"):
        state[name] = state[name].unflatten(0, (3, 2)).repeat_interleave(5, 0).flatten(0, 1)
    whole.load_state_dict(state)
    (x,) = leaves((2, 7, 30))
    torch.testing.assert_close(grouped(x), whole(x), atol=1e-14, rtol=0)
    torch.testing.assert_close(grouped(x[1]), whole(x)[1], atol=1e-14, rtol=0)


def test_a_module_learns_to_copy_the_previous_token(torch, rt):
    """Half of each token is its place: after 150 steps the map looks at the token before."""
    torch.manual_seed(0)
    T, module = 7, rt.MultiHeadAttention(16, 2)
    place = torch.eye(T, 8).expand(5, T, 8)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(150):
        x = torch.cat([torch.randn(5, T, 8), place], -1)
        loss = (module(x, is_causal=True)[:, 1:, :8] - x[:, :-1, :8]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    _, A = module(x, is_causal=True, return_map=True)
    assert loss < 0.5  # of a variance of 1
    assert A.previous_weight[..., 1:].mean() > 0.5


def test_modules_say_what_does_not_fit(torch, rt):
    module, x = rt.MultiHeadAttention(6, 3), torch.ones(2, 5, 6)
    for message, call in {
        "d_model 6 cannot be cut into n_heads 4": lambda: rt.MultiHeadAttention(6, 4),
        "n_heads 3 is not a multiple of n_kv_heads 2": lambda: rt.MultiHeadAttention(6, 3, 2),
        "d_k is 0; it must be a whole number": lambda: rt.SelfAttention(6, 0),
        r"x is \(2, 5, 7\); it must be \(B, T, d_model\) with d_model 6": lambda: module(torch.ones(2, 5, 7)),
        r"mask has 3 axes \(2, 5, 5\).*mask\[:, None\]": lambda: module(x, torch.ones(2, 5, 5)),
        "mha is of type Linear": lambda: rt.MultiHeadAttention.from_torch(torch.nn.Linear(6, 6)),
    }.items():
        with pytest.raises(InputError, match=message):
            call()
