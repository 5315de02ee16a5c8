"""The services a room may need besides its transaction, made once at start and passed down."""

from dataclasses import dataclass

from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.embedding.embedder import Embedder
from mnemon.llm.protocol import Llm
from mnemon.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Services:
    """Database, models, clock and settings of one process."""

    db: Database
    llm: Llm
    """The model for chat."""
    reflector: Llm
    """The model for everything after the turn: reflection, summaries, spine, curator. `llm`, or a cheaper one."""
    embedder: Embedder
    clock: Clock
    settings: Settings
