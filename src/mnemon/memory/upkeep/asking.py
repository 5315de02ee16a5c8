"""Asking a model for a structured answer, and taking only one that has the right shape."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from mnemon.errors import ModelDown
from mnemon.llm.protocol import Llm, Purpose, Question

A = TypeVar("A", bound=BaseModel)


async def ask(llm: Llm, shape: type[A], *, system: str, prompt: str, purpose: Purpose, by_rule: Callable[[], A]) -> A:
    """An answer of this shape; ModelDown when the model gives none, so that the work is tried again."""
    question = Question(
        title=str(shape.model_config.get("title")),
        schema=shape.model_json_schema(),
        system=system,
        prompt=prompt,
        purpose=purpose,
        by_rule=lambda: by_rule().model_dump(mode="json"),
    )
    answer = await llm.answer(question)
    try:
        return shape.model_validate(answer.value)
    except ValidationError as error:
        fields = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}))
        raise ModelDown(
            f"The model's answer is not a {question.title} (wrong: {fields or 'its form'}). It will be asked again.",
            code="answer_unusable",
        ) from None
