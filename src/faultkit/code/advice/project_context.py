"""Related code of the project, found in its index, to show to a model.

It is optional: if it is unavailable, a warning is logged, and the question is asked without it.
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.code import local_path
from faultkit.code.index import (
    Embedder,
    FunctionEmbedder,
    HashEmbedder,
    SearchHit,
    WordEmbedder,
    collection_name,
    default_index_dir,
    function_embedder,
    offline_embedder,
    open_store,
    search,
)
from faultkit.code.index.points import Manifest
from faultkit.code.index.store import Store, rebuild_command
from faultkit.llm import model_settings as flags
from faultkit.llm.language_model import LanguageModel
from faultkit.llm.model_settings import LlmSettings, llm_settings
from faultkit.llm.providers import provider_of

INDEX_DIR_VARIABLE = "FAULT_INDEX_DIR"
_MOST_SHOWN = 5
_MOST_QUERY = 4_000
"""Characters of the code that are searched for: a longer query contains every word of the project."""
_WAIT_S = 1.0
"""Seconds to wait for an index that is being written."""
_log = logging.getLogger(__name__)


def project_search(
    path: str | os.PathLike[str],
    model: LanguageModel,
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
        return [
            (f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.name}".rstrip(), hit.snippet)
            for hit in hits
            if hit.language == language and hit.snippet.strip() not in query
        ][:_MOST_SHOWN]

    return near


def indexed_folder(
    path: str | os.PathLike[str], index_dir: str | os.PathLike[str] | None = None
) -> Path | None:
    """Return the folder itself or the nearest one around it that was indexed on this machine."""
    base = Path(index_dir or default_index_dir(os.environ)).expanduser()
    place = Path(os.path.realpath(local_path(os.fspath(path))))
    return next((each for each in (place, *place.parents) if (base / collection_name(each)).is_dir()), None)


def _search(store: Store, settings: LlmSettings, query: str) -> list[SearchHit]:
    manifest = store.manifest()
    if manifest is None:
        return []
    text, most = query[:_MOST_QUERY], 4 * _MOST_SHOWN
    try:
        wanted = settings_for(manifest, settings, os.environ)
    except InputError:
        # A search by words needs no vectors.
        return search(store, words_only_embedder(manifest), text, most, "lexical")
    with ExitStack() as stack:
        model = None if wanted is None else stack.enter_context(LanguageModel(wanted))
        return search(store, embedder_of(model), text, most, "hybrid")


# The embedder of an index: the offline one, or a provider's model. An index records the model of its vectors,
# because vectors of another model do not fit it, so that a search can choose the right one without options.
# Nothing is embedded here.


_ANEW = f"make the index anew with `{rebuild_command()}`"


def asks_for_embeddings(settings: LlmSettings | None) -> bool:
    """Return whether the options ask for a provider's embeddings, and not only for its answers."""
    return settings is not None and settings.embed_asked


def embedder_of(model: LanguageModel | None) -> Embedder:
    """Return the embedder to build an index with. May ask the provider for the length of its vectors."""
    if model is None or not asks_for_embeddings(model.settings):
        return offline_embedder()
    made = function_embedder(_name(model.settings), model.embed, model.settings.embed_dim)
    return replace(made, flags=(*_flags(model.settings), flags.EMBED_DIM[0], str(made.dim)))


def settings_for(manifest: Manifest, asked: LlmSettings | None, env: Mapping[str, str]) -> LlmSettings | None:
    """Return the settings of the embedder that a question to this index needs; None for the offline one.

    Options of the user must match the index. Without options, the index decides.
    """
    if asked is not None and asks_for_embeddings(asked):
        if manifest.embedder != _name(asked):
            raise InputError(
                flags.EMBED_MODEL[0],
                f"expected {manifest.embedder}, which made the vectors of the index, got {_name(asked)}: "
                f"search without it, or make the index anew with `{_command(asked)}`",
            )
        return asked
    if manifest.embedder in (WordEmbedder().name, HashEmbedder().name):
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


def words_only_embedder(manifest: Manifest) -> Embedder:
    """Return an embedder for a search by words, which needs no vectors: it fits any index."""
    return FunctionEmbedder(manifest.embedder, manifest.dim, _never)


def _never(texts: object) -> list[list[float]]:
    raise RunError("a search by words needs no vectors")


def _flags(settings: LlmSettings) -> tuple[str, ...]:
    """Return the flags that ask for the embeddings of a provider."""
    return flags.CLIENT[0], settings.provider.name, flags.EMBED_MODEL[0], settings.embed_model or ""


def _command(settings: LlmSettings) -> str:
    """Return the command that makes an index anew with the embeddings of a provider."""
    return f"{rebuild_command()} {shlex.join(_flags(settings))}"


def _name(settings: LlmSettings) -> str:
    return f"{settings.provider.name} {settings.embed_model}"
