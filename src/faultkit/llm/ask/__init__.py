"""Questions to a language model: `Model.ask` for data of a schema, `Model.embed` for vectors.

    settings = llm_settings(os.environ, client=…)     # None: no model, the offline rules answer
    with Model(settings) as model:
        answer = model.ask(prompts.score(snippet, "python", "reliability"), schemas.SCORE)

The methods block; the provider clients of `faultkit.llm` are imported at the first call. Every text is
redacted before it is sent, and every answer fits its schema.
"""

from __future__ import annotations

from faultkit.llm.ask.language_model import Model as Model
from faultkit.llm.ask.language_model import ModelAnswer as ModelAnswer
from faultkit.llm.ask.model_settings import AskBudget as AskBudget
from faultkit.llm.ask.model_settings import LlmSettings as LlmSettings
from faultkit.llm.ask.model_settings import Spending as Spending
from faultkit.llm.ask.model_settings import llm_settings as llm_settings
from faultkit.llm.ask.prompt import Prompt as Prompt
from faultkit.llm.ask.prompt import Section as Section
from faultkit.llm.conversation import Usage as Usage
