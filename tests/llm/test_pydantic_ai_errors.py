"""Whatever the library raises becomes an error that the retry policy knows."""

import pytest
from pydantic_ai import exceptions as library

from mnemon.llm.failure import REQUEST_ERRORS, AnswerDeclined, UnsupportedRequest, VendorRejected, classify_failure
from mnemon.llm.pydantic_ai_vendor import translate_errors


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (library.ModelRequestTimeout("m", 3.0), TimeoutError),
        (library.ModelTimeoutError("m", "late"), TimeoutError),
        (library.ModelConnectionError("m", "refused"), ConnectionError),
        (library.ModelHTTPError(500, "m", {}), VendorRejected),
        (library.ContentFilterError("no"), AnswerDeclined),
        (library.UserError("not so"), UnsupportedRequest),
        (library.UnexpectedModelBehavior("odd"), ValueError),
        (library.ModelAPIError("m", "odd"), ValueError),
        (AssertionError("args should be a dict"), ValueError),
        (KeyError("x"), KeyError),
    ],
)
def test_every_error_is_one_that_the_retry_policy_knows(raised: Exception, ours: type[Exception]) -> None:
    with pytest.raises(ours) as caught, translate_errors():
        raise raised
    assert isinstance(caught.value, REQUEST_ERRORS)


@pytest.mark.parametrize(
    ("category", "status", "again"),
    [
        (library.ModelRateLimitError, 429, True),
        (library.ModelQuotaExceededError, 429, False),
        (library.ModelQuotaExceededError, 402, False),
        (library.ModelServerError, 503, True),
    ],
)
def test_a_status_keeps_what_it_says(category: type[Exception], status: int, again: bool) -> None:
    error = library.ModelHTTPError.for_category(
        category,  # type: ignore[arg-type]
        status_code=status,
        model_name="m",
        headers={"retry-after": "7"},
    )
    with pytest.raises(VendorRejected) as caught, translate_errors():
        raise error
    failure = classify_failure(caught.value, "anthropic:m", 60)
    assert (caught.value.status, failure.again, failure.after) == (status, again, 7.0)
    assert failure.code == "model_unavailable"
