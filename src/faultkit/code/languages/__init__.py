"""The supported languages: names, file endings and grammars, in one table, `LANGUAGES`.

`dialect_table` describes how each language writes functions. A grammar is imported when the first text of its
language is parsed, so that a run loads the grammars that it needs and not all sixteen.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean


@dataclass(frozen=True, slots=True)
class Language:
    """A language that Faultkit parses."""

    name: str
    """The name in lower case and one word, as in the argument `lang` of tools and in `--lang`."""
    title: str
    aliases: tuple[str, ...]
    endings: tuple[str, ...]
    wheel: str
    """The package that provides the grammar."""
    loader: str = "language"
    """The function of that package that returns the grammar."""
    interpreters: tuple[str, ...] = ()
    """Programs in a first line `#!…` that run such a file."""

    @property
    def module(self) -> str:
        return self.wheel.replace("-", "_")

    @property
    def family(self) -> str:
        """The name of the language whose libraries it uses: JavaScript for TypeScript."""
        return "javascript" if self.name in ("typescript", "tsx") else self.name


LANGUAGES: dict[str, Language] = {
    language.name: language
    for language in (
        Language(
            "python",
            "Python",
            ("py", "py3", "python3"),
            (".py", ".pyi", ".pyw"),
            "tree-sitter-python",
            interpreters=("python", "python3"),
        ),
        Language(
            "javascript",
            "JavaScript",
            ("js", "jsx", "node", "nodejs", "ecmascript"),
            (".js", ".jsx", ".mjs", ".cjs"),
            "tree-sitter-javascript",
            interpreters=("node", "nodejs"),
        ),
        Language(
            "typescript",
            "TypeScript",
            ("ts",),
            (".ts", ".mts", ".cts"),
            "tree-sitter-typescript",
            "language_typescript",
            ("ts-node", "deno", "bun"),
        ),
        Language("tsx", "TSX", (), (".tsx",), "tree-sitter-typescript", "language_tsx"),
        Language("go", "Go", ("golang",), (".go",), "tree-sitter-go"),
        Language("rust", "Rust", ("rs",), (".rs",), "tree-sitter-rust"),
        Language("java", "Java", (), (".java",), "tree-sitter-java"),
        Language(
            "ruby", "Ruby", ("rb",), (".rb", ".rake", ".gemspec"), "tree-sitter-ruby", interpreters=("ruby",)
        ),
        Language("c", "C", (), (".c",), "tree-sitter-c"),
        Language(
            "cpp",
            "C++",
            ("c++", "cplusplus", "cxx", "cc"),
            (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".h"),
            "tree-sitter-cpp",
        ),
        Language("csharp", "C#", ("c#", "cs", "c-sharp", "c_sharp"), (".cs", ".csx"), "tree-sitter-c-sharp"),
        Language(
            "php", "PHP", (), (".php", ".phtml"), "tree-sitter-php", "language_php", interpreters=("php",)
        ),
        Language("kotlin", "Kotlin", ("kt", "kts"), (".kt", ".kts"), "tree-sitter-kotlin"),
        Language("swift", "Swift", (), (".swift",), "tree-sitter-swift"),
        Language("scala", "Scala", (), (".scala", ".sc"), "tree-sitter-scala"),
        Language(
            "bash",
            "Bash",
            ("sh", "shell", "zsh", "shellscript"),
            (".sh", ".bash"),
            "tree-sitter-bash",
            interpreters=("sh", "bash", "dash", "ksh", "zsh"),
        ),
    )
}
"""`.h` is parsed as C++: its grammar accepts nearly all C, while the C grammar rejects C++."""

_BY_NAME = {name: each for each in LANGUAGES.values() for name in (each.name, *each.aliases)}
_BY_ENDING = {ending: each for each in LANGUAGES.values() for ending in each.endings}
_BY_INTERPRETER = {program: each for each in LANGUAGES.values() for program in each.interpreters}


def language_named(text: str) -> Language:
    """Return the language of a name, alias or file ending in any case: `python`, `Golang`, `C++`, `.ts`."""
    wanted = text.strip().lower()
    found = _BY_NAME.get(wanted) or _BY_ENDING.get(wanted)
    if found is None:
        hint = did_you_mean(wanted, _BY_NAME)
        raise InputError("lang", f'expected one of {", ".join(LANGUAGES)}, got "{text[:60]}"{hint}')
    return found


def language_of(path: str) -> Language:
    """Return the language of a file by its ending. Raises InputError if it is unknown."""
    found = known_language_of(path)
    if found is None:
        raise InputError(path, f"expected a file that ends with one of {' '.join(_BY_ENDING)}")
    return found


def known_language_of(path: str) -> Language | None:
    """Return the language of a file by its ending; None if it is no source file."""
    name = path.replace("\\", "/").rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    return _BY_ENDING.get(f".{ending.lower()}") if dot else None


def language_of_script(first_line: str) -> Language | None:
    """Return the language of a script by the interpreter in its first line; None if there is none."""
    if not first_line.startswith("#!"):
        return None
    words = [word.rpartition("/")[2] for word in first_line[2:].split()]
    programs = [word for word in words if word != "env" and not word.startswith("-") and "=" not in word]
    return _BY_INTERPRETER.get(programs[0].rstrip("0123456789.")) if programs else None
