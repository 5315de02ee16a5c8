"""Request a structured answer of a known shape, and a second time with the fault if the first does not fit."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from mnemon.errors import ModelDown
from mnemon.input_checks import describe_validation_error, storable_json
from mnemon.llm.protocol import Json, Llm, LlmQuestion, Purpose

log = structlog.get_logger(__name__)

A = TypeVar("A", bound=BaseModel)


async def request_structured_answer(
    llm: Llm, shape: type[A], *, schema: Json, system: str, prompt: str, purpose: Purpose, by_rule: Callable[[], A]
) -> A:
    """Return the model's answer in this shape; raise ModelDown when a second one does not fit either.

    `schema` is what is sent: titled, and the same object every time, since its encoding is kept by its identity.
    """
    # Only one retry here: after ModelDown the job as a whole is tried again later.
    question = LlmQuestion(
        title=str(schema["title"]),
        schema=schema,
        system=system,
        prompt=prompt,
        purpose=purpose,
        by_rule=lambda: by_rule().model_dump(mode="json"),
    )
    try:
        return await _request_once(llm, shape, question)
    except ValidationError as error:
        fault = describe_validation_error(error)
        # Only the number of faults is logged: their texts quote the answer.
        log.info("answer_rejected", model=llm.name, title=question.title, faults=error.error_count())
    again = f"{prompt}\n\nYour previous answer could not be used: {fault}. Give it again, corrected."
    try:
        return await _request_once(llm, shape, replace(question, prompt=again))
    except ValidationError as error:
        log.warning("answer_rejected", model=llm.name, title=question.title, faults=error.error_count())
        raise ModelDown(
            f"{llm.name} gave no {question.title} that can be used: {describe_validation_error(error)}. "
            "It will be asked again later.",
            code="model_answer_unusable",
        ) from None


async def _request_once(llm: Llm, shape: type[A], question: LlmQuestion) -> A:
    """Return the model's answer to one question; raise ValidationError when it does not have the shape."""
    return shape.model_validate(storable_json((await llm.answer(question)).value))
