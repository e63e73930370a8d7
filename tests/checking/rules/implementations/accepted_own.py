"""The project's own attention, heads, positions and cache."""

from __future__ import annotations

from implementations.tables import Table
from riverhead import attention
from riverhead.core import KVCache, MultiHead, alibi_bias, alibi_slopes, rope

ACCEPTED = Table()

ACCEPTED.of("riverhead.attention")(attention)


@ACCEPTED.of("riverhead: MultiHead", kind="heads")
def multi_head(x, W_q, W_k, W_v, W_o, n_heads, n_kv_heads, mask=None):
    return MultiHead(W_q, W_k, W_v, W_o, n_heads, n_kv_heads).forward(x, mask=mask).y


ACCEPTED.of("riverhead: rope", kind="rope")(rope)
ACCEPTED.of("riverhead: alibi_slopes", kind="alibi")(alibi_slopes)
ACCEPTED.of("riverhead: alibi_bias", kind="alibi")(alibi_bias)
ACCEPTED.of("riverhead: KVCache", kind="cache")(KVCache)
