"""The two kinds of task that an agent performs, as `task_job.py` asks for them: runs, and replies in its chat."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from mnemon.db.tx import Tx
from mnemon.jobs import store as work
from mnemon.runs import agent_store, store
from mnemon.runs.adapter import DecisionReview, RunFailed, TaskOutcome
from mnemon.runs.agent import Agent
from mnemon.runs.card import CardDefinition, CardTypes, load_cards
from mnemon.runs.card_filling import with_actions
from mnemon.runs.decision_outcomes import EXPIRY_KIND
from mnemon.runs.decisions import format_review, list_agent_decisions
from mnemon.runs.prompt import consultation_prompt
from mnemon.runs.re_examination import blind_prompt, blind_subject
from mnemon.runs.resolution import expiry_time, initial_status, position_of
from mnemon.runs.run import ChatExchange, Run, RunKind, RunStatus, RunUsage, require_transition
from mnemon.runs.run_requests import AGENT_CHAT_KIND, RUN_KIND, get_run, record_status
from mnemon.runs.task_job import TaskPlan
from mnemon.runs.tokens import issue_token
from mnemon.scope import Scope
from mnemon.services import Services

log = structlog.get_logger(__name__)


class RunTasks:
    """Runs: they fill a card, consult a council, review earlier decisions and open a decision."""

    name = RUN_KIND
    gave_up = "The server could not run it"

    def __init__(self, services: Services) -> None:
        self._db = services.db
        self._cards: CardTypes = load_cards(services.settings.cards_dir)

    async def find_record(self, tx: Tx, scope: Scope, task_id: str, *, locked: bool = False) -> Run | None:
        """Return the run or None; `locked` locks its agent and then its row."""
        return await (store.find_locked_run if locked else store.find_run)(tx, scope, task_id)

    async def plan_task(self, tx: Tx, scope: Scope, record: Run, agent: Agent, team: list[Agent]) -> TaskPlan:
        """Return what a run asks of its agent: prompt, card, council. Raise RunFailed when its card type is gone."""
        if record.card_type not in self._cards:
            raise RunFailed(f"The card type {record.card_type} is not known any more; put its file back.")
        parent = await get_run(tx, scope, record.parent_run_id) if record.parent_run_id else None
        return TaskPlan(
            prompt=record.prompt,
            card=self._card_for(record, parent),
            council=tuple((member, self._specialist_prompt(member, record, parent)) for member in team),
            blind=record.kind is RunKind.RE_EXAMINATION,
            review=await self._open_review(tx, scope, record, agent),
            read_only=agent.config.memory_read_only,
        )

    def started_record(self, record: Run, now: datetime) -> Run:
        """Return a copy of the run with its start set to `now`; nothing is stored."""
        return replace(record, started_at=now)

    def requeued_record(self, record: Run) -> Run | None:
        """Return a copy of the run as queued, with no start time; nothing is stored."""
        return replace(record, status=require_transition(record.id, record.status, RunStatus.QUEUED), started_at=None)

    async def store_record(
        self, tx: Tx, scope: Scope, record: Run, *, code: str | None = None, symbol: str | None = None
    ) -> None:
        """Write the run and an event with its status and its error's code; delete its tokens unless it is running.

        `symbol` is the market whose prices can end its open position.
        """
        await store.update_run(tx, scope, record, symbol=symbol)
        if record.status is not RunStatus.RUNNING:
            await store.delete_tokens(tx, scope, record.id)
        await record_status(tx, scope, record, code=code)

    async def store_success(self, tx: Tx, scope: Scope, record: Run, plan: TaskPlan, outcome: TaskOutcome) -> None:
        """Store a run that succeeded with its card, as an open decision; enqueue its expiry if it has one."""
        assert plan.card is not None  # every run has one
        values = outcome.answer or {}
        status = initial_status(plan.card, values)
        position = position_of(plan.card, values, tx.now)
        headline = plan.card.format_headline(values)
        done = replace(record, result=values, headline=headline, resolution_status=status)
        await self.store_record(tx, scope, done, symbol=position.symbol if position else None)
        expires = expiry_time(plan.card, values)
        if status is not None and expires is not None:
            # One millisecond later, because a price at the very moment of expiry still counts.
            await work.enqueue_work(tx, scope, EXPIRY_KIND, record.id, due_at=expires + timedelta(milliseconds=1))

    def log_end(self, record: Run, status: RunStatus, usage: RunUsage, code: str | None) -> None:
        """Log how the run ended: the code of its error but not the text, which may quote the agent."""
        log.log(
            logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
            "run_finished",
            run=record.id,
            agent=record.agent_id,
            kind=str(record.kind),
            status=str(status),
            code=code,
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            ms=round(usage.latency_ms, 1),
        )

    def _card_for(self, run: Run, parent: Run | None) -> CardDefinition:
        """Return the card that a run must fill; for a re-examination, with the actions the parent's card allows."""
        card = self._cards[run.card_type]
        parent_card = self._cards.get(parent.card_type) if parent else None
        return with_actions(card, parent_card.re_examine_actions) if parent_card else card

    def _specialist_prompt(self, member: Agent, run: Run, parent: Run | None) -> str:
        """Return what to ask a specialist; in a re-examination, a prompt that does not tell the decision."""
        if run.kind is not RunKind.RE_EXAMINATION:
            return consultation_prompt(member, run.prompt)
        card = self._cards.get(parent.card_type) if parent else None
        subject = blind_subject(card, parent.result or {}) if card and parent else None
        return blind_prompt(member, subject)

    async def _open_review(self, tx: Tx, scope: Scope, run: Run, agent: Agent) -> DecisionReview | None:
        """Return access to the agent's decisions, with a fresh token, if the agent reviews them."""
        if not agent.config.review_decisions:
            return None

        async def read_decisions() -> str:
            """Return the agent's latest decisions as text for its tool."""
            async with self._db.tx(scope.org_id) as reading:
                return format_review(await list_agent_decisions(reading, scope, agent.id, self._cards))

        return DecisionReview(read=read_decisions, token=await issue_token(tx, scope, run_id=run.id, agent_id=agent.id))


class ChatReplies:
    """Replies in an agent's chat: plain text, in the session that the agent's runs share with it."""

    name = AGENT_CHAT_KIND
    gave_up = "The server could not answer"

    async def find_record(self, tx: Tx, scope: Scope, task_id: str, *, locked: bool = False) -> ChatExchange | None:
        """Return the chat turn or None; `locked` locks its agent and then its row."""
        return await (store.find_locked_exchange if locked else agent_store.find_exchange)(tx, scope, task_id)

    async def plan_task(self, tx: Tx, scope: Scope, record: ChatExchange, agent: Agent, team: list[Agent]) -> TaskPlan:
        """Return the user's chat message as the prompt of the reply. Raise RunFailed when the message is gone."""
        message = await agent_store.find_turn_message(tx, scope, record.id, "user")
        if message is None:
            raise RunFailed("The message was deleted before it could be answered.")
        return TaskPlan(prompt=message.content)

    def started_record(self, record: ChatExchange, now: datetime) -> ChatExchange:
        """Return the chat turn unchanged, since its start time is not stored."""
        return record

    def requeued_record(self, record: ChatExchange) -> ChatExchange | None:
        """Return None: a watcher gives up a queued turn that nobody works on, so this one stays running."""
        return None

    async def store_record(self, tx: Tx, scope: Scope, record: ChatExchange, *, code: str | None = None) -> None:
        """Write the chat turn's row, which notifies its watchers; `code` is not stored."""
        await agent_store.update_exchange(tx, scope, record)

    async def store_success(
        self, tx: Tx, scope: Scope, record: ChatExchange, plan: TaskPlan, outcome: TaskOutcome
    ) -> None:
        """Store the agent's reply as a message of its chat, and the chat turn as answered."""
        await agent_store.insert_message(tx, scope, record.agent_id, record.id, "assistant", outcome.reply)
        await agent_store.update_exchange(tx, scope, record)

    def log_end(self, record: ChatExchange, status: RunStatus, usage: RunUsage, code: str | None) -> None:
        """Log how an agent's chat reply ended: status, code of the error, tokens and time."""
        log.log(
            logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
            "agent_replied",
            turn=record.id,
            agent=record.agent_id,
            status=str(status),
            code=code,
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            ms=round(usage.latency_ms, 1),
        )
