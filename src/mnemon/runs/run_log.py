"""The line that a run, and a reply in an agent's chat, leaves in the log: whose, how it ended, what it cost."""

import logging

import structlog

from mnemon.runs.run import Run, RunStatus, RunUsage

log = structlog.get_logger(__name__)


def log_run(run: Run, status: RunStatus, usage: RunUsage, code: str | None) -> None:
    """Log a run that is over; the code says why one failed, its words may quote the agent."""
    log.log(
        logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
        "run_finished",
        run=run.id,
        agent=run.agent_id,
        kind=str(run.kind),
        status=str(status),
        code=code,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        ms=round(usage.latency_ms, 1),
    )


def log_agent_reply(turn_id: str, agent_id: str, status: RunStatus, usage: RunUsage, code: str | None) -> None:
    """Log a message in an agent's chat that was answered, or could not be."""
    log.log(
        logging.INFO if status is RunStatus.SUCCEEDED else logging.WARNING,
        "agent_replied",
        turn=turn_id,
        agent=agent_id,
        status=str(status),
        code=code,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        ms=round(usage.latency_ms, 1),
    )
