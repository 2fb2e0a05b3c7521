"""Related code of the project, found in its index, to show to a model.

It is optional: where it is unavailable, a log line says so, and the question is asked without it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.code import local_path
from faultkit.code.index import (
    Embedder,
    GivenEmbedder,
    Hit,
    WordEmbedder,
    collection_name,
    default_index_dir,
    given_embedder,
    open_store,
    search,
)
from faultkit.code.index.points import Manifest
from faultkit.code.index.store import Store
from faultkit.llm.ask import LlmSettings, Model, llm_settings
from faultkit.llm.ask import model_settings as flags
from faultkit.llm.providers import provider_of

INDEX_DIR_VARIABLE = "FAULT_INDEX_DIR"
_MOST_SHOWN = 5
_MOST_QUERY = 4_000
"""Characters of the code that are searched for: a longer query contains every word of the project."""
_WAIT_S = 1.0
"""Seconds to wait for an index that is being written."""
_log = logging.getLogger(__name__)


def context_of(
    path: str | os.PathLike[str],
    model: Model,
    *,
    index_dir: str | os.PathLike[str] | None = None,
    warn: Callable[[str], None] = _log.warning,
) -> Callable[[str, str], Sequence[tuple[str, str]]] | None:
    """Return a search for a file or folder of a project; None if neither it nor a folder around it has
    an index."""
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
    """Return the folder itself or the nearest one around it that was indexed on this machine."""
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


# Which embeddings an index is built and searched with: the offline ones, or those of a provider's model.
#
# An index records the model of its vectors, because vectors of another model are useless to it. A search can
# therefore choose the right one without being asked. Nothing is embedded here.


_ANEW = "make the index anew with `fault index --rebuild`"


def embeds(settings: LlmSettings | None) -> bool:
    """Return whether the user asks for a provider's embeddings; asking for its answers does not."""
    return settings is not None and settings.embed_asked


def embedder_of(model: Model | None) -> Embedder:
    """Return the embedder to build an index with. May ask the provider for the length of its vectors."""
    if model is None or not embeds(model.settings):
        return WordEmbedder()
    return given_embedder(_name(model.settings), model.embed, model.settings.embed_dim)


def settings_for(manifest: Manifest, asked: LlmSettings | None, env: Mapping[str, str]) -> LlmSettings | None:
    """Return the settings of the embedder that a question to this index needs; None for the offline one.

    Options of the user must match the index. Without options, the index decides.
    """
    if asked is not None and embeds(asked):
        if manifest.embedder != _name(asked):
            raise InputError(
                flags.EMBED_MODEL[0],
                f"expected {manifest.embedder}, which made the vectors of the index, got {_name(asked)}: "
                f"search without it, or {_ANEW}",
            )
        return asked
    if manifest.embedder == WordEmbedder().name:
        return None
    engine, _, name = manifest.embedder.partition(" ")
    provider = provider_of(engine)
    if provider is None or not name:
        raise InputError(
            "index", f"expected vectors of a model that is known, got {manifest.embedder}: {_ANEW}"
        )
    try:
        return llm_settings(env, client=engine, embed_model=name, embed_dim=manifest.dim)
    except InputError as error:
        if error.path != provider.key_env:
            raise
        raise InputError(
            provider.key_env,
            f"expected an API key, since {manifest.embedder} made the vectors of the index, got none: "
            f"set it, search by words alone with `--mode lexical`, or {_ANEW}",
        ) from None


def no_embedder(manifest: Manifest) -> Embedder:
    """Return an embedder for a search by words, which needs no vectors: it fits any index."""
    return GivenEmbedder(manifest.embedder, manifest.dim, _never)


def _never(texts: object) -> list[list[float]]:
    raise RunError("a search by words needs no vectors")


def _name(settings: LlmSettings) -> str:
    return f"{settings.provider.name} {settings.embed_model}"
