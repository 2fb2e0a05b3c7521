"""Which vectors an index is made of and searched with: the offline ones, or those of a provider's model.

An index remembers who made its vectors, since those of another are of no use to it. That is how it can be
searched without saying it again. Nothing is embedded here.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultkit.base.errors import InputError, RunError
from faultkit.code.index import Embedder, GivenEmbedder, WordEmbedder, given_embedder
from faultkit.code.index.points import Manifest
from faultkit.llm.ask import LlmSettings, Model, llm_settings
from faultkit.llm.ask import settings as flags
from faultkit.llm.providers import provider_of

_ANEW = "make the index anew with `fault index --rebuild`"


def embeds(settings: LlmSettings | None) -> bool:
    """Whether the user asks for a provider's embeddings: to ask for its answers is not to ask for these."""
    return settings is not None and settings.embed_asked


def embedder_of(model: Model | None) -> Embedder:
    """To make an index with. May ask the provider how long its vectors are."""
    if model is None or not embeds(model.settings):
        return WordEmbedder()
    return given_embedder(_name(model.settings), model.embed, model.settings.embed_dim)


def settings_for(manifest: Manifest, asked: LlmSettings | None, env: Mapping[str, str]) -> LlmSettings | None:
    """Whose vectors a question to this index has to have; None is the offline ones.

    What the user asks for has to be what the index has. Who asks for nothing gets what it has."""
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
    """For a search by words, which needs no vector: fits the index, whoever made it."""
    return GivenEmbedder(manifest.embedder, manifest.dim, _never)


def _never(texts: object) -> list[list[float]]:
    raise RunError("a search by words needs no vectors")


def _name(settings: LlmSettings) -> str:
    return f"{settings.provider.name} {settings.embed_model}"
