"""The project's own attention and modules for torch."""

from __future__ import annotations

from implementations.tables import Table
from riverhead.torch import MultiHeadAttention, SelfAttention, scaled_dot_product_attention

ACCEPTED = Table()

ACCEPTED.of("riverhead.torch.scaled_dot_product_attention")(scaled_dot_product_attention)
ACCEPTED.of("riverhead.torch.MultiHeadAttention", kind="heads")(MultiHeadAttention)
ACCEPTED.of("riverhead.torch.SelfAttention", kind="heads")(SelfAttention)
