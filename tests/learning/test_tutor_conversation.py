"""A conversation with a model on this machine: what is sent, what is shown, and all that may go wrong."""

from __future__ import annotations

import json
import logging
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from talking_server import HANG, Answer, at_hand, call, chunk, offline, said, serving, words

from riverhead.errors import InputError
from riverhead.learning.tutor import conversation, prompt, wire
from riverhead.learning.tutor import offline as offline_tutor
from riverhead.learning.tutor.conversation import Conversation
from riverhead.learning.tutor.endpoint import Endpoint
from riverhead.learning.tutor.events import Done, Event, Notice, Offline, Sum, Text, ToolUsed, Unchecked
from riverhead.learning.tutor.wire import Patience

pytest.importorskip("httpx", reason="pip install 'riverhead[tutor]'")

SECRET = "sk-zebra-4711-never-to-be-seen"
STOP = [chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def talk_to(url: str, **more: Any) -> Conversation:
    """A conversation that never really waits."""
    more.setdefault("wait", lambda seconds: None)
    return Conversation(Endpoint.read(url, "a-model", SECRET), offline, at_hand(), **more)


def ask(*answers: Answer, question: str = "Why?", **more: Any) -> tuple[list[Event], Any]:
    with serving(*answers) as server:
        return list(talk_to(server.url, **more).ask(question)), server


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def reply(events: list[Event]) -> str:
    return "".join(event.text for event in of(Text, events))


# ---- what is asked, and what comes -----------------------------------------------------------------


def test_a_reply_streams_with_every_sum_marked_behind_it() -> None:
    events, _ = ask(said("The score is 2·2 ", "+ 1·0 = 5. And 4 ÷ √2 ", "= 2.83.", " What is next?"))
    assert reply(events) == "The score is 2·2 + 1·0 = 5. And 4 ÷ √2 = 2.83. What is next?"
    assert [(one.text, one.standing, one.exact) for one in of(Sum, events)] == [
        ("2·2 + 1·0 = 5", "false", 4),
        ("4 ÷ √2 = 2.83", "rounded", pytest.approx(8**0.5)),
    ]
    before = events[: events.index(of(Sum, events)[0])]
    assert reply(before) == "The score is 2·2 + 1·0 = 5"
    assert not of(Notice, events)
    assert not of(Offline, events)
    assert isinstance(events[-1], Done)
    assert events[-1].finish == "stop"


def test_a_sum_may_use_the_names_of_the_sentence_at_hand() -> None:
    events, _ = ask(said("So q_bank · k_river = 5, not q_bank · k_bank = 3."))
    assert [(one.standing, one.exact) for one in of(Sum, events)] == [("false", 4), ("exact", 3)]


def test_the_model_is_told_how_to_teach_the_sentence_its_numbers_and_the_passages() -> None:
    _, server = ask(said("Well?"))
    system, question = server.asked[0]["messages"]
    assert system["role"] == "system"
    for part in ("Ask before you tell", "The river bank flooded", "q_bank = (2, 1)", "0.539", "Why √d_k"):
        assert part in system["content"]
    assert question == {"role": "user", "content": "Why?"}
    assert server.asked[0]["model"] == "a-model"
    assert server.asked[0]["stream"] is True
    assert [tool["function"]["name"] for tool in server.asked[0]["tools"]] == [
        "derive", "cell", "softmax", "plan", "check",
    ]  # fmt: skip
    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"


def test_without_a_key_none_is_sent() -> None:
    with serving(said("Well?")) as server:
        list(Conversation(Endpoint.read(server.url, "m"), offline, at_hand()).ask("Why?"))
    assert "Authorization" not in server.headers[0]


def test_a_model_too_wide_to_write_out_is_asked_cell_by_cell() -> None:
    wide = at_hand().derivation.but(
        q=None, k=None, v=None, e=[[0.5] * 64] * 4, tokens=["a", "b", "c", "d"], meanings=()
    )
    there = SimpleNamespace(text="a b c d", derivation=wide, beside=())
    told = prompt.system(there, ())
    assert "weights_a = (0.250, 0.250, 0.250, 0.250)" in told
    assert "Too many to write out: q, k, v, out" in told
    assert prompt.bindings(there) == ""


# ---- tools ------------------------------------------------------------------------------------------


def test_the_engine_computes_what_the_model_asks_for_and_hands_it_back() -> None:
    fragments = ('{"step": "wei', 'ghts", "row": "ba', 'nk", "column": "river"}')
    asks = Answer([chunk({"content": "Let me see."}), *call("cell", *fragments), *STOP])
    events, server = ask(asks, said("The weight is 0.539."))
    used = of(ToolUsed, events)
    assert [(tool.name, tool.ok) for tool in used] == [("cell", True)]
    assert json.loads(used[0].result) == {"arithmetic": "16.92 ÷ 31.40 = 0.539", "exact": 0.538776}
    assert reply(events) == "Let me see.\n\nThe weight is 0.539."
    asked, answered = server.asked[1]["messages"][-2:]
    assert asked["tool_calls"][0]["function"] == {"name": "cell", "arguments": "".join(fragments)}
    assert answered == {"role": "tool", "tool_call_id": "call_a", "content": used[0].result}


def test_what_a_tool_was_given_and_what_it_found_is_known() -> None:
    asks = Answer([*call("softmax", '{"scores": [9.25, 8.25]}'), *STOP])
    events, _ = ask(asks, said("9.25 gets 0.731, and 8.25 gets 0.369."))
    assert [one.text for one in of(Unchecked, events)] == ["0.369"]


def test_two_tools_at_once_are_kept_apart_by_their_index() -> None:
    one = call("softmax", '{"scores"', ": [1, 1]}", index=0, id="a")
    two = call("softmax", '{"scores": [0, 0,', " 0]}", index=1, id="b")
    woven = [piece for pair in zip(one, two, strict=True) for piece in pair]
    events, server = ask(Answer([*woven, *STOP]), said("Both."))
    assert [tool.result for tool in of(ToolUsed, events)] == [
        '{"weights": [0.5, 0.5]}', '{"weights": [0.333333, 0.333333, 0.333333]}',
    ]  # fmt: skip
    assert [message["tool_call_id"] for message in server.asked[1]["messages"][-2:]] == ["a", "b"]


def test_a_broken_call_is_told_to_the_model_which_may_mend_it() -> None:
    events, server = ask(
        Answer([*call("softmax", '{"scores": [1,'), *STOP]),
        Answer([*call("softmax", '{"scores": [1]}'), *STOP]),
        said("It is 1."),
    )
    assert [tool.ok for tool in of(ToolUsed, events)] == [False, True]
    assert "no JSON" in server.asked[1]["messages"][-1]["content"]
    assert server.asked[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert events[-1].finish == "stop"


def test_broken_calls_again_and_again_end_in_the_offline_answer() -> None:
    broken = Answer([*call("nonsense", "{"), *STOP])
    events, server = ask(*[broken] * conversation.MOST_BAD_CALLS)
    assert len(server.asked) == conversation.MOST_BAD_CALLS
    assert "malformed" in of(Notice, events)[0].text
    assert len(of(Offline, events)) == 1


def test_tools_for_ever_end_in_the_offline_answer() -> None:
    again = Answer([*call("softmax", '{"scores": [1]}'), *STOP])
    events, server = ask(*[again] * conversation.MOST_ROUNDS)
    assert len(server.asked) == conversation.MOST_ROUNDS
    assert of(Notice, events)[0].failed
    assert len(of(Offline, events)) == 1


def test_an_endpoint_that_takes_no_tools_is_asked_without() -> None:
    refuses = failure(400, "registry/tiny does not support tools")
    events, server = ask(refuses, said("Well?"))
    assert "tools" in server.asked[0]
    assert "tools" not in server.asked[1]
    assert [notice.failed for notice in of(Notice, events)] == [False]
    assert reply(events) == "Well?"


# ---- failures ---------------------------------------------------------------------------------------


def failure(status: int, message: str = "", **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "t"}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([body], status, {"Content-Type": "application/json", **named})


FAILURES = {  # what is answered, how often it is asked, what the line must say
    "401": (failure(401, f"Incorrect API key provided: {SECRET}"), 1, "RIVERHEAD_LLM_KEY"),
    "403": (failure(403, "not yours"), 1, "(not yours)"),
    "404": (failure(404, "model `x` not found"), 1, "RIVERHEAD_LLM_MODEL"),
    "429": (failure(429, "slow down"), 2, "too many questions"),
    "429 for long": (failure(429, "slow down", Retry_After="60"), 1, "asks to wait 60 seconds"),
    "500": (failure(500, "boom"), 1, "a fault on its side (boom)"),
    "502": (failure(502), 2, "502"),
    "503": (failure(503, "loading model"), 2, "loading model"),
    "a page": (Answer([b"<html>nginx</html>"], 404, {"Content-Type": "text/html"}), 1, "404"),
    "200, and a page": (Answer([b"<html>hello</html>"], 200, {"Content-Type": "text/html"}), 1, "URL"),
    "elsewhere": (Answer([], 307, {"Location": "https://elsewhere.example/v1"}), 1, "elsewhere.example"),
    "nothing": (said(), 1, "said nothing"),
    "no end": (Answer([chunk({"content": "so"})]), 1, "cut off"),
    "broken off": (Answer([chunk({"content": "so"})], whole=False), 1, "broke off"),
    "half an event": (Answer([b'data: {"choices": [{"del']), 1, "cut off"),
    "broken JSON": (Answer([b"data: {nonsense}\n\n", b"data: [DONE]\n\n"]), 1, "broken JSON"),
    "deep JSON": (Answer([b"data: " + b"[" * 9999 + b"\n\n"]), 1, "broken JSON"),
    "an error inside": (Answer([b'data: {"error": {"message": "out of memory"}}\n\n']), 1, "out of memory"),
    "choices of a string": (Answer([b'data: {"choices": "x"}\n\n']), 1, "malformed"),
    "calls of a string": (Answer([chunk({"tool_calls": "x"})]), 1, "malformed"),
    "a call of nothing": (Answer([chunk({"tool_calls": [7]})]), 1, "malformed"),
    "a call far off": (Answer(call("softmax", index=10**9)), 1, "malformed"),
    "a call below": (Answer(call("softmax", index=-1)), 1, "malformed"),
    "endless arguments": (Answer(call("softmax", *["1" * 999] * 20)), 1, "malformed"),
    "an endless line": (Answer([b"data: " + b"x" * 2_000_000]), 1, "malformed"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_every_failure_is_one_clear_line_and_then_the_offline_answer(
    kind: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    answer, tries, says = FAILURES[kind]
    with caplog.at_level(logging.DEBUG):
        events, server = ask(*[answer] * tries)
    notice, fell_back, done = events[-3:]
    assert isinstance(notice, Notice)
    assert notice.failed
    assert says in notice.text
    assert "\n" not in notice.text
    assert isinstance(fell_back, Offline)
    assert fell_back.answer.question == "Why?"
    assert done.finish == "failed"
    assert len(server.asked) == tries
    assert SECRET not in repr(events) + caplog.text + "".join(capfd.readouterr())


def test_what_was_said_before_the_stream_was_cut_is_shown_and_checked() -> None:
    events, _ = ask(Answer([chunk({"content": "So 2 + 2 = 5"}), chunk({"content": " and 7"})]))
    assert reply(events) == "So 2 + 2 = 5 and 7"
    assert [one.standing for one in of(Sum, events)] == ["false"]
    assert of(Notice, events)[0].failed
    assert "did not finish" in of(Notice, events)[0].text


def test_no_word_for_too_long_is_said_so() -> None:
    patience = Patience(silent_seconds=0.05)
    events, _ = ask(Answer([chunk({"content": "well"}), HANG]), patience=patience)
    assert reply(events) == "well"
    assert "sent nothing for 0.05 seconds" in of(Notice, events)[0].text


def test_a_reply_that_drips_for_ever_is_given_up() -> None:
    events, _ = ask(Answer([b": still here\n"] * 5 + [HANG]), patience=Patience(total_seconds=0))
    assert "not done after 0 seconds" in of(Notice, events)[0].text


def test_a_server_that_is_not_there_is_tried_twice() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    waited: list[float] = []
    events = list(talk_to(url, wait=waited.append).ask("Why?"))
    assert waited == [wire.PAUSE_SECONDS]
    assert "could not be reached" in of(Notice, events)[0].text
    assert isinstance(events[-2], Offline)


@pytest.mark.parametrize(("asked_for", "waits"), [("3", 3.0), ("", 0.5), ("soon", 0.5), ("-1", 0.5)])
def test_a_second_try_waits_as_long_as_the_server_asks(asked_for: str, waits: float) -> None:
    waited: list[float] = []
    events, server = ask(failure(429, Retry_After=asked_for), said("Now."), wait=waited.append)
    assert waited == [waits]
    assert reply(events) == "Now."
    assert len(server.asked) == 2


def test_nothing_is_sent_again_once_words_have_come() -> None:
    _, server = ask(Answer([chunk({"content": "so"})], whole=False), said("again"))
    assert len(server.asked) == 1


def test_no_redirect_carries_the_question_or_the_key_to_another_host() -> None:
    with serving(said("mine now")) as thief:
        events, _ = ask(Answer([], 307, {"Location": f"{thief.url}/chat/completions"}))
    assert not thief.asked
    assert of(Notice, events)[0].failed


def test_a_proxy_of_the_environment_does_not_see_what_goes_to_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(said("I see")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        events, _ = ask(said("Well?"))
    assert not proxy.asked
    assert reply(events) == "Well?"


def test_ctrl_c_while_the_model_is_waited_for_gives_the_offline_answer() -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    events, _ = ask(failure(429), wait=interrupted)
    assert [type(event) for event in events] == [Notice, Offline, Done]
    assert events[-1].finish == "stopped"


def test_without_httpx_a_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    events = list(talk_to("http://localhost:1").ask("Why?"))
    assert "pip install 'riverhead[tutor]'" in of(Notice, events)[0].text
    assert isinstance(events[-2], Offline)


def test_a_reader_who_leaves_closes_the_connection() -> None:
    with serving(Answer([*words("one two "), HANG])) as server:
        events = talk_to(server.url).ask("Why?")
        assert isinstance(next(events), Text)
        events.close()


# ---- sizes, turns, numbers --------------------------------------------------------------------------


def test_a_huge_reply_is_cut_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MOST_REPLY", 1_000)
    events, _ = ask(Answer([chunk({"content": "word and word " * 40})] * 50))
    assert len(reply(events)) == 1_000
    assert of(Notice, events)[0].text == conversation.TOO_LONG
    assert events[-1].finish == "length"
    assert not of(Offline, events)


def test_more_bytes_than_a_reply_has_are_not_read() -> None:
    events, _ = ask(Answer([b": padding\n\n"] * 100), patience=Patience(most_bytes=1_000))
    assert "longer than 1,000 bytes" in of(Notice, events)[0].text


@pytest.mark.parametrize(("finish", "says"), [("length", "limit of tokens"), ("content_filter", "filters")])
def test_a_reply_that_the_endpoint_cuts_says_so(finish: str, says: str) -> None:
    events, _ = ask(Answer([chunk({"content": "It goes on and"}), chunk({}, finish)]))
    assert says in of(Notice, events)[0].text
    assert events[-1].finish == "length"


def test_numbers_that_nobody_gave_or_computed_are_listed_with_their_places() -> None:
    events, _ = ask(said("You wrote 41.\nIts weight is 0.54,\nabout 0.77 of it, and 7.25."), question="41?")
    assert [(one.text, one.line) for one in of(Unchecked, events)] == [("0.77", 3)]
    assert "about 0.77 of it" in of(Unchecked, events)[0].around


def test_the_next_turn_brings_the_last_one_its_wrong_sums_and_its_numbers() -> None:
    with serving(said("2·2 + 1·0 = 5, and 3·7 = 21."), said("Yes, 21, and 4, and 22.")) as server:
        talk = talk_to(server.url)
        list(talk.ask("What is it?"))
        events = list(talk.ask("Sure?"))
    told, *turns = server.asked[1]["messages"]
    assert [turn["content"] for turn in turns] == ["What is it?", "2·2 + 1·0 = 5, and 3·7 = 21.", "Sure?"]
    assert "2·2 + 1·0 = 5: exactly 4" in told["content"]
    assert [one.text for one in of(Unchecked, events)] == ["22"]


def test_a_failed_turn_is_not_remembered() -> None:
    with serving(failure(500), said("Well?")) as server:
        talk = talk_to(server.url)
        list(talk.ask("One?"))
        list(talk.ask("Two?"))
    assert [message["content"] for message in server.asked[1]["messages"][1:]] == ["Two?"]


def test_a_long_conversation_loses_its_first_turns_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "MOST_HISTORY", 30)
    with serving(*[said("ten letter")] * 4) as server:
        talk = talk_to(server.url)
        events = [list(talk.ask(f"{n}?")) for n in range(4)]
    assert [len(asked["messages"]) for asked in server.asked] == [2, 4, 6, 6]
    sent = [turn["content"] for turn in server.asked[3]["messages"][1:]]
    assert sent == ["1?", "ten letter", "2?", "ten letter", "3?"]
    assert [notice.text for notice in of(Notice, events[3])] == [
        "The conversation is long: its first turn is not sent to the model again."
    ]
    assert not of(Notice, events[2])


@pytest.mark.parametrize("question", ["", "  \n", "x" * 4_001])
def test_an_empty_and_an_endless_question_are_refused(question: str) -> None:
    talk = talk_to("http://localhost:1")
    talk.offline = offline_tutor.answer
    with pytest.raises(InputError, match="takes 1 to 4,000"):
        next(talk.ask(question))


def test_half_characters_in_a_question_and_a_reply_harm_nobody() -> None:
    one = b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n'
    halves = [one % half for half in (b"\\ud83d", b"\\ude00 x\\ud800")]
    events, server = ask(Answer([*halves, chunk({}, "stop")]), question="what \udc80?")
    assert reply(events) == "😀 x\ufffd"
    assert server.asked[0]["messages"][-1]["content"] == "what ??"
