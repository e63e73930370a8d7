"""A conversation with a model: questions in, events out; whatever fails, the offline answer follows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

from riverhead.errors import MissingExtraError
from riverhead.learning.tutor import prompt, protocol, tools
from riverhead.learning.tutor.endpoint import Endpoint
from riverhead.learning.tutor.events import Done, Event, Notice, Offline, ToolUsed
from riverhead.learning.tutor.quantities import Known, unchecked, vouched
from riverhead.learning.tutor.sums import Sums
from riverhead.learning.tutor.wire import NoAnswerError, Patience, post

if TYPE_CHECKING:
    from riverhead.learning.tutor.at_hand import AtHand

__all__ = ["Conversation"]

MOST_REPLY = 16_000  # characters
MOST_ROUNDS = 6  # in which the model may ask for tools, for one question
MOST_BAD_CALLS = 4  # that no tool could take, for one question

ENDS = {  # why a reply may end before it is done
    "length": "The reply ends here: the model's limit of tokens is reached.",
    "content_filter": "The reply ends here: the endpoint filters the rest.",
}
TOO_LONG = f"The reply ends here: no more than {MOST_REPLY:,} characters of one are taken."
WITHOUT_TOOLS = (
    "The endpoint takes no tools, so the model is asked without them; its sums are checked the same."
)


class Conversation:
    """Turns with one model about one sentence.

    ``offline(question, at_hand)`` is `riverhead.learning.tutor.offline.answer`: its passages go to the model,
    and it is the answer where the model gives none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        offline: Callable[[str, AtHand], Any],
        at_hand: AtHand,
        patience: Patience | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint, self.offline, self.at_hand = endpoint, offline, at_hand
        self.patience, self.wait = patience or Patience(), wait
        self.turns: list[prompt.Turn] = []
        self.takes_tools = True
        self.known = Known(prompt.numbers_at_hand(at_hand))

    def ask(self, question: str) -> Iterator[Event]:
        """Yield what happens until the question is answered; the last event is `Done`.

        Nothing that a server does raises: a `Notice` says what went wrong, and `Offline` follows. Ctrl-C
        (KeyboardInterrupt) while the model is waited for does the same. Raises what ``offline`` raises: it
        refuses an empty and an overlong question before anything is sent.
        """
        question = question.encode("utf-8", "replace").decode("utf-8")  # an argument may be no Unicode
        answer = self.offline(question, self.at_hand)
        yield from _Asked(self, question, answer).events()


class _Asked:
    """One question on its way to its answer."""

    def __init__(self, talk: Conversation, question: str, answer: Any) -> None:
        self.talk, self.question, self.answer = talk, question, answer
        self.sums = Sums(prompt.bindings(talk.at_hand))
        self.finish: Literal["stop", "length", "failed", "stopped"] = "failed"
        self.known = talk.known | Known.of([question])
        self.bad_calls = 0

    def events(self) -> Iterator[Event]:
        """The model's reply or, where there is none, why and the offline answer; and what it all came to."""
        said = None
        try:
            yield from self._turn()
        except (NoAnswerError, MissingExtraError) as failed:
            how = "did not finish its answer" if self.sums.reply else "gave no answer"
            said = Notice(f"The model {how}: {failed}.", failed=True)
        except KeyboardInterrupt:
            self.finish, said = "stopped", Notice("Stopped.", failed=True)
        yield from self.sums.close()
        sums = tuple(self.sums.found.values())
        unknown = unchecked(self.sums.reply, sums, self.known)
        yield from unknown
        if said is None:
            self._remember()
        else:
            yield from (said, Offline(self.answer))
        yield Done(self.sums.reply, sums, unknown, self.finish)

    def _remember(self) -> None:
        sums = list(self.sums.found.values())
        wrong = tuple(f"{one.text}: exactly {one.shown}" for one in sums if one.is_wrong)
        self.talk.turns.append(prompt.Turn(self.question, self.sums.reply, wrong))
        self.talk.known |= Known.of([self.question]) | vouched(sums)

    def _turn(self) -> Generator[Event, None, None]:
        """Ask, compute what the model asks for, and ask again, until it is done."""
        turns = prompt.kept(self.talk.turns)
        if left_out := len(self.talk.turns) - len(turns):
            which = "turn is" if left_out == 1 else f"{left_out} turns are"
            yield Notice(f"The conversation is long: its first {which} not sent to the model again.")
        wrong = turns[-1].wrong if turns else ()
        told = prompt.system(self.talk.at_hand, self.answer.passages, wrong)
        self.known |= Known.of([told])
        messages = prompt.messages(told, turns, self.question)
        for _ in range(MOST_ROUNDS):
            start = len(self.sums.reply)
            calls = yield from self._round(messages)
            if not calls:
                return
            yield from self._computed(calls, messages, self.sums.reply[start:])
        raise NoAnswerError(f"it asked for tools {MOST_ROUNDS} times over and said no more")

    def _round(self, messages: list[dict[str, Any]]) -> Generator[Event, None, tuple[protocol.Call, ...]]:
        """Give out one reply as it comes; return the tools it asks for."""
        start, end = len(self.sums.reply), protocol.End("", ())
        with closing(self._reply(messages)) as reply:
            for came in reply:
                if isinstance(came, Notice):
                    yield came
                elif isinstance(came, protocol.End):
                    end = came
                elif len(self.sums.reply) + len(came.text) > MOST_REPLY:
                    yield from self.sums.feed(came.text[: MOST_REPLY - len(self.sums.reply)])
                    yield Notice(TOO_LONG)
                    self.finish = "length"
                    return ()
                else:
                    yield from self.sums.feed(came.text)
        if end.calls:
            return end.calls
        if not self.sums.reply[start:].strip():
            raise NoAnswerError("it said nothing")
        self.finish = "length" if end.finish in ENDS else "stop"
        if end.finish in ENDS:
            yield from self.sums.flush()
            yield Notice(ENDS[end.finish])
        return ()

    def _reply(
        self, messages: list[dict[str, Any]]
    ) -> Generator[protocol.Piece | protocol.End | Notice, None, None]:
        """Ask the endpoint; once more without tools where it refuses because of them."""
        talk = self.talk
        body: dict[str, Any] = {"model": talk.endpoint.model, "messages": messages, "stream": True}
        if talk.takes_tools:
            body["tools"] = tools.schemas()
        try:
            yield from protocol.read(post(talk.endpoint, body, talk.patience, talk.wait))
        except NoAnswerError as failed:
            if not (talk.takes_tools and failed.refused and "tool" in failed.said.casefold()):
                raise
            talk.takes_tools = False
            yield Notice(WITHOUT_TOOLS)
            yield from self._reply(messages)

    def _computed(
        self, calls: tuple[protocol.Call, ...], messages: list[dict[str, Any]], said: str
    ) -> Iterator[Event]:
        """Run the tools and add what they found to the messages."""
        if said.strip():
            yield from self.sums.feed("\n\n")  # what the model says next is another paragraph
        yield from self.sums.flush()
        asked = []
        for number, call in enumerate(calls):
            call.id = call.id or f"call_{len(messages)}_{number}"
            function = {"name": call.name, "arguments": _json_or_nothing(call.arguments)}
            asked.append({"id": call.id, "type": "function", "function": function})
        messages.append({"role": "assistant", "content": said or None, "tool_calls": asked})
        for call in calls:
            result = tools.use(call.name, call.arguments, self.talk.at_hand)
            yield ToolUsed(call.name, call.arguments, result.text, result.ok)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
            if result.ok:
                self.known |= Known.of([call.arguments, result.text])
            else:
                self.bad_calls += 1
        if self.bad_calls >= MOST_BAD_CALLS:
            raise NoAnswerError(
                f"{self.bad_calls} of its tool calls were malformed, and it did not mend them"
            )


def _json_or_nothing(arguments: str) -> str:
    """The arguments as they were, where they are JSON: servers read them again."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return "{}"
    return arguments
