-- Who the person speaks with. Belongs to the organization.
create table personas (
  org_id     text not null,
  persona_id text not null,
  name       text not null,
  prompt     text not null,
  engagement text not null check (engagement in ('shared', 'off')),
  updated_at timestamptz not null,
  primary key (org_id, persona_id)
);

-- One stretch of conversation. `turn_count` counts the person's messages, `seq` the turns.
create table sessions (
  org_id           text not null,
  user_id          text not null,
  id               text not null,
  persona_id       text,
  started_at       timestamptz not null,
  last_activity_at timestamptz not null,
  ended_at         timestamptz,
  ended_by         text check (ended_by in ('idle', 'request')),
  turn_count       integer not null default 0,
  seq              bigint not null default 0,
  resumed_from     text,
  summary          jsonb,
  summarized_seq   bigint not null default 0,
  summarized_by    text,
  sources          text[] not null default '{}',
  primary key (org_id, user_id, id)
);
create index sessions_id on sessions (org_id, id);
create index sessions_started on sessions (org_id, user_id, started_at);
create index sessions_recent on sessions (org_id, last_activity_at);

-- What outlives the session, per person and persona; an empty persona stands for none.
create table session_states (
  org_id                   text not null,
  user_id                  text not null,
  persona                  text not null,
  message_count            integer not null default 0,
  last_interaction         timestamptz,
  last_user_message        text not null default '',
  curator_last_run_at      timestamptz,
  curator_last_count       integer,
  last_rolling_attempt_at  timestamptz,
  last_rolling_success_at  timestamptz,
  last_rolling_error       jsonb,
  rolling_summary          text not null default '',
  rolling_count            integer not null default 0,
  primary key (org_id, user_id, persona)
);

-- Every version of the rolling summary.
create table rolling_summaries (
  org_id        text not null,
  user_id       text not null,
  persona       text not null,
  message_count integer not null,
  text          text not null,
  carried       text[] not null,
  turn_id       text not null,
  at            timestamptz not null,
  sources       text[] not null,
  primary key (org_id, user_id, persona, message_count)
);

-- One exchange. `answering` is held by a lease that its stream renews.
create table turns (
  org_id        text not null,
  user_id       text not null,
  id            text not null,
  session_id    text not null,
  persona_id    text,
  seq           bigint not null,
  at            timestamptz not null,
  status        text not null check (status in ('answering', 'answered', 'interrupted', 'failed')),
  origin        text not null check (origin in ('chat', 'recorded', 'openai')),
  lease_until   timestamptz,
  waits_for     text[] not null default '{}',
  message_count integer not null,
  tool_results  jsonb not null default '[]',
  intents       jsonb not null default '[]',
  usage         jsonb,
  error         jsonb,
  recited       text,
  recorded_at   timestamptz not null,
  primary key (org_id, user_id, id),
  unique (org_id, user_id, session_id, seq)
);
create index turns_id on turns (org_id, id);
create index turns_recorded on turns (org_id, user_id, recorded_at);
create index turns_at on turns (org_id, at);

create table messages (
  org_id        text not null,
  user_id       text not null,
  id            text not null,
  session_id    text not null,
  turn_id       text not null,
  persona_id    text,
  place         integer not null,
  role          text not null check (role in ('user', 'assistant', 'tool')),
  content       text not null,
  name          text,
  tool_requests jsonb,
  tool_id       text,
  at            timestamptz not null,
  revision      bigint not null,
  primary key (org_id, user_id, id),
  unique (org_id, user_id, turn_id, place)
);
create index messages_id on messages (org_id, id);
create index messages_session on messages (org_id, user_id, session_id, at);
create index messages_revision on messages (org_id, user_id, revision);
