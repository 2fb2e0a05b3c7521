"""Language models behind one small interface: `Model.ask` for data of a schema, `Model.embed` for vectors.

    settings = llm_settings(os.environ, client=…)     # None: no model, the offline rules answer
    with Model(settings) as model:
        answer = model.ask(prompts.score(snippet, "python", "reliability"), schemas.SCORE)

Client libraries of providers (`faultkit.llm`) are imported at the first call. Nothing leaves this package
that was not redacted, and nothing comes out that does not fit its schema.
"""

from __future__ import annotations

from faultkit.advice.llm.budget import Budget as Budget
from faultkit.advice.llm.budget import Spending as Spending
from faultkit.advice.llm.model import Answer as Answer
from faultkit.advice.llm.model import Model as Model
from faultkit.advice.llm.prompt import Prompt as Prompt
from faultkit.advice.llm.prompt import Section as Section
from faultkit.advice.llm.settings import LlmSettings as LlmSettings
from faultkit.advice.llm.settings import llm_settings as llm_settings
from faultkit.llm.usage import Usage as Usage
