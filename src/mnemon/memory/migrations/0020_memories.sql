-- What is held true under a key, for one person and one persona or none. The row is what is current (or archived);
-- what it replaced stands in memory_versions.
create table memories (
  org_id         text not null,
  user_id        text not null,
  id             text not null,
  persona_id     text,
  type           text not null check (type in ('PROFILE', 'PEOPLE', 'PROJECT')),
  content        text not null,
  entity_refs    text[] not null default '{}',
  entity_label   text,
  entity_type    text not null,
  fact_type      text not null,
  attribute      text,
  importance     smallint not null check (importance between 0 and 3),
  pinned         boolean not null default false,
  memory_key     text not null,
  source         text not null,
  trust          text not null check (trust in ('person', 'external')),
  status         text not null default 'ACTIVE' check (status in ('ACTIVE', 'ARCHIVED')),
  archive_reason text check (archive_reason in ('outdated', 'wrong', 'folded', 'unwanted')),
  archived_at    timestamptz,
  note           text,
  confidence     double precision not null check (confidence between 0 and 1),
  mentions       integer not null default 1,
  valid_from     timestamptz not null,
  valid_to       timestamptz,
  stated_at      timestamptz not null,
  version        integer not null default 1,
  versions       integer not null default 1,
  sources        text[] not null default '{}',
  revision       bigint not null,
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  recorded_at    timestamptz not null,
  primary key (org_id, user_id, id),
  unique nulls not distinct (org_id, user_id, persona_id, memory_key),
  check (not pinned or (importance = 3 and status = 'ACTIVE')),
  check ((status = 'ARCHIVED') = (archive_reason is not null and archived_at is not null))
);
create index memories_by_id on memories (org_id, id);
create index memories_revision on memories (org_id, user_id, revision);
create index memories_latest on memories (org_id, updated_at desc, id desc);
create index memories_survey on memories (org_id, status, type, source, persona_id, pinned, user_id);
create index memories_weighty on memories (org_id, user_id) where status = 'ACTIVE' and importance >= 2;

-- What was held true for a time and is no more. Numbers count in the order of recording.
create table memory_versions (
  org_id       text not null,
  user_id      text not null,
  memory_id    text not null,
  number       integer not null,
  content      text not null,
  importance   smallint not null,
  confidence   double precision not null,
  source       text not null,
  trust        text not null,
  valid_from   timestamptz not null,
  valid_to     timestamptz not null,
  reason       text,
  recorded_at  timestamptz not null,
  primary key (org_id, user_id, memory_id, number),
  foreign key (org_id, user_id, memory_id) references memories (org_id, user_id, id) on delete cascade
);

-- Where a memory was said: the message, the place in it and the words. One row per statement, so that applying the
-- same reflection twice counts once.
create table memory_provenance (
  org_id       text not null,
  user_id      text not null,
  memory_id    text not null,
  message_id   text not null,
  starts       integer not null,
  ends         integer not null,
  content_hash text not null,
  turn_id      text not null,
  session_id   text not null,
  quote        text not null,
  at           timestamptz not null,
  primary key (org_id, user_id, memory_id, message_id, starts, ends, content_hash),
  foreign key (org_id, user_id, memory_id) references memories (org_id, user_id, id) on delete cascade
);
create index memory_provenance_turn on memory_provenance (org_id, user_id, turn_id);
