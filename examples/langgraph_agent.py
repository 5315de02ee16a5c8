"""A LangGraph agent that remembers across restarts: its thread by the saver, what it learned by the store.

pip install 'mnemon-client[langgraph]'; MNEMON_KEY=mnk_… python examples/langgraph_agent.py "My name is Ann"
"""

import asyncio
import operator
import os
import sys
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from mnemon_client import Mnemon
from mnemon_client.integrations.langgraph_saver import MnemonSaver
from mnemon_client.integrations.langgraph_store import MnemonStore


class Talk(TypedDict):
    messages: Annotated[list[str], operator.add]


async def answer(state: Talk, *, store: BaseStore) -> Talk:
    """Stands where a model would: learns names, greets by name, and knows how long you have been talking."""
    said = state["messages"][-1]
    if said.startswith("My name is "):
        await store.aput(("people",), "me", {"text": said, "name": said.removeprefix("My name is ")})
    known = await store.asearch(("people",), query="what is the person called")
    name = known[0].value["name"] if known else "stranger"
    return {"messages": [f"Hello {name}, this is message {len(state['messages'])} of our thread."]}


async def main(said: str) -> None:
    url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
    async with Mnemon(url, os.environ["MNEMON_KEY"], user_id="ann") as mnemon:
        graph = StateGraph(Talk).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END)
        agent = graph.compile(checkpointer=MnemonSaver(mnemon), store=MnemonStore(mnemon, index={"fields": ["text"]}))
        config: RunnableConfig = {"configurable": {"thread_id": "with-ann"}}
        print((await agent.ainvoke({"messages": [said]}, config))["messages"][-1])


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Hello"))
