"""RoPE, ALiBi and caches of transformers pass, with their conventions reported."""

import pytest

from riverhead.checking.rules import implementation

pytestmark = pytest.mark.oracle
pytest.importorskip("torch")
pytest.importorskip("transformers")


def conventions(thing, kind):
    report = implementation(thing, kind=kind, isolated=False)
    assert not report.failed, report.failed
    return {each.aspect: each.name for each in report.conventions}, report.passed


def test_rope_of_llama_and_of_gptj():
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as of_gptj
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as of_llama

    assert conventions(of_llama, "rope")[0] == {"rope": "half", "layout": "BHTd"}
    assert conventions(of_gptj, "rope")[0] == {"rope": "interleaved", "layout": "BTHd"}


def test_alibi_of_bloom_and_of_mpt():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    assert conventions(build_alibi_tensor, "alibi")[0] == {
        "alibi-form": "key-position",
        "alibi-future": "rising",
    }
    last = {"alibi-form": "from-last-key", "alibi-future": "rising"}
    assert conventions(build_mpt_alibi_tensor, "alibi")[0] == last


def test_dynamic_cache_holds_layers_beams_and_cuts():
    from transformers.cache_utils import DynamicCache

    found, passed = conventions(DynamicCache, "cache")
    assert found == {"layout": "BHTd"}
    for word in ("step", "layers", "rows", "crop", "reset", "count", "stable"):
        assert f"cache-{word}" in passed
