-- How far the reflection of a turn is, and what it did. `raw` is the model's answer, kept before anything is applied.
create table reflections (
  org_id     text not null,
  user_id    text not null,
  turn_id    text not null,
  job_id     text not null,
  status     text not null check (status in ('queued', 'running', 'done', 'failed', 'parked')),
  attempts   integer not null default 0,
  sections   jsonb not null default '{}',
  rejected   jsonb not null default '[]',
  raw        jsonb not null default '{}',
  usage      jsonb,
  error      text,
  updated_at timestamptz not null,
  primary key (org_id, user_id, turn_id)
);
create index reflections_turn on reflections (org_id, turn_id);
create index reflections_open on reflections (org_id, updated_at) where status <> 'done';
create index reflections_updated on reflections (org_id, updated_at);
