"""What must not be read in Markdown, LaTeX and plain text, made blank; all else stays in its place."""

from __future__ import annotations

import re

__all__ = ["blank", "clean", "latex", "markdown"]

# ---- any text ------------------------------------------------------------------------------------

# UTF-8 that was once taken for one of these code pages: "Ã—" and "Γ—" were "×", "â‰ˆ" was "≈".
CODE_PAGES = ("cp1252", "latin-1", "cp1250", "cp1253", "cp1251")
OPERATORS = "·×÷−–≈→√±≤≥²³ᵀ⊤₀₁₂₃₄₅₆₇₈₉\u00a0"
LETTER = r"[^\W\d_]"
ROOTS = "√"  # stands before what it acts on, so what is left over is blank before it

# Characters that have no width, and marks of direction; those of MathML that stand for an operator.
INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe00-\ufe0f\ufeff"
MEANT = {"\u2061": " ", "\u2062": " ", "\u2063": ",", "\u2064": "+"}
MEANT |= dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", "\n")
UNSEEN = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u2061-\u2064]|[{INVISIBLE}]++")
COLOUR = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")  # of a terminal
ADDRESS = re.compile(
    r"<(?:https?|ftp)://[^\s<>]*+>|(?:https?|ftp)://[!#%&+,\-./0-9:;=?@A-Z_a-z~]*(?<![.,:;!?_])"
)


def clean(source: str) -> str:
    """Return ``source``, as long as it was, with lines that end in \\n and nothing invisible or garbled."""
    text = COLOUR.sub(blank, source) if "\x1b" in source else source
    if not text.isascii():
        text = GARBLED.sub(_repaired, text)
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    text = UNSEEN.sub(_seen, text)
    return ADDRESS.sub(blank, text) if "://" in text else text


def blank(match: re.Match[str]) -> str:
    """Return as many spaces as were matched, its lines kept."""
    found = match.group()
    return "\n".join(" " * len(line) for line in found.split("\n"))


def _seen(match: re.Match[str]) -> str:
    found = match.group()
    if found in MEANT:
        return MEANT[found]
    before, after = (
        match.string[match.start() - 1 : match.start()],
        match.string[match.end() : match.end() + 1],
    )
    inside = found[0] >= "\u00ad" and _joins(before) and _joins(after)
    return found if inside else " " * len(found)  # a space inside a number would make two numbers of it


def _joins(character: str) -> bool:
    return character.isalnum() or character in (".", ",")


def _repaired(match: re.Match[str]) -> str:
    found = match.group()
    meant = REPAIRS[found]
    return meant.rjust(len(found)) if meant in ROOTS else meant.ljust(len(found))


def _taken_for(operator: str, code_page: str) -> str:
    """Return the operator's UTF-8 bytes read by ``code_page``, what it leaves open as control characters."""
    octets = (bytes([byte]) for byte in operator.encode())
    return "".join(octet.decode(code_page, "ignore") or octet.decode("latin-1") for octet in octets)


def _garbled() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what finds garbled operators, and what each was.

    Two characters of which the first is a Greek or Cyrillic letter may be meant, as in "Β²" and "А·В·С":
    no power among them, and none that touches a letter.
    """
    repairs, patterns = {}, []
    for code_page in CODE_PAGES:
        for operator in OPERATORS:
            found = _taken_for(operator, code_page)
            alphabet = found[0] > "\u036f"
            if found in repairs or (
                alphabet and len(found) == 2 and (found[1].isalnum() or found[1] == "\u00a0")
            ):
                continue
            repairs[found] = operator
            alone = rf"{found[0]}(?<!{LETTER}{found[0]}){found[1]}(?!{LETTER})"
            patterns.append(alone if alphabet and len(found) == 2 else re.escape(found))
    return re.compile("|".join(sorted(patterns, key=len, reverse=True))), repairs


GARBLED, REPAIRS = _garbled()

# ---- Markdown ------------------------------------------------------------------------------------

FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\n(?=[ \t\n]*[\w-]+[ \t]*:|#)(?:(?!(?:---|\.\.\.)[ \t]*$).*\n)*+(?:---|\.\.\.)"
    r"|\+\+\+[ \t]*\n(?:(?!\+\+\+[ \t]*$).*\n)*+\+\+\+)[ \t]*$",
    re.MULTILINE,
)
NOT_READ = re.compile(
    r"\[\^[^\s\[\]]{1,64}\](?!:)"  # a footnote's number
    r"|(?<=\]\()[ ]?(?:\#|\.{0,2}/|mailto:|[\w./-]+\.[A-Za-z]{2,5}\b|[A-Za-z][\w-]+/)[^\s()<>]*+"
    r"(?=\)|[ ]+[\"'])"
    r"|^[ ]{0,3}\[[^\[\]\n]{1,200}\]:[ \t]+[^\s\d(\[-]\S*+[ \t]*$",  # where a link goes, said once for many
    re.MULTILINE,
)


def markdown(text: str) -> str:
    """Return Markdown as long as it was, without front matter, links' targets and footnotes' numbers."""
    return NOT_READ.sub(blank, FRONT_MATTER.sub(blank, text))


# ---- LaTeX ---------------------------------------------------------------------------------------

COMMENT = re.compile(
    r"\\begin\{(?P<verbatim>verbatim|lstlisting|minted|comment)\*?\}|\\verb\*?(\W)[^\n]{0,200}?\2|\\.|%.*"
)
BODY = re.compile(r"\\begin\{document\}")
END = re.compile(r"\\end\{document\}")
NOT_SHOWN = re.compile(
    r"\\(?:label|ref|eqref|cref|Cref|autoref|cite[a-z]*|url|includegraphics|vspace|hspace|input|include"
    r"|bibliography|bibliographystyle|pagestyle|setlength|setcounter)(?![A-Za-z])\*?"
    r"(?:\[[^\[\]\n]*+\])*+(?:\{[^{}\n]*+\})++"
    r"|(?<=\\href)\{[^{}\n]*+\}"
)


def latex(text: str) -> str:
    """Return LaTeX as long as it was, without comments, preamble, labels, references and files."""
    text = _without_comments(text)
    if body := BODY.search(text):
        text = _spaces(text[: body.end()]) + text[body.end() :]
    if end := END.search(text):
        text = text[: end.start()] + _spaces(text[end.start() :])
    return NOT_SHOWN.sub(blank, text)


def _without_comments(text: str) -> str:
    kept, start, position = [], 0, 0
    while match := COMMENT.search(text, position):
        position = match.end()
        if name := match["verbatim"]:
            end = text.find(f"\\end{{{name}", position)
            position = end if end >= 0 else len(text)
        if match.group()[0] == "%" or name == "comment":
            kept += [text[start : match.start()], _spaces(text[match.start() : position])]
            start = position
    return "".join([*kept, text[start:]])


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
