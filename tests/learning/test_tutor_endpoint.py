"""Where a model is asked: which addresses and keys are taken, and that a key shows itself nowhere."""

from __future__ import annotations

import traceback
from dataclasses import asdict

import pytest

from riverhead.errors import InputError
from riverhead.learning.tutor.endpoint import Endpoint, Key

SECRET = "sk-zebra-4711-never-to-be-seen"

ADDRESSES = {
    "http://localhost:8080": "http://localhost:8080/v1/chat/completions",
    "http://localhost:8080/": "http://localhost:8080/v1/chat/completions",
    "http://localhost:8080/v1": "http://localhost:8080/v1/chat/completions",
    " http://localhost:8080/v1/ ": "http://localhost:8080/v1/chat/completions",
    "https://api.example.com/v1/chat/completions": "https://api.example.com/v1/chat/completions",
    "https://api.example.com/v1/chat/completions/": "https://api.example.com/v1/chat/completions",
    "https://api.example.com/openai/v2": "https://api.example.com/openai/v2/chat/completions",
    "https://api.example.com/v1?version=7": "https://api.example.com/v1/chat/completions?version=7",
    "HTTPS://API.example.com/v1": "https://API.example.com/v1/chat/completions",
    "https://[::1]:8443/v1": "https://[::1]:8443/v1/chat/completions",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_taken_up_to_v1_or_whole(address: str) -> None:
    assert Endpoint.read(address, "m", SECRET).url == ADDRESSES[address]


@pytest.mark.parametrize(
    "address",
    ["", "localhost:8080", "ftp://x/v1", "file:///etc/passwd", "http://", "http:///v1", "http://x:99999/v1",
     "http://x:port/v1", "http://[::1/v1", "https://x/v1\nHost: y", "https://x/a b", "https://müller.de/v1",
     "https://x/\x1b[31m", "https://" + "x" * 3_000, "javascript:alert(1)"],
)  # fmt: skip
def test_what_is_no_address_is_refused_by_the_name_of_its_variable(address: str) -> None:
    with pytest.raises(InputError, match=r"RIVERHEAD_LLM_URL .*http://localhost:8080/v1"):
        Endpoint.read(address, "m")


@pytest.mark.parametrize("address", ["https://me:secret@x/v1", "https://me@x/v1", "https://x/v1#secret"])
def test_a_password_in_the_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="RIVERHEAD_LLM_KEY") as refused:
        Endpoint.read(address, "m")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("model", ["", "  ", "a\nb", "x" * 201, "\x1b[31m"])
def test_a_model_needs_a_name(model: str) -> None:
    with pytest.raises(InputError, match="RIVERHEAD_LLM_MODEL"):
        Endpoint.read("http://localhost", model)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "127.9.9.9", "[::1]:8080", "me.localhost"])
def test_over_http_a_key_goes_to_this_machine(host: str) -> None:
    made = Endpoint.read(f"http://{host}/v1", "m", SECRET)
    assert made.is_local
    assert made.key is not None


@pytest.mark.parametrize(
    "host", ["example.com", "192.168.0.7", "localhost.example.com", "10.0.0.1", "0.0.0.0"]
)
def test_over_http_a_key_goes_nowhere_else(host: str) -> None:
    with pytest.raises(InputError, match=f"readable to {host}") as refused:
        Endpoint.read(f"http://{host}/v1", "m", SECRET)
    assert SECRET not in str(refused.value)
    assert Endpoint.read(f"http://{host}/v1", "m").key is None
    assert not Endpoint.read(f"https://{host}/v1", "m", SECRET).is_local


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ключ", "x" * 4_001, "\x1b[31mred"])
def test_a_key_that_no_header_holds_is_refused_unseen(key: str) -> None:
    with pytest.raises(InputError, match="RIVERHEAD_LLM_KEY is no key") as refused:
        Endpoint.read("https://x/v1", "m", key)
    assert key not in str(refused.value)


def test_a_key_shows_itself_nowhere() -> None:
    made = Endpoint.read("https://x/v1", "m", f" {SECRET}\n")
    shown = [repr(made), str(made), f"{made!r:>80}", repr(made.key), str(made.key), repr(asdict(made))]
    try:
        raise ValueError(made, made.key)
    except ValueError as error:
        shown += traceback.format_exception(error)
    assert not [text for text in shown if SECRET in text]
    assert made.key is not None
    assert made.key.bearer == f"Bearer {SECRET}"


def test_what_a_server_says_is_shown_without_the_key() -> None:
    assert Endpoint.read("https://x/v1", "m", SECRET).hidden(f"bad key {SECRET}!") == "bad key •••!"
    assert Key("none").hidden("there is none") == "there is none"  # a word that a local server is given


def test_it_is_found_where_the_environment_names_it() -> None:
    assert Endpoint.found({}) is None
    assert Endpoint.found({"RIVERHEAD_LLM_URL": " ", "RIVERHEAD_LLM_KEY": SECRET}) is None
    made = Endpoint.found({"RIVERHEAD_LLM_URL": "http://localhost:1", "RIVERHEAD_LLM_MODEL": "m"})
    assert made == Endpoint("http://localhost:1/v1/chat/completions", "m")
    with pytest.raises(InputError, match="RIVERHEAD_LLM_MODEL"):
        Endpoint.found({"RIVERHEAD_LLM_URL": "http://localhost:1"})
