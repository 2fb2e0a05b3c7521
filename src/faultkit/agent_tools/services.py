"""What the tools of one server share, made once: the advisor, where indexes are, limits, the last reports."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from faultkit.agent_tools.importing import IMPORTING
from faultkit.agent_tools.limits import Limits
from faultkit.agent_tools.reports import Reports

if TYPE_CHECKING:
    from faultkit.chaos.session import ChaosSession, ChaosSettings
    from faultkit.code.advice.advisor import Advisor
    from faultkit.llm.ask import LlmSettings, Model

_VECTOR_SERVER = "QDRANT_URL"


@dataclass(slots=True)
class Services:
    llm: LlmSettings | None = None
    """None: the offline rules answer."""
    index_dir: str | None = None
    """None: the user's cache folder."""
    limits: Limits = field(default_factory=Limits)
    reports: Reports = field(default_factory=Reports)
    indexed: str | None = None
    """The folder that was indexed last: where code is looked up that has to do with a snippet."""
    chaos: Callable[[], ChaosSettings] | None = None
    """Asked when the first chaos tool is called. None: as the environment has it."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _model: Model | None = None
    _chaos: ChaosSession | None = None

    @property
    def reaches_out(self) -> bool:
        """Whether advice or an index may leave this machine."""
        return self.llm is not None or bool(os.environ.get(_VECTOR_SERVER, "").strip())

    def model(self) -> Model | None:
        """One for all calls, made at the first: what it is built on takes time to import."""
        if self.llm is None:
            return None
        with self._lock:
            if self._model is None:
                with IMPORTING:
                    from faultkit.llm.ask import Model

                self._model = Model(self.llm)
            return self._model

    def advisor(self, near: str | None = None) -> Advisor:
        """`near` is a file or folder of the project in question; without it, the one indexed last."""
        with IMPORTING:
            from faultkit.code.advice.advisor import Advisor

        model, place = self.model(), near or self.indexed
        if model is None or place is None:
            return Advisor(model)
        with IMPORTING:
            from faultkit.code.advice.context import context_of

        return Advisor(model, context=context_of(place, model, index_dir=self.index_dir))

    def chaos_session(self) -> ChaosSession:
        """One for all calls, opened at the first that needs it."""
        with self._lock:
            if self._chaos is None:
                with IMPORTING:
                    from faultkit.chaos.session import ChaosSession, usual_settings

                settings = usual_settings(os.environ) if self.chaos is None else self.chaos()
                self._chaos = ChaosSession(settings)
            return self._chaos

    def close(self) -> None:
        with self._lock:
            if self._chaos is not None:
                self._chaos.close()
            self._chaos = None
            if self._model is not None:
                self._model.close()
            self._model = None
