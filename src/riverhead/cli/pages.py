"""The pages of ``riverhead show``: the whiteboard or what a switch changes on it, then the real model's."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from riverhead.cli.models import say
from riverhead.cli.opening import opened, working
from riverhead.cli.output import Output
from riverhead.errors import InputError, NotFetchedError

if TYPE_CHECKING:
    from riverhead.derivation import Derivation, Example
    from riverhead.scene import Scene
    from riverhead.transformer import Model

__all__ = ["make"]


def make(text: str | None, vectors: Path | None, asked: SimpleNamespace, output: Output) -> None:
    """Make the pages that were asked for; ``asked`` holds the options of `show` by name."""
    from riverhead.derivation import example, read_vectors

    toy = read_vectors(vectors) if vectors else example(text or "")
    switched = asked.no_scale or asked.causal or asked.settings or asked.temperature or asked.beside
    if asked.block is not None:
        return _block(_model(asked, needed=True), _text(text), asked, output)
    if switched:
        return _switches(_toy(toy, text), asked, output)
    if toy is not None:
        _whiteboard(toy, asked, output)
        if vectors is None:
            text = toy.sentence or None  # it may have been called by its name
    elif asked.no_model:
        _toy(toy, text)
    else:
        say("No toy vectors for this text (--vectors FILE gives them): straight to the real model.")
    if asked.asks_model or not (asked.no_model or text is None or (toy and output.format == "python")):
        _heads(_model(asked, needed=toy is None or asked.asks_model), _text(text), asked, output)
    return None


def _text(text: str | None) -> str:
    if text is None:
        raise click.UsageError("a real model needs a text, not only vectors")
    return text


def _toy(toy: Example | None, text: str | None) -> Example:
    if toy is None:
        from riverhead.derivation import examples

        known = ", ".join(repr(known.sentence or known.name) for known in examples())
        raise InputError(f"{text!r} has no toy vectors; give --vectors FILE, or one of {known}")
    return toy


def _page(name: str, derivation: Derivation, scene: Scene, output: Output) -> None:
    from riverhead.derivation import script

    output.page(name, scene, _data(derivation), lambda: script(derivation))


def _data(derivation: Derivation) -> Any:
    return json.loads(derivation.to_json())


def _whiteboard(toy: Example, asked: SimpleNamespace, output: Output) -> None:
    from riverhead.derivation import board

    derivation = toy.derive()
    scene = board(derivation, focus=asked.focus or toy.focus, digits=asked.digits, full=asked.full)
    _page("whiteboard", derivation, scene, output)


def _switches(toy: Example, asked: SimpleNamespace, output: Output) -> None:
    """What the switches change, and nothing else: before → after."""
    from riverhead.derivation import apply_setting, changed, destinations, example, script, sweep

    before = toy.derive()
    focus = asked.focus or toy.focus
    if asked.beside is not None:
        other = _toy(example(asked.beside), asked.beside).derive()
        word = focus or _shared(before, other)
        both = {"of": _data(before), "beside": _data(other), "word": word}
        return output.page("destinations", destinations(before, other, word, digits=asked.digits), both)
    for setting in asked.settings:
        toy = apply_setting(toy, setting)
    options = {"scale": 1.0} if asked.no_scale else {}
    if asked.causal:
        options["causal"] = True
    if len(asked.temperature) == 1:
        options["temperature"] = asked.temperature[0]
    after = toy.derive(**options)
    if len(asked.temperature) > 1:
        runs = [after.but(temperature=temperature) for temperature in asked.temperature]
        scene = sweep(after, asked.temperature, focus=focus, digits=asked.digits)
        return output.page("sweep", scene, [_data(run) for run in runs], lambda: script(after))
    scene = changed(before, after, digits=asked.digits)
    data = {"before": _data(before), "after": _data(after)}
    return output.page("changed", scene, data, lambda: script(after))


def _shared(a: Derivation, b: Derivation) -> str:
    both = [token for token in a.given.tokens if token in b.given.tokens]
    if not both:
        raise InputError("the two sentences share no word; give one to follow with --focus")
    return both[0]


def _model(asked: SimpleNamespace, *, needed: bool) -> Model | None:
    """The model, fetched if the user agrees; None if it is absent and the whiteboard can do without."""
    try:
        return opened(asked.name, yes=asked.yes, offline=asked.offline)
    except NotFetchedError as absent:
        if needed:
            raise
        say(f"{absent}")
        return None


def _heads(model: Model | None, text: str, asked: SimpleNamespace, output: Output) -> None:
    """The most telling heads with their three answers, the same heads elsewhere, and the best one derived."""
    if model is None:
        return
    from riverhead.derivation import board
    from riverhead.inspection import control, head_derivation, telling

    with working() as progress:
        found = telling(model, text, focus=asked.focus, head=asked.head, progress=progress)
    output.page("heads", found.scene(), asdict(found))
    derivation = head_derivation(model.read(text), found.head, found.query)
    _page("head", derivation, board(derivation, digits=asked.digits, full=asked.full), output)
    if asked.control is not None:
        with working() as progress:
            beside = control(model, asked.control, found, progress=progress)
        output.page("control", beside.scene(), asdict(beside))


def _block(model: Model | None, text: str, asked: SimpleNamespace, output: Output) -> None:
    from riverhead.inspection import block_scene

    assert model is not None  # it was needed
    reading = model.read(text)
    block = reading.block(asked.block)
    norms = {name: values.tolist() for name, values in block.norms().items()}
    data = {"layer": block.layer, "tokens": reading.tokens, "shapes": block.shapes, "norms": norms}
    output.page("block", block_scene(reading, block, digits=asked.digits), data)
