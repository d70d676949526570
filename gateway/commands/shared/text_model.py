"""The language model of an agent, for who talks with it in text."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.agents.loading import Agent
    from gateway.backends.cascade.ports import LanguageModel


def model_of(agent: Agent, *, sound: bool = False) -> Callable[[], LanguageModel]:
    """Find what makes the agent's language model; raise ValueError where it has none in text."""
    from functools import partial

    from gateway.backends.cascade.parts import language_model
    from gateway.scenarios.text_call import scripted

    choice = agent.file.backend
    if choice.kind != "cascade":
        raise ValueError(f"{agent.name} has a {choice.kind} backend, which does not talk in text")
    if choice.model.get("kind", "scripted") == "scripted":
        return lambda: scripted(agent)
    if sound:  # time is virtual there, and no server waits for it
        raise ValueError(f"{agent.name} has no scripted model, which --sound needs")
    make = partial(language_model, agent, os.environ, choice.model, "backend.model")
    make()  # what is wrong with it is said before a call
    return make
