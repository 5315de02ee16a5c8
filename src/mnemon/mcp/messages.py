"""What a JSON-RPC message from outside must be, the same over HTTP and stdio.

The MCP library answers some of what is checked here without a code of ours, and some not at all.
"""

import mcp_types as types
from pydantic import ValidationError

from mnemon.errors import Invalid, Malformed
from mnemon.input_checks import check_json, check_json_unicode, load_json

_NO_MESSAGE = 'This is no JSON-RPC message. Send an object with "jsonrpc": "2.0", "id", "method" and "params".'


def find_message_fault(body: bytes) -> Invalid | None:
    """Return the error for a body that is no JSON-RPC message within the limits, with what to send; None if it is."""
    try:
        # Python's parser would also take UTF-16, and bytes that encode half a surrogate pair; the library does not.
        message = load_json(body.decode("utf-8"))
        fault = _shape_fault(message)
        if fault is not None:
            return Malformed(fault, code="malformed_message")
        check_json_unicode(check_json(message))
    except UnicodeDecodeError:
        return Malformed("The body is not UTF-8. Send valid JSON in UTF-8.", code="malformed_json")
    except Invalid as error:
        return error
    return None


def fault_number(fault: Invalid) -> int:
    """Return the JSON-RPC number of a message's fault: it could not be parsed, or is no valid request."""
    return types.PARSE_ERROR if fault.code == "malformed_json" else types.INVALID_REQUEST


def answer_fault(fault: Invalid) -> types.JSONRPCError:
    """Return the JSON-RPC error for a line that is refused."""
    told = types.ErrorData(code=fault_number(fault), message=f"{fault.detail} ({fault.code})")
    # The id is null: the line could not be read, has none that can be used, or has the one of another request.
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=told)


def read_message(line: bytes) -> types.JSONRPCMessage:
    """Return the JSON-RPC message of a line; raise Invalid for one that is none, or beyond the limits."""
    fault = find_message_fault(line)
    if fault is not None:
        raise fault
    try:
        message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        raise Malformed(_NO_MESSAGE, code="malformed_message") from None
    return message


def _shape_fault(message: object) -> str | None:
    """Return why the JSON is no JSON-RPC message; None if it is one.

    The library takes a request whose id it cannot use for a notification: it answers 202 and does nothing.
    """
    if isinstance(message, list):
        return "MCP takes one message in a request, not a batch. Send each message in a request of its own."
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return _NO_MESSAGE
    identified = "id" in message and (
        isinstance(message["id"], str) or (isinstance(message["id"], int) and not isinstance(message["id"], bool))
    )
    if "id" in message and not identified and "error" not in message:
        return "The `id` of a request is a string or an integer. Send one, or leave it out for a notification."
    if not isinstance(message.get("method"), str) and not ({"result", "error"} & message.keys()):
        return "The message names no `method`. Send one, such as `tools/list`."
    if not isinstance(message.get("params"), dict | None):
        return "The `params` of a message are an object. Send them by name."
    return None
