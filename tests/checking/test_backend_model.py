"""A model's own attention is what the table says, by transformers alone, and what the page shows."""

from __future__ import annotations

import pytest
from backend_tables import compare, fresh

torch = pytest.importorskip("torch", reason="check backend transformers needs the [oracle] extra")
transformers = pytest.importorskip(
    "transformers", reason="check backend transformers needs the [oracle] extra"
)

from pathlib import Path  # noqa: E402

from riverhead.checking.backends import Audit, audit_model  # noqa: E402
from riverhead.checking.backends.of_model import called, opened  # noqa: E402
from riverhead.errors import InputError, ModelError  # noqa: E402

pytestmark = pytest.mark.oracle
FIRST, SECOND = [5, 6, 7], [20, 21, 22]


@pytest.fixture(scope="module")
def audit() -> Audit:
    return audit_model("llama")


@pytest.fixture(scope="module")
def llama() -> object:
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, vocab_size=64, max_position_embeddings=32,
    )  # fmt: skip
    return transformers.AutoModel.from_config(config, attn_implementation="sdpa").eval()


def test_the_page_shows_what_a_run_prints(audit: Audit) -> None:
    compare(audit)
    assert audit.ok


ONES = torch.ones(1, 6, dtype=torch.int64)
PACKED = {
    "two texts packed: position_ids, use_cache=False": {"use_cache": False},
    "… and use_cache as it is": {},
    "… and an attention_mask of ones": {"attention_mask": ONES, "use_cache": False},
}


@pytest.mark.parametrize("row", PACKED)
def test_packed_texts_are_apart_where_neither_cache_nor_mask_is(
    audit: Audit, llama: object, row: str
) -> None:
    """By transformers alone, on another model."""
    assert callable(llama)
    ids, places = torch.tensor([FIRST + SECOND]), torch.tensor([[0, 1, 2, 0, 1, 2]])
    with torch.no_grad():
        alone = llama(input_ids=torch.tensor([SECOND])).last_hidden_state[0]
        packed = llama(input_ids=ids, position_ids=places, **PACKED[row]).last_hidden_state[0, 3:]
    same = bool((packed - alone).abs().max() < 1e-5)  # float32, numbers of about 1
    assert same == ("use_cache=False" in row)
    assert same == (fresh(audit)[row]["llama sdpa"] == "the same")


def test_weights_that_are_asked_for_in_the_call_come_from_eager_alone(audit: Audit, llama: object) -> None:
    assert callable(llama)
    with torch.no_grad():
        assert len(llama(input_ids=torch.tensor([FIRST]), output_attentions=True).attentions or ()) == 0
    assert fresh(audit)["output_attentions=True"] == {"llama eager": "per head", "llama sdpa": "nothing !"}


def test_eager_adds_a_boolean_mask(audit: Audit) -> None:
    model = opened("llama")
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 5, 4) for _ in range(3))
    keep = torch.tril(torch.ones(5, 5, dtype=torch.bool))
    out, _ = called(model.first, "eager", q, k, v, keep)
    torch.testing.assert_close(out, torch.softmax(q @ k.mT / 2 + keep, -1) @ v)
    row = fresh(audit)["a boolean mask, handed to the function itself"]
    assert row == {"llama eager": "added !", "llama sdpa": "hides"}


def test_no_probe_of_a_model_fails_unseen(audit: Audit) -> None:
    """What a probe raises is a refusal in the table: a slip of ours would hide in one."""
    assert "refused" not in {cell for cells in fresh(audit).values() for cell in cells.values()}


def test_a_scale_that_is_not_one_over_the_root_is_shown() -> None:
    assert opened("gemma2").first.scaling == pytest.approx(1 / 16)  # query_pre_attn_scalar is 256
    assert list(opened("gemma2").refused) == ["sdpa"]


def test_a_folder_is_opened_as_it_is(tmp_path: Path, llama: transformers.PreTrainedModel) -> None:
    llama.save_pretrained(tmp_path / "mine")
    found = opened(str(tmp_path / "mine"))
    assert (found.name, list(found.models)) == ("mine", ["eager", "sdpa"])
    for name, x in llama.state_dict().items():
        assert found.models["eager"].state_dict()[name].equal(x)


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lama is neither a folder nor .*; did you mean llama\?"):
        opened("lama")
    with pytest.raises(ModelError, match="cannot be opened"):
        opened(str(tmp_path))
    with pytest.raises(ModelError, match="vit cannot read a few tokens"):
        opened("vit")
