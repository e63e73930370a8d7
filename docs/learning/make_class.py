"""Fill in class.csv as thirty learners might: most numbers right, some slips, a few known mistakes.

python docs/learning/make_class.py
"""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from pathlib import Path

from riverhead.checking.answers import mistaken, mistakes, solved
from riverhead.errors import InputError
from riverhead.learning.worksheets.worksheet import Worksheet, lettered

ID = "L2x8-1-k3m9q2"
FILE = Path(__file__).parent / "class.csv"
NAMES = [
    "Ada",
    "Bo",
    "Chidi",
    "Dora",
    "Emil",
    "Femi",
    "Greta",
    "Hugo",
    "Ines",
    "Jun",
    "Kofi",
    "Lena",
    "Milo",
    "Nora",
    "Omar",
    "Pia",
    "Quinn",
    "Rosa",
    "Sami",
    "Tara",
    "Uma",
    "Vera",
    "Wren",
    "Xenia",
    "Yusuf",
    "Zoe",
    "Anton",
    "Bella",
    "Cleo",
    "Dan",
]
HABITS = {  # what some of them do wherever they can
    "Bo": "no-scale",
    "Emil": "divided-by-d_k",
    "Hugo": "no-exponential",
    "Kofi": "no-scale",
    "Nora": "base-10",
    "Quinn": "minus-lost",
    "Sami": "no-scale",
    "Vera": "not-normalised",
    "Zoe": "divided-by-d_k",
}
chance = random.Random(7).random


def written(sheet, name):
    """What one learner writes into a sheet, by cell."""
    try:
        found = mistaken(sheet, HABITS[name]) if name in HABITS else solved(sheet)
    except InputError:  # this sheet has no room for the mistake
        found = solved(sheet)
    for cell in found:
        if chance() < 0.02:
            found[cell] = ""
        elif chance() < 0.02:
            found[cell] = found[cell] + "1"
    return found


assert all(mistake in mistakes() for mistake in HABITS.values())
names = FILE.with_name("names.txt")
names.write_text("\n".join(NAMES) + "\n", encoding="utf-8")
command = ["riverhead", "learn", "worksheet", ID, "--names", names, "--csv", FILE]
subprocess.run(command, check=True, stdout=sys.stderr)
with FILE.open(encoding="utf-8-sig", newline="") as file:
    rows = list(csv.DictReader(file))
worksheet = Worksheet.parse(ID)
for row in rows:
    sheet = worksheet.exercises(int(row["student"]))[int(row["exercise"]) - 1].sheet
    answers = written(sheet, row["name"])
    row.update({letter: answers[cell.id] for letter, cell in lettered(sheet).items()})
with FILE.open("w", encoding="utf-8", newline="") as file:
    table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
