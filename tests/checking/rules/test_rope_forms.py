"""RoPE as people write it in torch: tables of complex numbers, modules of one width, narrow dtypes."""

import pytest
from rope_styles import agreed, asked, speeds


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def llama(torch):
    """As Llama's reference has it: a table of complex numbers, made elsewhere."""

    def precompute(dim, end, theta=10_000.0):
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
        angle = torch.outer(torch.arange(end).float(), freqs)
        return torch.polar(torch.ones_like(angle), angle)

    def apply_rotary_emb(xq, xk, freqs_cis):
        def turned(x):
            z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
            table = freqs_cis.view(1, x.shape[1], *[1] * (x.ndim - 3), -1)
            return torch.view_as_real(z * table).flatten(-2).type_as(x)

        return turned(xq), turned(xk)

    return apply_rotary_emb, precompute


@pytest.mark.oracle
def test_a_table_is_made_by_the_function_that_is_named(torch):
    apply, table = llama(torch)
    without, beside = asked(apply), asked(apply, table=table)
    assert not without.failed + beside.failed
    assert agreed(beside) == {"rope": "interleaved", "rope-base": "10000", "layout": "BTHd"}
    assert {"rope-speeds", "rope-angles"} <= set(beside.passed) - set(without.passed)


@pytest.mark.oracle
def test_a_module_made_for_one_width_is_asked_at_that_width(torch):
    class Rotary(torch.nn.Module):
        """Tokens before heads, as torchtune has it."""

        def __init__(self, dim, max_seq_len=4096, base=10_000):
            super().__init__()
            theta = torch.outer(torch.arange(max_seq_len).float(), torch.tensor(speeds(dim, base)).float())
            self.register_buffer("cache", torch.stack([theta.cos(), theta.sin()], -1))

        def forward(self, x, *, input_pos=None):
            table = self.cache[: x.size(1)] if input_pos is None else self.cache[input_pos]
            x_, table = x.float().unflatten(-1, (-1, 2)), table.view(-1, x.size(1), 1, x.size(3) // 2, 2)
            a, b, c, s = x_[..., 0], x_[..., 1], table[..., 0], table[..., 1]
            return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).type_as(x)

    for thing in (Rotary, Rotary(16)):
        report = asked(thing)
        assert not report.failed
        assert agreed(report) == {"rope": "interleaved", "rope-base": "10000", "layout": "BTHd"}


@pytest.mark.oracle
def test_a_base_read_from_a_table_of_float32_is_the_round_number(torch):
    def f(x, offset=0):
        slow = 1.0 / 500_000 ** (torch.arange(0, x.size(-1), 2).float() / x.size(-1))
        theta = torch.outer(torch.arange(offset, offset + x.size(-2)).float(), slow)
        cos, sin = torch.cat([theta.cos()] * 2, -1), torch.cat([theta.sin()] * 2, -1)
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    report = asked(f)
    assert not report.failed
    assert agreed(report)["rope-base"] == "500000"


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_positions_in_the_dtype_of_the_vectors_are_told_though_float64_is_right(torch, dtype):
    def f(x, offset=0):
        places = torch.arange(offset, offset + x.size(-2), dtype=x.dtype)
        theta = torch.outer(places.double(), torch.tensor(speeds(x.size(-1))))
        cos, sin = torch.cat([theta.cos()] * 2, -1), torch.cat([theta.sin()] * 2, -1)
        a, b = x.chunk(2, -1)
        return (x * cos + torch.cat([-b, a], -1) * sin).to(x.dtype)

    report = asked(f)
    assert report.mistakes[0] == "rope-positions-in-float16"
    assert [failure.rule for failure in report.failed] == ["rope-counts"]
