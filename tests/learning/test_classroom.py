"""A class graded from a CSV: every planted mistake is counted, every odd line said, nothing is lost."""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from riverhead.checking.answers import mistaken, mistakes, solved
from riverhead.errors import InputError, RiverheadError
from riverhead.learning.exercises import kinds
from riverhead.learning.worksheets import ClassReport, Paper, Worksheet, grade_class
from riverhead.learning.worksheets.class_report import shared
from riverhead.learning.worksheets.form import MOST_BYTES, NO_BOX, decoded, form
from riverhead.learning.worksheets.pages import letters

# One step each: every wrong cell is the mistake itself, none follows from another.
SHEETS = Worksheet.parse("scaling+valuesx2-1-k3m9q2")
STUDENTS = 30
PLANTED = {  # mistake: exercise, and who makes it; 13, 7, 5 and 3 of 30
    "no-scale": (1, range(1, 14)),
    "values-summed": (2, range(10, 17)),
    "divided-by-d_k": (1, range(20, 25)),
    "top-value-only": (2, range(28, 31)),
}

Rows = list[list[str]]


@cache
def papers() -> tuple[Paper, ...]:
    return tuple(SHEETS.paper(student) for student in range(1, STUDENTS + 1))


def filled(answers: dict[tuple[int, int], dict[str, str]]) -> Rows:
    """The form of the class with every answer right but for those given, by student and exercise."""
    rows = list(csv.reader(io.StringIO(form(papers()).lstrip("\ufeff"))))
    for row in rows[1:]:
        student, number = int(row[1]), int(row[3])
        made = papers()[student - 1].exercises[number - 1]
        letter = letters(made)
        for cell, text in (solved(made.sheet) | answers.get((student, number), {})).items():
            row[rows[0].index(letter[cell])] = text
    return rows


def written(rows: Rows, delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def planted() -> tuple[Rows, dict[str, int]]:
    """A class with planted mistakes, and in how many cells each has another number than the truth."""
    answers: dict[tuple[int, int], dict[str, str]] = {}
    cells: Counter[str] = Counter()
    for id, (number, who) in PLANTED.items():
        for student in who:
            sheet = papers()[student - 1].exercises[number - 1].sheet
            answers[student, number] = mistaken(sheet, id)
            for cell, text in answers[student, number].items():
                off = abs(float(text.replace("−", "-")) - round(sheet[cell].truth, 2))
                cells[id] += off > (1e-9 if sheet[cell].exact else 0.01 + 1e-9)  # one of the last decimal
    return filled(answers), dict(cells)


def graded(rows: Rows) -> ClassReport:
    return grade_class(SHEETS, written(rows))


def test_every_planted_mistake_is_found_with_its_count() -> None:
    rows, cells = planted()
    report = graded(rows)
    found = {each.id: (each.students, each.cells) for each in report.mistakes}
    assert found == {id: (tuple(who), cells[id]) for id, (_, who) in PLANTED.items()}
    assert [each.id for each in report.mistakes] == list(PLANTED)  # the one most students made first
    for each in report.mistakes:
        assert (each.name, each.skill) == (mistakes()[each.id].name, mistakes()[each.id].skill)
        assert each.lesson == min(kind.lesson for kind in kinds().values() if each.skill in kind.skills)
    assert report.remarks == report.absent == ()
    assert len(report.students) == STUDENTS
    lost = sum(each.possible - each.earned for each in report.students)
    assert lost == sum(cells.values())
    assert [each.student for each in report.students if each.score == 1] == [17, 18, 19, 25, 26, 27]


@pytest.mark.parametrize(
    ("kind", "mistake", "lesson"),
    [
        ("score-grid", "minus-lost", 1),  # made in lesson 2; dot products are taught before
        ("softmax", "weights-rounded-early", 2),  # rounding is no kind's own: where it was made
    ],
)
def test_a_mistake_leads_to_the_lesson_that_teaches_it(kind: str, mistake: str, lesson: int) -> None:
    sheets = Worksheet(kind, 1, "k3m9q2")
    (made,) = sheets.exercises(1)
    wrong = solved(made.sheet) | mistaken(made.sheet, mistake)
    head = ["student", "exercise", *letters(made).values()]
    report = grade_class(sheets, written([head, ["1", "1", *(wrong[cell] for cell in letters(made))]]))
    assert {each.id: each.lesson for each in report.mistakes}[mistake] == lesson


def test_the_same_class_is_graded_alike_however_its_file_is_written() -> None:
    rows = planted()[0][:15]
    wanted = graded(rows).to_dict()
    comma = [rows[0], *([*row[:5], *(cell.replace(".", ",") for cell in row[5:])] for row in rows[1:])]
    for text in (
        written(rows, ";"),
        written(rows, "\t"),
        "sep=;\r\n" + written(rows, ";"),
        written([rows[0], *reversed(rows[1:])]),
        decoded(("\ufeff" + written(rows)).encode("utf-8")),
        decoded(written(rows).replace("−", "-").replace("√", "").replace(NO_BOX, "").encode("latin-1")),
        decoded(written(rows).encode("utf-16")),
        written(rows).replace("\r\n", "\r"),
        written(comma, ";"),
        written(comma),  # quoted, as they must be
    ):
        found = grade_class(SHEETS, decoded(text.encode())).to_dict()
        assert [each["earned"] for each in found["students"]] == [
            each["earned"] for each in wanted["students"]
        ]
        assert found["mistakes"] == wanted["mistakes"]


def test_steps_say_how_much_was_right() -> None:
    rows, cells = planted()
    scaling, values = graded(rows).steps
    assert (scaling.exercise, scaling.title, scaling.step) == (1, "Scaling by √d_k", "score of … on …")
    assert (values.exercise, values.step) == (2, "… component …")
    counts = [sum(len(paper.exercises[n].sheet.asked) for paper in papers()) for n in (0, 1)]
    assert [scaling.possible, values.possible] == counts
    assert scaling.possible - scaling.earned == cells["no-scale"] + cells["divided-by-d_k"]


def test_lines_in_the_report_are_those_of_the_file() -> None:
    rows = filled({})
    rows[1][5] = "soon"  # student 1, exercise 1, box a
    rows[4][5] = "2-Jan"  # student 2, exercise 2
    rows[5][1] = "three"
    rows[7][0] = "L2x8-1-aaaaaa"
    rows[9] = [*rows[9], "0.3"]
    rows[11][3] = "3"
    rows[14][rows[14].index(NO_BOX)] = "0.5"
    rows.append(rows[15][:])
    rows.append([*rows[17][:5], "9"])
    rows.insert(1, [])
    said = {remark.line - 2: remark.said for remark in graded(rows).remarks}
    for line, words in {
        1: "box a of exercise 1, student 1: 'soon' is no number that can be read; it does not count",
        4: "'2-Jan' is a date, which a spreadsheet makes of a fraction",
        5: "its student is 'three', which is no whole number from 1 to",
        7: "it belongs to the worksheet 'L2x8-1-aaaaaa'",
        9: "more cells than the first line has columns ('0.3'",
        11: "its exercise is '3', which is no whole number from 1 to 2",
        14: "exercise 2 of student 7 has the boxes a to",
        61: "student 8 has exercise 1 on line 17 already, with the same answers",
        62: "student 9 has exercise 1 on line 19 already, with other answers",
        6: "student 3 has no line for exercise 1: not counted",
        8: "student 4 has no line for exercise 1: not counted",
    }.items():
        assert words in said.pop(line), line
    assert set(said) == {10, 12}  # students 5 and 6, whose other line is left


def test_what_is_not_graded_does_not_count() -> None:
    rows = filled({})
    rows[1][5] = "soon"
    rows[3][1] = "three"  # student 2's exercise 1
    one, two, *_ = graded(rows).students
    asked = [[len(made.sheet.asked) for made in paper.exercises] for paper in papers()[:2]]
    assert (one.earned, one.possible) == (sum(asked[0]) - 1, sum(asked[0]) - 1)
    assert (two.earned, two.possible) == (asked[1][1], asked[1][1])


def test_who_filled_in_nothing_is_not_counted_but_a_blank_earns_nothing() -> None:
    rows = filled({})
    for row in rows[5:7]:
        row[5:] = [""] * len(row[5:])
    rows[7][5] = ""
    report = graded(rows)
    assert report.absent == (3,)
    assert "Nothing is filled in for student 3: not counted." in str(report)
    assert (
        next(each for each in report.students if each.student == 4).earned
        == sum(len(made.sheet.asked) for made in papers()[3].exercises) - 1
    )
    assert report.score is not None
    assert 0.98 < report.score < 1  # the mean of 29: one of them is one cell short


def test_names_come_back_as_they_are_and_are_no_formula() -> None:
    names = ['=HYPERLINK("http://x";"a")', "+49", "-1", "@SUM(A1)", "O'Neil", "Zoë; Ann", "\tx"]
    sheets = [Paper(SHEETS, n, papers()[n - 1].exercises, name) for n, name in enumerate(names, 1)]
    for separator in ",;":
        text = form(sheets, separator)
        rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter=separator))
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row)
        for row in rows[1:]:
            row[5] = "1"
        report = grade_class(SHEETS, written(rows, separator))
        assert [each.name for each in report.students] == names
        assert not any(str(row["name"]).startswith(("=", "+", "-", "@")) for row in report.rows())


def test_two_names_of_one_student_are_said() -> None:
    rows = filled({})
    rows[1][2], rows[2][2] = "Ann", "Bob"
    report = graded(rows)
    assert report.students[0].name == "Ann"
    assert "student 1 is called Ann and Bob" in report.remarks[0].said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1 has no column 'student'"),
        ("a,b\n1,2\n", "line 1 has no column 'student'"),
        ("student,a\n", "line 1 has no column 'exercise'"),
        ("student,exercise,a,A\n", "column 'a' twice"),
        ('student,exercise,a\n1,1,"2\n', "line 2 is no CSV"),
        ('student,exercise,a\n1,1,"2"3\n', "line 2 is no CSV"),
        (f"student,exercise,a\n1,1,{'9' * 200_000}\n", "line 2 is no CSV"),
    ],
)
def test_what_is_no_form_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        grade_class(SHEETS, text)


def test_columns_of_no_meaning_are_said_once() -> None:
    wide = ["student", "exercise", "a", *(f"column{n}" for n in range(100_000))]
    report = grade_class(SHEETS, written([wide, ["1", "1", "1"], ["1", "2", *["9"] * 100_001]]))
    assert [remark.said for remark in report.remarks] == [
        "the column 'column0' and 99,999 more is none of the form's; it is not read"
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04....", "save it as CSV"),
        (b"\xd0\xcf\x11\xe0....", "save it as CSV"),
        (b"student,exercise\n1,\x001\n", "line 2 holds a zero byte"),
        (b"x" * (MOST_BYTES + 1), f"more than {MOST_BYTES:,} bytes"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        decoded(data)


cells = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["1", "2", "student", "exercise", "a", "b", "name", "0,54", '"', "=1", NO_BOX, "", "1e999"]
    ),
)


@settings(max_examples=40, deadline=None)
@example(rows=[["student", "exercise", "a"], ["1", "1", "1/0"]], delimiter=";", data=b"")
@given(
    rows=st.lists(st.lists(cells, max_size=6), max_size=5),
    delimiter=st.sampled_from(",;\t"),
    data=st.binary(max_size=60),
)
def test_no_file_does_more_than_raise_an_error_of_ours(rows: Rows, delimiter: str, data: bytes) -> None:
    head = ["student", "exercise", "a", "b"]
    raw = delimiter.join(head).encode() + b"\n1" + delimiter.encode() + b"1" + delimiter.encode() + data
    for source in (data, written(rows, delimiter).encode(errors="replace"), raw):
        try:
            report = grade_class(SHEETS, decoded(source))
        except RiverheadError:
            continue
        assert str(report)
        assert report.to_dict()["worksheet"] == SHEETS.id


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("0123456789.,/-e% \"'=x−√", max_size=8), min_size=2, max_size=2))
def test_every_answer_is_graded_or_said(texts: list[str]) -> None:
    report = grade_class(SHEETS, written([["student", "exercise", "a", "b"], ["1", "2", *texts]]))
    given = [text.strip() for text in texts if text.strip()]
    if not given:
        assert report.absent == (1,)
        return
    (work,) = report.students[0].works
    unread = [mark for mark in work.report.marks if mark.credit is None]
    assert sum("does not count" in r.said or "is a date" in r.said for r in report.remarks) == len(unread)
    assert sum(mark.kind != "blank" for mark in work.report.marks) == len(given)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    grade_class(SHEETS, written(filled({})[:7]), lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3)]


def test_a_students_own_report_has_what_was_wrong() -> None:
    rows, _ = planted()
    shown = str(graded(rows).students[0].scene(SHEETS))
    assert "Student 1" in shown
    assert mistakes()["no-scale"].did in shown
    assert mistakes()["divided-by-d_k"].did not in shown


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["kv head of query head 1", "kv head of query head 12"], "kv head of query head …"),
        (["y_1", "y_2"], "…"),
        (["one", "one two"], "one …"),
        (["cache with 2 kv heads, GQA", "cache with 1 kv head, MQA"], "cache with … kv …"),
    ],
)
def test_what_names_share(names: list[str], wanted: str) -> None:
    assert shared(names) == wanted


def test_a_name_that_is_cut_is_said() -> None:
    report = grade_class(SHEETS, f"student,name,exercise,a\n1,{'x' * 81},1,2\n")
    assert "the name has 81 characters; the first 80 are kept" in [remark.said for remark in report.remarks]
    assert report.students[0].name == "x" * 80
