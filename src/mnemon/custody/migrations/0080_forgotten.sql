-- The ledger of forgetting: ids, offsets and hashes, never a word of what was forgotten. Belongs to the organization, so
-- that it outlives the person; a restored backup is brought up to it.
create table forgotten (
  org_id     text not null,
  id         text not null,
  kind       text not null check (kind in ('person', 'memory')),
  subject    text not null,
  memory_ids text[] not null,
  spans      jsonb not null,
  stones     bytea[] not null,
  receipt    jsonb not null,
  at         timestamptz not null,
  primary key (org_id, id)
);
create index forgotten_subject on forgotten (org_id, subject);
