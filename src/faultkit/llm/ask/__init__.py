"""Language models behind one small interface: `Model.ask` for data of a schema, `Model.embed` for vectors.

    settings = llm_settings(os.environ, client=…)     # None: no model, the offline rules answer
    with Model(settings) as model:
        answer = model.ask(prompts.score(snippet, "python", "reliability"), schemas.SCORE)

Client libraries of providers (`faultkit.llm`) are imported at the first call. Nothing leaves this package
that was not redacted, and nothing comes out that does not fit its schema.
"""

from __future__ import annotations

from faultkit.llm.ask.budget import Budget as Budget
from faultkit.llm.ask.budget import Spending as Spending
from faultkit.llm.ask.model import Answer as Answer
from faultkit.llm.ask.model import Model as Model
from faultkit.llm.ask.prompt import Prompt as Prompt
from faultkit.llm.ask.prompt import Section as Section
from faultkit.llm.ask.settings import LlmSettings as LlmSettings
from faultkit.llm.ask.settings import llm_settings as llm_settings
from faultkit.llm.usage import Usage as Usage
