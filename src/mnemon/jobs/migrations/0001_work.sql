-- Queue, deduplication, retry, rescue and schedule in one table. It holds ids and times and no content, so it is the
-- one table that is read across organizations.
create table work (
  org_id      text not null,
  kind        text not null,
  key         text not null,
  job_id      text not null,
  lane        text,
  seq         bigint not null default 0,
  enqueued_at timestamptz not null,
  due_at      timestamptz not null,
  attempts    integer not null default 0,
  lease_until timestamptz,
  token       bigint not null default 0,
  again       boolean not null default false,
  parked_at   timestamptz,
  error       text,
  primary key (org_id, kind, key)
);
create unique index work_job on work (org_id, job_id);
create index work_due on work (due_at) where parked_at is null;
create index work_lane on work (org_id, lane, seq) where lane is not null and parked_at is null;
