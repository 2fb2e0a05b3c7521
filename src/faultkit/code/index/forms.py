"""What a model is fed of a chunk and of a question. Pure.

The offline model knows words and no code, so it gets the words of a chunk, names taken apart, each once, and
more of what says most. A provider's model gets the code as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from faultkit.code.index.chunks import Chunk
from faultkit.code.index.lexical import different_words, plain_words

NAME_REPEATS, PATH_REPEATS = 3, 1


@dataclass(frozen=True, slots=True)
class Form:
    document: Callable[[Chunk], str]
    query: Callable[[str], str]


def _words(text: str) -> str:
    return " ".join(plain_words(text))


def _words_of_chunk(chunk: Chunk) -> str:
    name, path = _words(chunk.name), _words(chunk.path.rpartition(".")[0])
    said = dict.fromkeys(word for text in (chunk.doc, chunk.text) for word in different_words(text))
    return " ".join((*(name for _ in range(NAME_REPEATS)), *(path for _ in range(PATH_REPEATS)), *said))


def _code_of_chunk(chunk: Chunk) -> str:
    head = [f"{chunk.path}: {chunk.name}".rstrip(": ")]
    if chunk.doc and chunk.doc not in chunk.text:
        head.append(chunk.doc)
    return "\n".join((*head, chunk.text))


FORMS: dict[str, Form] = {
    "words": Form(_words_of_chunk, _words),
    "code": Form(_code_of_chunk, lambda text: text),
}
