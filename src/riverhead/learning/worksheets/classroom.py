"""A class's answers, graded."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from riverhead.checking.answers import Kind as Marked
from riverhead.checking.answers import grade
from riverhead.learning.exercises import Exercise
from riverhead.learning.worksheets.class_report import ClassReport, listed
from riverhead.learning.worksheets.form import Filled, Remark, read_form
from riverhead.learning.worksheets.pages import letters
from riverhead.learning.worksheets.student import Graded, Work
from riverhead.learning.worksheets.worksheet import Worksheet, lettered

__all__ = ["grade_class"]

# what a spreadsheet makes of 1/2 or 3-4, in English and German
MONTHS = "jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]"
DATE = re.compile(
    rf"\d{{1,2}}[-. /]+({MONTHS})\w*\.?([-. /]+\d{{2,4}})?|\d{{1,4}}[-./]\d{{1,2}}[-./]\d{{2,4}}", re.I
)
DATED = " (a date)"  # behind such an answer it is no number

Tell = Callable[[int, int], None]


def grade_class(worksheet: Worksheet, text: str, tell: Tell | None = None) -> ClassReport:
    """Grade the answers of a class, CSV as `form.form` writes it; ``tell`` hears of each student.

    Raises `InputError` where ``text`` is no such CSV.

    >>> report = grade_class(Worksheet.parse("valuesx1-1-k3m9q2"), "student,exercise,a,b\\n7,1,soon,9\\n")
    >>> report.students[0].score, [each.name for each in report.mistakes], report.remarks[0].line
    (0.0, ['wrong, by no mistake that is known'], 2)
    """
    form = read_form(worksheet, text)
    lines: dict[int, dict[int, Filled]] = defaultdict(dict)
    for filled in form.lines:
        lines[filled.student][filled.exercise] = filled
    remarks, students = list(form.remarks), []
    absent = [n for n, own in lines.items() if not any(filled.answers for filled in own.values())]
    present = sorted(lines.keys() - set(absent))
    for done, student in enumerate(present):
        if tell:
            tell(done, len(present))
        students.append(_graded(worksheet, student, lines[student], remarks))
    order = sorted(remarks, key=lambda remark: remark.line)
    return ClassReport(worksheet, tuple(students), tuple(sorted(absent)), tuple(order))


def _graded(worksheet: Worksheet, student: int, lines: Mapping[int, Filled], remarks: list[Remark]) -> Graded:
    """One student's exercises that have a line; what is odd about them goes to ``remarks``."""
    works = []
    for number, exercise in enumerate(worksheet.exercises(student), 1):
        if number in lines:
            said = _beyond(number, exercise, lines[number])
            if said is None:
                works.append(_work(number, exercise, lines[number]))
            else:
                remarks.append(said)
    remarks += [remark for work in works for remark in _unreadable(student, work)]
    remarks += _odd(worksheet, student, lines)
    names = [filled.name for filled in lines.values() if filled.name]
    return Graded(student, names[0] if names else "", tuple(works))


def _odd(worksheet: Worksheet, student: int, lines: Mapping[int, Filled]) -> Iterator[Remark]:
    """Exercises without a line, and several names."""
    last = max(filled.line for filled in lines.values())
    without = [n for n in range(1, worksheet.count + 1) if n not in lines]
    if without:
        yield Remark(last, f"student {student} has no line for exercise {listed(without)}: not counted")
    names = list(dict.fromkeys(filled.name for filled in lines.values() if filled.name))
    if len(names) > 1:
        yield Remark(last, f"student {student} is called {' and '.join(names)}; the first name is taken")


def _beyond(number: int, exercise: Exercise, filled: Filled) -> Remark | None:
    """What stands in a box that the exercise does not have: then all of the line may be shifted."""
    boxes = lettered(exercise.sheet)
    for letter, text in filled.answers.items():
        if letter not in boxes:
            said = (
                f"exercise {number} of student {filled.student} has the boxes a to {list(boxes)[-1]}, "
                f"and {text[:40]!r} stands under {letter}: it is not graded, look where its numbers stand"
            )
            return Remark(filled.line, said)
    return None


def _work(number: int, exercise: Exercise, filled: Filled) -> Work:
    boxes = lettered(exercise.sheet)
    answers = {
        boxes[letter].id: text + DATED * bool(DATE.fullmatch(text)) for letter, text in filled.answers.items()
    }
    return Work(number, filled.line, exercise, grade(exercise.sheet, answers))


def _unreadable(student: int, work: Work) -> Iterator[Remark]:
    letter = letters(work.exercise)
    for mark in work.report.marks:
        if mark.kind is Marked.UNREADABLE:
            dated = mark.answer.text.endswith(DATED)
            why = (
                "is a date, which a spreadsheet makes of a fraction: format the column as text, type it again"
                if dated
                else "is no number that can be read; it does not count"
            )
            text = mark.answer.text.removesuffix(DATED)
            where = f"box {letter[mark.cell]} of exercise {work.number}, student {student}"
            yield Remark(work.line, f"{where}: {text!r} {why}")
