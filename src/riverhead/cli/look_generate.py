"""``riverhead look generate``: token by token, the KV cache as it fills, and where each new token looked."""

from __future__ import annotations

from typing import Any

import click

from riverhead.cli.opening import opened, working
from riverhead.cli.options import (
    format_option,
    model_options,
    output_option,
    read_text,
    text_options,
    was_given,
)
from riverhead.cli.output import output_of

__all__ = ["generate"]

FORMATS = ("text", "markdown", "latex", "html", "svg", "png", "json", "csv")

EXAMPLES = """\b
Examples:
  riverhead look generate "The river bank" --tokens 8
  riverhead look generate "What is a river bank?" --chat
  riverhead look generate "The river bank" --temperature 0.8 --top-k 40 --seed 7
  riverhead look generate "The river bank" --tokens 32 -o steps.csv
"""


@click.command(epilog=EXAMPLES)
@text_options
@click.option("--tokens", type=click.IntRange(1), default=16, show_default=True, help="New tokens, at most.")
@click.option("--chat", is_flag=True, help="TEXT is a message, written as the model was trained to read one.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="0 takes the likeliest."
)
@click.option("--top-k", type=click.IntRange(1), help="Draw from the k likeliest tokens alone.")
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1, min_open=True),
    help="Draw from the likeliest that reach p together.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same draws again.")
@click.option("--stop", multiple=True, metavar="TOKEN", help="End at this token, too; may be repeated.")
@model_options
@format_option(*FORMATS)
@output_option
def generate(text: str | None, file: str | None, **asked: Any) -> None:
    """Continue TEXT token by token: the KV cache as it fills, and where each new token looked.

    Each step comes as soon as it is made: the new token and its probability, what the query it comes from
    looked at, and the bytes appended to the KV cache; then the whole cache, held as this model does, with a
    kv head for every head (MHA), or with one for all (MQA). The model's end token ends it.
    """
    from riverhead.inspection.generation import continuation, watch_generation
    from riverhead.transformer.generate import check_room, prompt_ids

    _refuse_what_would_be_ignored(asked["temperature"])
    output = output_of(asked["format"], asked["output"], "riverhead.look.generate/1", FORMATS)
    text = read_text(text, file)
    model = opened(asked["name"], yes=asked["yes"], offline=asked["offline"])
    prompt = [{"role": "user", "content": text}] if asked["chat"] else text
    model.unembedding()  # or it predicts nothing
    check_room(model, prompt_ids(model, prompt), asked["tokens"], "--tokens")
    sampling = {name: asked[name] for name in ("temperature", "top_k", "top_p", "seed", "stop")}
    steps = []
    with working() as hear:
        watched = watch_generation(model, prompt, max_tokens=asked["tokens"], say=hear, **sampling)
    for step in watched:
        steps.append(step)
        if output.at_once:
            output.page(str(step.position), step.scene(), None)
    made = continuation(model, prompt, steps)
    scene = made.summary() if output.at_once else made.scene()
    output.page("generation", scene, made.to_dict(), rows=made.rows())
    output.close()


OF_DRAWS = ("top_k", "top_p", "seed")


def _refuse_what_would_be_ignored(temperature: float) -> None:
    if temperature:
        return
    for name in OF_DRAWS:
        if was_given(name):
            option = "--" + name.replace("_", "-")
            raise click.UsageError(
                f"{option} does nothing at temperature 0, where the likeliest token is taken: give "
                "--temperature, or leave it out"
            )
