"""The code of a project, searched by meaning and by words.

    with open_store(folder_of("."), write=True) as store:
        index_project(".", None, store, WordEmbedder())
        search(store, WordEmbedder(), "retry with backoff")

No provider is known here: a provider's model is passed in as a `GivenEmbedder`.
"""

from faultkit.code.index.embeddings import Embedder, GivenEmbedder, WordEmbedder, given_embedder
from faultkit.code.index.indexer import IndexSummary, Progress, Skipped, index_project
from faultkit.code.index.store import (
    MODES,
    Hit,
    Mode,
    Store,
    collection_name,
    default_index_dir,
    open_store,
    search,
)

__all__ = [
    "MODES",
    "Embedder",
    "GivenEmbedder",
    "Hit",
    "IndexSummary",
    "Mode",
    "Progress",
    "Skipped",
    "Store",
    "WordEmbedder",
    "collection_name",
    "default_index_dir",
    "given_embedder",
    "index_project",
    "open_store",
    "search",
]
