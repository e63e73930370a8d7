"""Measured experiments: why attention is built as it is, each predicted before it is measured."""

from riverhead.experiments.experiment import (
    EXPERIMENTS,
    Claim,
    Experiment,
    Prediction,
    Progress,
    Result,
    measure,
    prepare,
)

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Prediction",
    "Progress",
    "Result",
    "measure",
    "prepare",
]
