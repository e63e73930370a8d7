"""``riverhead show`` as a user runs it: the real process, its output, where it goes, how it exits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

SENTENCE = "The river bank flooded"
RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")


@pytest.fixture
def run(tmp_path: Path):
    """Run riverhead in an empty folder, offline, with no model in its cache unless ``cache`` says where."""

    def run(*words: str, code: int = 0, cache: Path | None = None, stdin: bytes = b"", **environment: str):
        ran = subprocess.run(
            [RIVERHEAD, *words],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "RIVERHEAD_CACHE": str(cache or tmp_path / "cache"),
                "RIVERHEAD_OFFLINE": "1",
                "COLUMNS": "80",
                **environment,
            },
        )
        assert ran.returncode == code, (ran.stdout.decode(), ran.stderr.decode())
        return ran

    return run


def test_the_whiteboard_has_the_golden_numbers(run) -> None:
    ran = run("show", SENTENCE)
    board = ran.stdout.decode()
    for row in (
        r"▸ bank +1 +4 +3 +2",
        r"÷ √2 +0\.707 +2\.828 +2\.121 +1\.414",
        r"exp +2\.028 +16\.92 +8\.342 +4\.113 +31\.40",
        r"weight +0\.065 +0\.539 +0\.266 +0\.131 +1\.000",
        r"bank′ = \(0\.604, 0\.266\)",
    ):
        assert re.search(row, board), row
    assert max(map(len, board.splitlines())) <= 80
    assert "\x1b" not in board


def test_without_the_model_a_hint_of_one_line_goes_to_stderr(run) -> None:
    hint = run("show", SENTENCE).stderr.decode()
    assert "riverhead models fetch smollm2" in hint
    assert len(hint.strip().splitlines()) == 1


def test_a_sentence_without_vectors_needs_the_model(run) -> None:
    ran = run("show", "nobody gave vectors for this", code=3)
    assert "riverhead models fetch smollm2" in ran.stderr.decode()
    assert ran.stdout == b""


@pytest.mark.parametrize(
    ("switch", "before", "after"),
    [
        (["--causal"], "0.131", "0"),
        (["--no-scale"], "0.539", "0.644"),
        (["--temperature", "0.5"], "0.539", "0.7"),
        (["--set", "k.river=0,2"], "4", "2"),
    ],
    ids=lambda value: "".join(value),
)
def test_a_switch_prints_what_changed_before_and_after(run, switch, before, after) -> None:
    changed = run("show", SENTENCE, *switch).stdout.decode()
    assert re.search(rf"{re.escape(before)}\S* → {re.escape(after)}", changed), changed
    assert "hands over" not in changed


def test_a_colder_dictionary_turns_hard(run) -> None:
    swept = run("show", "soft_dictionary", "--temperature", "1,0.1,0.01").stdout.decode()
    assert all(value in swept for value in ("1.8478", "1.0002", "1.0000"))


def test_the_focus_is_found_in_any_case_and_only_its_row_is_compared_with_the_source(run) -> None:
    followed = run("show", SENTENCE, "--focus", "FLOODED", "--digits", "0").stdout.decode()
    assert "▸ flooded" in followed
    assert "Board:" not in followed
    assert "0.61 is 0.60" in run("show", SENTENCE, "--digits", "0").stdout.decode()


def test_wide_vectors_take_no_more_memory_than_they_are(run, tmp_path: Path) -> None:
    row = [1] * 100_000  # its square is 75 GiB
    (tmp_path / "wide.json").write_text(json.dumps({"tokens": ["a", "b"], "e": [row, row]}))
    assert "… 100000 numbers" in run("show", "--vectors", "wide.json").stdout.decode()


def test_two_sentences_two_destinations(run) -> None:
    page = run("show", "money bank grows", "--beside", "river bank flows").stdout.decode()
    assert all(value in page for value in ("0.753", "0.591", "0.448", "0.845", "0.914"))


@pytest.mark.parametrize("format", ["markdown", "latex", "html", "svg", "png", "json", "python"])
def test_every_format_holds_the_same_numbers(run, tmp_path: Path, format: str) -> None:
    shown = run("show", SENTENCE, "--no-model", "--format", format).stdout
    if format == "png":
        assert shown.startswith(b"\x89PNG")
        return
    text = shown.decode()
    if format == "svg":
        ElementTree.fromstring(text)
    if format == "json":
        assert json.loads(text)["schema"] == "riverhead.show/1"
        assert "0.5387" in text
    elif format == "python":
        assert subprocess.run([sys.executable, "-c", text]).returncode == 0
    else:
        assert all(number in text for number in ("16.92", "8.342", "0.539", "0.604"))


def test_a_file_says_its_format_by_its_ending_and_comes_whole(run, tmp_path: Path) -> None:
    assert run("show", SENTENCE, "--no-model", "-o", "board.html").stdout == b""
    assert (tmp_path / "board.html").read_text("utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.html"]


def test_a_file_that_cannot_be_written_is_said(run) -> None:
    ran = run("show", SENTENCE, "--no-model", "-o", "no/such/folder.html", code=3)
    assert "no/such" in ran.stderr.decode()


def test_vectors_of_ones_own(run, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('tokens = ["a", "|</script>"]\ne = [[1, 0], [1, 1]]\n')
    assert "|</script>" in run("show", "--vectors", "mine.toml").stdout.decode()
    (tmp_path / "bad.json").write_text('{"tokens": ["a"], "q": [[1, 2]], "k": [[1]], "v": [[1]]}')
    assert "d_k" in run("show", "--vectors", "bad.json", code=2).stderr.decode()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show"], "give the text once"),
        (["show", SENTENCE, "--file", "-"], "give the text once"),
        (["show", SENTENCE, "--focus", "ocean", "--no-model"], "ocean"),
        (["show", SENTENCE, "--set", "k.ocean=1,2"], "ocean"),
        (["show", SENTENCE, "--temperature", "warm"], "warm"),
        (["show", SENTENCE, "--temperature", "0"], "temperature"),
        (["show", "no vectors here", "--causal"], "no toy vectors"),
        (["show", SENTENCE, "--format", "word"], "word"),
        (["nonsense"], "nonsense"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(run, words, says) -> None:
    said = run(*words, code=2).stderr.decode()
    assert says in said
    assert "Traceback" not in said


def test_text_comes_from_a_file_or_standard_input(run, tmp_path: Path) -> None:
    (tmp_path / "sentence.txt").write_text(SENTENCE + "\n")
    board = run("show", SENTENCE).stdout
    assert run("show", "--file", "sentence.txt").stdout == board
    assert run("show", "-", stdin=SENTENCE.encode()).stdout == board
    assert "UTF-8" in run("show", "-", stdin=b"\xff\xfe", code=2).stderr.decode()


def test_an_ascii_terminal_is_no_reason_to_crash(run) -> None:
    run("show", SENTENCE, PYTHONIOENCODING="ascii")


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [RIVERHEAD, "show", SENTENCE, "--no-model"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_help_shows_examples(run) -> None:
    for words in (["--help"], ["show", "--help"], ["models", "--help"], ["doctor", "--help"]):
        assert "Example" in run(*words).stdout.decode()


def test_doctor_says_what_is_there(run) -> None:
    found = json.loads(run("doctor", "--json").stdout)
    assert found["schema"] == "riverhead.doctor/1"
    assert found["models"] == {}


@pytest.mark.model
def test_the_real_heads_with_their_three_answers(run, smollm2_folder: Path) -> None:
    cache = smollm2_folder.parent.parent
    page = run("show", SENTENCE, cache=cache).stdout.decode()
    number = r" +\d\.\d{3}"
    rows = dict(re.findall(rf"^[▸ ] (L\d+\.H\d+){number}{number}{number}{number}  (.+)$", page, re.M))
    assert "previous-token" in rows["L16.H0"]
    assert "looks for river" in rows["L9.H7"]
    assert "any noun" in rows["L4.H2"]
    assert re.search(r"bank cannot see flooded", page)
    assert '"," 0.20' in page


@pytest.mark.model
def test_one_block_with_its_shapes(run, smollm2_folder: Path) -> None:
    cache = smollm2_folder.parent.parent
    page = run("show", SENTENCE, "--block", "4", cache=cache).stdout.decode()
    assert "9 × 4 × 64" in page
    assert "0 to 29" in run("show", SENTENCE, "--block", "30", cache=cache, code=2).stderr.decode()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--causal", "--head", "L9.H7"], "--causal and --head"),
        (["--no-model", "--control", "The money bank flooded"], "--no-model and --control"),
        (["--block", "4", "--set", "k.river=0,2"], "--set and --block"),
        (["--beside", "river bank flows", "--no-scale"], "--beside and --no-scale"),
    ],
    ids=lambda value: "".join(value),
)
def test_no_option_is_dropped_in_silence(run, words, says) -> None:
    assert says in run("show", SENTENCE, *words, code=2).stderr.decode()


def test_what_is_asked_of_the_model_fails_without_it(run) -> None:
    for words in (["--head", "L9.H7"], ["--model", "nope"]):
        assert "error" in run("show", SENTENCE, *words, code=3).stderr.decode()


def test_a_device_a_pipe_and_a_link_are_written_to_not_replaced(run, tmp_path: Path) -> None:
    pipe, target, link = tmp_path / "pipe", tmp_path / "private.txt", tmp_path / "link.txt"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    run("show", SENTENCE, "--no-model", "-o", "pipe")
    assert b"0.539" in reader.communicate(timeout=60)[0]
    target.touch(0o600)
    link.symlink_to(target)
    run("show", SENTENCE, "--no-model", "-o", "link.txt")
    assert link.is_symlink()
    assert "0.539" in target.read_text("utf-8")
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_ending_that_says_no_format_is_refused(run, tmp_path: Path) -> None:
    assert ".svg" in run("show", SENTENCE, "--no-model", "-o", "board.pdf", code=2).stderr.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("closed", "code"), [("1", 3), ("0", 0), ("2", 0)])
def test_a_closed_stream_is_no_traceback(tmp_path: Path, closed: str, code: int) -> None:
    script = f'exec "$0" show "{SENTENCE}" --no-model {closed}>&-'
    ran = subprocess.run(["sh", "-c", script, RIVERHEAD], capture_output=True, cwd=tmp_path)
    assert ran.returncode == code
    assert b"Traceback" not in ran.stderr


def test_json_holds_both_sides_of_a_change(run) -> None:
    changed = json.loads(run("show", SENTENCE, "--causal", "--json").stdout)["changed"]
    assert changed["before"] != changed["after"]
    swept = json.loads(run("show", "soft_dictionary", "--temperature", "1,0.1", "--json").stdout)["sweep"]
    assert len(swept) == 2
    beside = run("show", "money bank grows", "--beside", "river bank flows", "--json").stdout
    assert json.loads(beside)["destinations"]["beside"]


@pytest.mark.model
def test_a_model_that_reads_both_ways_looks_ahead_and_has_vectors_for_odds(run, minilm) -> None:
    from riverhead.inspection.ablation import without

    cache = minilm.folder.parent.parent
    sentence = "He played the violin"
    words = ("show", sentence, "--model", "minilm", "--focus", "played")
    page = run(*words, "--control", "They played a violin", cache=cache).stdout.decode()
    assert re.search(r"^  played → violin +weight +habit +swap +vectors", page, re.M)
    assert re.search(r"^ +\[CLS\] .*played .*violin .*\[SEP\] +sum", page, re.M), "the head derived"
    assert page.count("Next token: none") == 2, "and the control's"
    assert "reads both ways" in page
    assert not re.search("causal|cannot see|nats|odds", page)

    found = json.loads(run(*words, "--json", cache=cache).stdout)["heads"]
    assert found["next_token"] == []
    reading, asks, looked_at = minilm.read(sentence), found["query"]["start"], found["key"]["start"]
    assert (reading.tokens[asks], reading.tokens[looked_at]) == ("played", "violin")
    for row in found["rows"]:
        weights = reading.head(row["head"]).weights
        assert row["weight"] == pytest.approx(weights[asks, looked_at], abs=1e-5)
        moved = without(minilm, sentence, [row["head"]]).vector_change
        assert row["if_off_vector_change"] == pytest.approx(moved, abs=1e-5)
        assert row["if_off_nats"] is None
    assert found["rows"][0]["says"] == "looks for violin"
