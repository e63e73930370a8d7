"""torch's own attention is what the table says, by torch alone, and the page shows what a run prints."""

from __future__ import annotations

import math

import pytest
from backend_tables import compare, fresh, printed

torch = pytest.importorskip("torch", reason="check backend torch needs the [oracle] extra")

from torch import nn  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as sdpa  # noqa: E402

from riverhead.checking.backends import Audit, audit_torch  # noqa: E402
from riverhead.checking.backends.of_torch import fast_path, multihead, torch_backends  # noqa: E402

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def audit() -> Audit:
    return audit_torch(["SDPA", "MHA weights"])


def drawn(*shape: int, n: int = 3) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=torch.float64) for _ in range(n)]


def test_the_page_shows_what_a_run_prints(audit: Audit) -> None:
    compare(audit)


def test_the_page_has_every_way_of_torch() -> None:
    names = [each.name for each in torch_backends()]
    columns = printed("torch")["largest error, float32"]
    assert [name for name in names if name in columns] == list(columns)
    assert len(columns) >= 6


def test_the_function_does_what_the_table_says(audit: Audit) -> None:
    """Each cell again, by torch alone."""
    cells = {title: each["SDPA"] for title, each in fresh(audit).items()}
    q, k, v = drawn(1, 2, 5, 4)
    keep = torch.ones(5, 5, dtype=torch.bool)
    keep[1] = False
    assert (sdpa(q, k, v, keep)[:, :, 1] == 0).all()
    assert cells["a query that sees no key"] == "zeros"
    torch.testing.assert_close(sdpa(q[:, :, :1], k, v, is_causal=True)[0, :, 0], v[0, :, 0])
    assert cells["causal, fewer queries than keys: counted from"] == "the start"
    numbers = sdpa(q, k, v, keep.double())
    torch.testing.assert_close(numbers, torch.softmax(q @ k.mT / 2 + keep, -1) @ v)
    assert cells["a mask of 0.0 and 1.0"] == "added !"
    first = torch.zeros(5, 5, dtype=torch.bool)
    first[:, 0] = True
    hidden = v.clone()
    hidden[:, :, 3] = math.nan
    assert sdpa(q, k, hidden, first).isnan().any()
    assert cells["NaN in a hidden value gives"] == "NaN !"
    assert not sdpa(q, k, v, dropout_p=0.5).equal(sdpa(q, k, v))
    assert cells["a dropout of 0.5, not in training, drops"] == "weights !"


def test_looking_at_the_weights_gives_nan_for_a_padded_sample(audit: Audit) -> None:
    cells = {title: each["MHA weights"] for title, each in fresh(audit).items()}
    torch.manual_seed(0)
    module = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 4)
    padding = torch.tensor([[False] * 3, [True] * 3])
    with torch.enable_grad():
        looked, without = (module(x, x, x, padding, need_weights=need)[0] for need in (True, False))
    assert looked[1].isnan().all()
    assert without.isfinite().all()
    assert cells["a sample that is all padding"] == "NaN ✗"
    assert cells["gradient beside a row that sees no key"] == "NaN ✗"
    assert cells["True in a mask"] == "hidden"
    assert not audit.ok


@pytest.mark.parametrize("attend", [multihead(need_weights=False), fast_path], ids=["module", "fast path"])
def test_identity_projections_leave_attention_as_it_is(attend: object) -> None:
    assert callable(attend)
    q, k, v = drawn(3, 2, 5, 7)
    drop = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    torch.testing.assert_close(attend(q, k, v, attn_mask=drop), sdpa(q, k, v, ~drop))


def test_the_fast_path_is_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own kernel is called: not the function that the module calls otherwise."""
    called = []

    def slow(*args: object, **more: object) -> None:
        called.append(args)

    monkeypatch.setattr(nn.functional, "multi_head_attention_forward", slow)
    fast_path(*drawn(3, 2, 5, 7))
    assert not called
    with pytest.raises(TypeError):
        multihead(need_weights=False)(*drawn(3, 2, 5, 7))
    assert called


def test_a_kernel_that_is_not_here_says_why() -> None:
    gone = audit_torch(["SDPA efficient"])
    if torch.cuda.is_available():
        pytest.skip("this machine may have it")
    assert gone.backends[0].backend.attend is None
    assert "backend" in gone.backends[0].backend.why
    assert gone.ok
