"""What a scripted model was asked."""

from mnemon.llm.scripted.script import ScriptedRequest


def turn_of(asked: ScriptedRequest) -> str:
    """The part of a reflection's prompt that shows the turn itself, after what is held and what came before."""
    return asked.prompt.rpartition("The turn, at ")[2]
