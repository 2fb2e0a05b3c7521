"""The `--llm-…` flags that several commands share, and the models and advisors made from them.

The flags are listed here, and not taken from `faultkit.llm`, so that a command can be loaded without that
package. Only that package validates the values and reads the variables.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.code.advice.advisor import Advisor
    from faultkit.llm.language_model import LanguageModel
    from faultkit.llm.model_settings import LlmSettings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """The values of the flags as text; None for a flag that is absent."""

    client: str | None = None
    model: str | None = None
    embed_model: str | None = None
    embed_dim: str | None = None
    time_s: str | None = None
    tokens: str | None = None


@dataclass(frozen=True, slots=True)
class LlmFlag:
    """One flag and its variable."""

    field: str
    """Name of a field of `LlmOptions` and of an argument of `llm_settings`."""
    option: str
    variable: str
    metavar: str
    help: str


FLAGS: tuple[LlmFlag, ...] = (
    LlmFlag(
        "client",
        "--llm-client",
        "FAULT_AGENT_CLIENT",
        "NAME",
        "Source of answers: rules (offline, the default), auto (the first provider whose API key is set), "
        "openai, gemini, openrouter, ollama or anthropic. Code is sent only if a provider is chosen.",
    ),
    LlmFlag(
        "model",
        "--llm-prompt-reasoning-model",
        "FAULT_AGENT_PROMPT_REASONING_MODEL",
        "NAME",
        "Model to ask; by default the client's usual one.",
    ),
    LlmFlag(
        "embed_model",
        "--llm-embed-model",
        "FAULT_AGENT_EMBED_MODEL",
        "NAME",
        "Model of the client for embeddings; by default offline embeddings.",
    ),
    LlmFlag(
        "embed_dim",
        "--llm-embed-model-dim",
        "FAULT_AGENT_EMBED_MODEL_DIMENSION",
        "N",
        "Length of the embedding vectors; by default that of the model.",
    ),
    LlmFlag(
        "time_s",
        "--llm-time-budget",
        "FAULT_AGENT_TIME_BUDGET",
        "SECONDS",
        "Time limit of one question, all attempts together; by default 180.",
    ),
    LlmFlag(
        "tokens",
        "--llm-token-budget",
        "FAULT_AGENT_TOKEN_BUDGET",
        "N",
        "Token limit of one question, all attempts together; by default 100000.",
    ),
)
_QUESTION_FIELDS = ("client", "model", "time_s", "tokens")
_EMBEDDING_FIELDS = ("client", "embed_model", "embed_dim")


def llm_options(function: F) -> F:
    """Add all flags to a command, which receives them as one argument, `llm`."""
    return _with_flags(function, FLAGS)


def question_options(function: F) -> F:
    """Add only the flags that questions need, as `llm_options` does."""
    return _with_flags(function, [flag for flag in FLAGS if flag.field in _QUESTION_FIELDS])


def embed_options(function: F) -> F:
    """Add only the flags that embeddings need, as `llm_options` does."""
    return _with_flags(function, [flag for flag in FLAGS if flag.field in _EMBEDDING_FIELDS])


def _with_flags(function: F, flags: Sequence[LlmFlag]) -> F:
    """Add flags to a command, which receives them as one `LlmOptions`."""

    @functools.wraps(function)
    def collected(*args: Any, **kwargs: Any) -> Any:
        values = {flag.field: kwargs.pop(f"llm_{flag.field}") for flag in flags}
        return function(*args, llm=LlmOptions(**values), **kwargs)

    for flag in reversed(flags):
        text = f"{flag.help} [{flag.variable}]"
        click.option(flag.option, f"llm_{flag.field}", metavar=flag.metavar, help=text)(collected)
    return collected  # type: ignore[return-value]


def llm_settings_from(options: LlmOptions) -> LlmSettings | None:
    """Return the settings of the flags and the environment; None stands for the offline rules."""
    from faultkit.llm.model_settings import llm_settings

    return llm_settings(
        os.environ,
        client=options.client,
        model=options.model,
        embed_model=options.embed_model,
        embed_dim=options.embed_dim,
        time_s=options.time_s,
        tokens=options.tokens,
    )


def embedding_settings_from(options: LlmOptions) -> LlmSettings | None:
    """Return the settings of a command that only embeds; an embedding model without a client is an error."""
    settings = llm_settings_from(options)
    if settings is None and options.embed_model:
        raise InputError(
            "--llm-embed-model",
            f"expected a client beside it that makes embeddings, got none for {options.embed_model!r}: "
            "name it with --llm-client, or leave both out to use the offline embeddings",
        )
    return settings


def model_from(options: LlmOptions, *, show_prompt: bool = False) -> LanguageModel | None:
    """Return the model of the flags, or None for the offline rules; no client library is loaded yet."""
    settings = llm_settings_from(options)
    if settings is None:
        if show_prompt:
            raise InputError(
                "--show-prompt", "expected --llm-client beside it, got none: the rules ask nothing"
            )
        return None
    from faultkit.llm.language_model import LanguageModel

    return LanguageModel(settings, sends=not show_prompt)


def _note_unused_key(options: LlmOptions) -> None:
    """Say on a terminal that a key alone does not send code."""
    from faultkit.llm.model_settings import unused_keys

    keys = [] if options.client else unused_keys(os.environ)
    if keys and sys.stderr.isatty():
        click.echo(f"{keys[0]} is not used: the rules answer, unless --llm-client names a provider", err=True)


def advisor_from(
    options: LlmOptions,
    root: str | os.PathLike[str] | None = None,
    stack: ExitStack | None = None,
    *,
    show_prompt: bool = False,
) -> Advisor:
    """Return an advisor that uses the model of the flags, or the offline rules.

    `root` is a file or folder of the project: if it has an index, the model also receives related code from
    it. `stack` closes the model. With `show_prompt` the model raises PromptShown instead of sending anything.
    """
    from faultkit.code.advice.advisor import Advisor

    model = model_from(options, show_prompt=show_prompt)
    if model is None:
        _note_unused_key(options)
        return Advisor()
    if stack is not None:
        stack.enter_context(model)
    if root is None:
        return Advisor(model)
    from faultkit.code.advice.project_context import project_search

    def warn(text: str) -> None:
        click.echo(f"warning: {text}", err=True)

    return Advisor(model, context=project_search(root, model, warn=warn))


@contextmanager
def status_while_asking(advisor: Advisor) -> Iterator[None]:
    """Show on a terminal which model is being asked; the offline rules need no status."""
    engine = advisor.engine
    if engine.model is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"asking {engine.name} ({engine.model})"):
        yield
