"""Code of the project that has to do with a piece of it, from the project's index, to show to a model.

It is garnish: where it cannot be had, that is said, and the question goes without it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from faultkit.base.errors import FaultkitError, InputError
from faultkit.code import local_path
from faultkit.code.advice.embedding import embedder_of, no_embedder, settings_for
from faultkit.code.index import Hit, collection_name, default_index_dir, open_store, search
from faultkit.code.index.store import Store
from faultkit.llm.ask import LlmSettings, Model

INDEX_DIR_VARIABLE = "FAULT_INDEX_DIR"
_MOST_SHOWN = 5
_MOST_QUERY = 4_000
"""Characters of the piece that are searched for: beyond that, every word of the project is in it."""
_WAIT_S = 1.0
"""For an index that somebody writes to."""
_log = logging.getLogger(__name__)


def context_of(
    path: str | os.PathLike[str],
    model: Model,
    *,
    index_dir: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = _log.warning,
) -> Callable[[str, str], Sequence[tuple[str, str]]] | None:
    """For a file or folder of a project; None if neither it nor a folder around it has an index."""
    where = index_dir or os.environ.get(INDEX_DIR_VARIABLE) or None
    root = indexed_folder(path, where)
    if root is None:
        return None

    def near(query: str, language: str) -> Sequence[tuple[str, str]]:
        try:
            with open_store(root, write=False, index_dir=where, wait_s=_WAIT_S) as store:
                hits = _search(store, model.settings, query)
        except FaultkitError as error:
            warn(f"the index of {root} is left out: {error}")
            return ()
        others = (each for each in hits if each.language == language and not _is_in(each, query))
        return [(_title(each), each.snippet) for each in others][:_MOST_SHOWN]

    return near


def indexed_folder(
    path: str | os.PathLike[str], index_dir: str | os.PathLike[str] | None = None
) -> Path | None:
    """The folder itself or the nearest around it that was indexed on this machine."""
    base = Path(index_dir or default_index_dir(os.environ)).expanduser()
    place = Path(os.path.realpath(local_path(os.fspath(path))))
    return next((each for each in (place, *place.parents) if (base / collection_name(each)).is_dir()), None)


def _search(store: Store, settings: LlmSettings, query: str) -> list[Hit]:
    manifest = store.manifest()
    if manifest is None:
        return []
    text, most = query[:_MOST_QUERY], 4 * _MOST_SHOWN
    try:
        wanted = settings_for(manifest, settings, os.environ)
    except InputError:
        # Words need no vectors, and are better than nothing.
        return search(store, no_embedder(manifest), text, most, "lexical")
    with ExitStack() as stack:
        model = None if wanted is None else stack.enter_context(Model(wanted))
        return search(store, embedder_of(model), text, most, "hybrid")


def _is_in(hit: Hit, query: str) -> bool:
    return hit.snippet.strip() in query


def _title(hit: Hit) -> str:
    return f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.name}".rstrip()
