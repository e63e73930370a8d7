"""Print anew what README.md and docs/ show: every console block, the pictures, and the notebook's outputs.

    python docs/refresh.py

The tests fail when a document shows what the command no longer prints; this brings it up to date. Look at the
difference before committing it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RIVERHEAD = str(Path(sysconfig.get_path("scripts")) / "riverhead")
DATA = tempfile.TemporaryDirectory(prefix="riverhead-")  # a newcomer's, with no progress in it
ENVIRONMENT = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "RIVERHEAD_DATA": DATA.name}


def printed(console: re.Match[str]) -> str:
    command = console[1]
    ran = subprocess.run(
        [RIVERHEAD, *shlex.split(command)[1:]], capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT
    )
    return f"```console\n$ {command}\n{ran.stdout.rstrip()}\n```"


for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
    page.write_text(
        re.sub(r"^```console\n\$ (.+)\n[^`]*?^```$", printed, page.read_text("utf-8"), flags=re.M)
    )
    for command in re.findall(r"^riverhead (.+ -o docs/\S+\.svg)$", page.read_text("utf-8"), flags=re.M):
        subprocess.run([RIVERHEAD, *shlex.split(command)], check=True, env=ENVIRONMENT, cwd=ROOT)
picture = ROOT / "docs" / "first-minute.svg"
subprocess.run([RIVERHEAD, "show", "The river bank flooded", "-o", picture], check=True, env=ENVIRONMENT)
subprocess.run([sys.executable, ROOT / "docs" / "run_notebook.py"], check=True, env=ENVIRONMENT)
subprocess.run([sys.executable, ROOT / "docs" / "refresh_why.py"], check=True, env=ENVIRONMENT)
subprocess.run([sys.executable, ROOT / "docs" / "refresh_backends.py"], check=True, env=ENVIRONMENT)
tables = [sys.executable, ROOT / "benchmarks" / "implementations.py", "--format", "markdown"]
mutants = subprocess.run(tables, check=True, env=ENVIRONMENT, capture_output=True, text=True).stdout
(ROOT / "docs" / "checking-mutants.md").write_text(mutants, "utf-8")
