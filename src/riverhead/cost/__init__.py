"""What a model is, and what it costs: the config everyone reads."""

from riverhead.cost.config import Config

__all__ = ["Config"]
