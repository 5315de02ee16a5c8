"""The client repeats a request whose response was lost, and it takes effect once."""

from collections.abc import Callable
from typing import Any

import pytest

from mnemon_client import SyncMnemon, Unreachable
from support.lossy_proxy import LossyProxy, lossy_proxy
from support.served import Served


def lost_once(proxy: LossyProxy, call: Callable[[], Any]) -> Any:
    """Return what the call gives although its first response is lost; its attempts had one key."""
    proxy.lose, proxy.keys = 1, []
    answer = call()
    assert len(proxy.keys) == 2
    assert len(set(proxy.keys)) == 1
    assert proxy.keys[0] is not None
    return answer


def test_forgetting_succeeds_although_its_first_response_was_lost(server: Served) -> None:
    with lossy_proxy(server.url) as proxy, SyncMnemon(proxy.url, server.key(), user_id="ann") as m:
        memory = m.remember("Keeps bees")
        assert lost_once(proxy, lambda: m.forget(memory["id"]))["removed"]["memories"] == 1
        assert lost_once(proxy, lambda: m.forget_person("ann"))["removed"]["users"] == 1


def test_changes_are_made_once_although_their_first_response_was_lost(server: Served) -> None:
    with lossy_proxy(server.url) as proxy, SyncMnemon(proxy.url, server.key(), user_id="ann") as m:
        session = m.turn([{"role": "user", "content": "Hi"}])["sessionId"]
        version = m.agent_state(session)["version"]
        noted = {"agent_state_item_updates": [{"op": "add", "item": {"kind": "question", "title": "Which board?"}}]}
        # Without its key the second attempt would name a version that the first one replaced.
        state = lost_once(proxy, lambda: m.patch_agent_state(session, noted, version=version))
        assert state["version"] == version + 1
        agent = m.create_agent(name="Scout")
        assert lost_once(proxy, lambda: m.delete_agent(agent["id"]))["deleted"] is True


@pytest.mark.scripted
def test_a_stream_that_did_not_begin_is_opened_again_and_its_message_is_stored_once(server: Served) -> None:
    server.script.add_replies("Hello Ann!")
    with lossy_proxy(server.url) as proxy, SyncMnemon(proxy.url, server.key(), user_id="ann") as m:

        def streamed() -> str:
            with m.stream("Hi") as events:
                return "".join(event.data["text"] for event in events if event.kind == "delta")

        assert lost_once(proxy, streamed) == "Hello Ann!"
        (session,) = m.sessions()
        messages = m.request("GET", f"/api/sessions/{session['id']}/messages")
        assert [one["role"] for one in messages] == ["user", "assistant"]


@pytest.mark.scripted
def test_a_stream_that_broke_after_it_began_is_not_repeated(server: Served) -> None:
    server.script.add_replies("Hello Ann!")
    with lossy_proxy(server.url) as proxy, SyncMnemon(proxy.url, server.key(), user_id="ann") as m:
        proxy.lose, proxy.lose_within = 1, True
        with pytest.raises(Unreachable, match="broke off"), m.stream("Hi") as events:
            list(events)
        assert len(proxy.keys) == 1
