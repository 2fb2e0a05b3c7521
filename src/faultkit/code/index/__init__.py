"""The code of a project, searched by meaning and by words.

    with open_store(folder_of("."), write=True) as store:
        index_project(".", None, store, offline_embedder())
        search(store, offline_embedder(), "retry with backoff")

This package knows no provider: a provider's model is passed in as a `FunctionEmbedder`.
"""

from faultkit.code.index.embeddings import (
    Embedder,
    FunctionEmbedder,
    HashEmbedder,
    WordEmbedder,
    function_embedder,
    offline_embedder,
)
from faultkit.code.index.indexer import IndexSummary, Progress, SkippedFile, index_project
from faultkit.code.index.store import (
    MODES,
    SearchHit,
    SearchMode,
    Store,
    collection_name,
    default_index_dir,
    open_store,
    search,
)

__all__ = [
    "MODES",
    "Embedder",
    "FunctionEmbedder",
    "HashEmbedder",
    "IndexSummary",
    "Progress",
    "SearchHit",
    "SearchMode",
    "SkippedFile",
    "Store",
    "WordEmbedder",
    "collection_name",
    "default_index_dir",
    "function_embedder",
    "index_project",
    "offline_embedder",
    "open_store",
    "search",
]
