"""`/api/users/{id}/curator-runs`: what the curator folded and archived, from what and why."""

from typing import Annotated, Self

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for
from mnemon.api.models import ApiModel, Instant
from mnemon.api.users import UserId
from mnemon.memory.memory import StoredMemory
from mnemon.memory.upkeep.curator_report import MAX_RUNS, CuratorReport, ReportedFold, load_curator_reports

router = APIRouter(prefix="/api/users", tags=["users"], route_class=JsonRoute)


class ReportedMemoryOut(ApiModel):
    """A memory in a report, with the note of its last change."""

    id: str
    content: str
    status: str
    note: str | None

    @classmethod
    def from_memory(cls, memory: StoredMemory) -> Self:
        """Build the shape from a stored memory."""
        return cls(id=memory.id, content=memory.content, status=memory.status, note=memory.note)


class ReportedFoldOut(ReportedMemoryOut):
    """A fold, and the memories that were folded into it."""

    fragments: list[ReportedMemoryOut]

    @classmethod
    def from_fold(cls, fold: ReportedFold) -> Self:
        """Build the shape from a reported fold."""
        made = ReportedMemoryOut.from_memory(fold.memory)
        return cls(**dict(made), fragments=[ReportedMemoryOut.from_memory(one) for one in fold.fragments])


class CuratorRejectionOut(ApiModel):
    """A proposal that the gates rejected, and why."""

    what: str
    why: str


class CuratorRunOut(ApiModel):
    """One run of the curator; `madeBy` is the model, or `offline` for the rules."""

    id: str
    at: Instant
    made_by: str
    folds: list[ReportedFoldOut]
    archived: list[ReportedMemoryOut]
    rejected: list[CuratorRejectionOut]
    forgotten: int
    """How many folds and archived memories of the run were forgotten since then."""

    @classmethod
    def from_report(cls, report: CuratorReport) -> Self:
        """Build the response from a report."""
        return cls(
            id=report.id,
            at=report.at,
            made_by=report.made_by,
            folds=[ReportedFoldOut.from_fold(one) for one in report.folds],
            archived=[ReportedMemoryOut.from_memory(one) for one in report.archived],
            rejected=[CuratorRejectionOut(what=one.what, why=one.why) for one in report.rejected],
            forgotten=report.forgotten,
        )


@router.get("/{user_id:any}/curator-runs", responses=responses_for(list[CuratorRunOut]))
async def list_curator_runs(
    user_id: UserId,
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS)] = 50,
) -> Response:
    """List the latest runs of the curator for a person, newest first: what it folded, archived and rejected."""
    async with door.tx() as tx:
        found = await load_curator_reports(tx, door.person_scope(user_id), most=limit)
    return door.reply([CuratorRunOut.from_report(one) for one in found])
