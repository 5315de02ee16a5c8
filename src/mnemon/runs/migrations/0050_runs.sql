create table agents (
  org_id         text not null references organizations (org_id),
  agent_id       text not null,
  name           text not null,
  adapter        text not null,
  skill          text not null,
  default_prompt text not null,
  schedule       text,
  next_slot      timestamptz,
  role           text not null,
  team           text[] not null,
  card_type      text not null,
  config         jsonb not null,
  asked          bigint not null default 0,
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  primary key (org_id, agent_id)
);

-- One per agent: the session that its chat and its runs share while Active Memory is on.
create table chat_sessions (
  org_id        text not null,
  agent_id      text not null,
  session_id    text,
  generation    integer not null default 0,
  last_reset_at timestamptz,
  updated_at    timestamptz,
  primary key (org_id, agent_id),
  foreign key (org_id, agent_id) references agents (org_id, agent_id) on delete cascade
);

-- What a session of the model adapter holds; the Claude CLI keeps its own.
create table transcripts (
  org_id     text not null,
  agent_id   text not null,
  session_id text not null,
  seq        integer not null,
  message    jsonb not null,
  at         timestamptz not null,
  primary key (org_id, agent_id, session_id, seq),
  foreign key (org_id, agent_id) references agents (org_id, agent_id) on delete cascade
);

-- A chat with an agent: one message and its reply.
create table exchanges (
  org_id            text not null,
  turn_id           text not null,
  agent_id          text not null,
  status            text not null,
  session_id_before text,
  session_id_after  text,
  memory_generation integer,
  usage             jsonb not null,
  created_at        timestamptz not null,
  finished_at       timestamptz,
  error             text,
  primary key (org_id, turn_id),
  foreign key (org_id, agent_id) references agents (org_id, agent_id) on delete cascade
);

-- What was said in the chat; it stays visible when the memory is reset.
create table agent_messages (
  org_id     text not null,
  message_id text not null,
  agent_id   text not null,
  turn_id    text not null,
  seq        bigint generated always as identity,
  role       text not null,
  content    text not null,
  at         timestamptz not null,
  primary key (org_id, message_id),
  foreign key (org_id, turn_id) references exchanges (org_id, turn_id) on delete cascade
);
create index agent_messages_order on agent_messages (org_id, agent_id, seq);

create table runs (
  org_id            text not null,
  run_id            text not null,
  seq               bigint generated always as identity,
  agent_id          text not null,
  kind              text not null,
  status            text not null,
  prompt            text not null,
  slot              timestamptz,
  session_id_before text,
  session_id_after  text,
  memory_generation integer,
  parent_run_id     text,
  card_type         text not null,
  result            jsonb,
  headline          text,
  resolution_status text,
  outcome           text,
  resolved_at       timestamptz,
  resolution_note   text,
  symbol            text,
  usage             jsonb not null,
  created_at        timestamptz not null,
  started_at        timestamptz,
  finished_at       timestamptz,
  error             text,
  primary key (org_id, run_id),
  unique (org_id, agent_id, slot),
  foreign key (org_id, agent_id) references agents (org_id, agent_id) on delete cascade,
  foreign key (org_id, parent_run_id) references runs (org_id, run_id) on delete cascade
);
create index runs_of_agent on runs (org_id, agent_id, seq);
create index runs_in_order on runs (org_id, seq);
create index runs_of_parent on runs (org_id, parent_run_id, seq) where parent_run_id is not null;
create index runs_counted on runs (org_id, agent_id, memory_generation) where status = 'succeeded';
create index runs_ended on runs (org_id, seq) where resolution_status in ('resolved', 'expired');
create index runs_busy on runs (org_id, agent_id) where status in ('queued', 'running');
create index runs_open on runs (org_id, symbol) where resolution_status = 'open';

-- What a decision said is never changed afterwards, by no statement of ours and by no hand.
create function keep_result() returns trigger language plpgsql as $$
begin
  if old.status = 'succeeded' and (new.result is distinct from old.result or new.status <> old.status
      or new.card_type <> old.card_type or new.headline is distinct from old.headline) then
    raise exception 'run % has succeeded; its result does not change', old.run_id using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger runs_keep_result before update on runs for each row execute function keep_result();

-- What could be seen of a run or a chat while it went on.
create table run_events (
  org_id   text not null,
  run_id   text not null,
  seq      bigint generated always as identity,
  agent_id text not null,
  at       timestamptz not null,
  type     text not null,
  data     jsonb not null,
  primary key (org_id, run_id, seq),
  foreign key (org_id, agent_id) references agents (org_id, agent_id) on delete cascade
);

-- The credential of a run while it runs: a hash, gone with the run.
create table run_tokens (
  org_id   text not null,
  digest   bytea not null,
  run_id   text not null,
  agent_id text not null,
  primary key (org_id, digest),
  foreign key (org_id, run_id) references runs (org_id, run_id) on delete cascade
);

create table prices (
  org_id text not null references organizations (org_id),
  symbol text not null,
  at     timestamptz not null,
  price  double precision not null,
  low    double precision not null,
  high   double precision not null,
  primary key (org_id, symbol, at, price)
);
