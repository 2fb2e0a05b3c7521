"""Regular expressions that can take exponential time, and their neighbours that cannot."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_RULE = "catastrophic-expression"

_SLOW = [
    r"^(a+)+$",
    r"(a|a)*$",
    r"^(.*)*=$",
    r"(\w+\s?)*$",
    r"(x+x+)+y",
    r"^(\s*\w+\s*)*$",
    r"<(.|\s)*>",
    r"^(?:[\w-]+\.?)+@",
    r"^(\d+|\w+)*;",
    r"^([a-z0-9]+([._-]?[a-z0-9]+)*)+@[a-z]+$",
    r"^(([a-z])+.)+[A-Z]$",
    r"(?:a{1,30}b?){2,}!",
    r"^([-#]?)(?:\w+[ ,]*)+\1$",
]
_QUICK = [
    r"(a+)+",
    r"(a+)+.",
    r"(a|b)*c",
    r"^(\w+\s)*$",
    r"\s+$",
    r"(\d{1,3}\.){3}\d{1,3}",
    r"(?:\w+,)*\w+$",
    r"^[a-z]+(-[a-z]+)*$",
    r"(?:(?!end).)*end",
    r"/\*(.|\n)*?\*/",
    r"(?:a|ab)*c",
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    r"(\$\{[^}]*\}|[^$])*$",
    r"^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$",
    r"(\w+)(\1)*$",
]


def _escaped(pattern: str) -> str:
    return pattern.replace("\\", "\\\\")


def _each(pattern: str, *found: int) -> list[Case]:
    slashed = pattern.replace("/", r"\/")
    texts = [
        (_PY, f"import re\nname = re.compile(r'{pattern}')\n", 2),
        (_JS, f"\nconst name = /{slashed}/;\n", 2),
        (_TS, f"\nconst name = new RegExp('{_escaped(pattern)}');\n", 2),
        (_JAVA, f'class A {{\n  Pattern name = Pattern.compile("{_escaped(pattern)}");\n}}\n', 2),
    ]
    return [Case(_RULE, language, text, (line,) if found else ()) for language, text, line in texts]


CASES = [
    *(case for pattern in _SLOW for case in _each(pattern, 2)),
    *(case for pattern in _QUICK for case in _each(pattern)),
    # The end of the text counts only if the match must reach it.
    bad(_RULE, _PY, "import re\ndef f(s):\n    return re.fullmatch(r'(a+)+', s)", 3),
    bad(_RULE, _PY, "import re\nNAME = re.compile('(a+)+')\ndef f(s):\n    return NAME.fullmatch(s)", 2),
    good(_RULE, _PY, "import re\ndef f(s):\n    return re.match(r'(a+)+', s)"),
    bad(_RULE, _JAVA, 'class A { boolean f(String s) { return s.matches("(a+)+"); } }', 1),
    good(_RULE, _JAVA, 'class A { String f(String s) { return s.replaceAll("(a+)+", ""); } }'),
    # Flags.
    bad(_RULE, _PY, "import re\nNAME = re.compile(r'/[*](.|\\n)*[*]/', re.DOTALL)", 2),
    bad(
        _RULE,
        _PY,
        "import re\nNAME = re.compile(r'''\n    ( [a-z]+   # words\n      \\\\s? )* $ ''', re.VERBOSE)",
        2,
    ),
    bad(_RULE, _JS, "const name = /^(a|A)*$/i;", 1),
    good(_RULE, _JS, "const name = /^(a|A)*$/;"),
    good(_RULE, _JS, "const quotient = (a + b) / (c + d) / e;"),
    # Possessive repetition and atomic groups do not go back.
    good(_RULE, _PY, "import re\nNAME = re.compile(r'^(a++)+$')\nTWO = re.compile(r'^(?>a+)+$')"),
    # Not an expression, and not one of `re`.
    good(_RULE, _PY, "import re\nNAME = glob('(a+)+$')"),
]
