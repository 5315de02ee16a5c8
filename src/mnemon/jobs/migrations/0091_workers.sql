-- Who is working: a row per runner, renewed every few seconds. It holds no content and belongs to no organization.
create table workers (
  worker_id  text not null primary key,
  started_at timestamptz not null,
  seen_at    timestamptz not null,
  claimed_at timestamptz not null,
  slots      integer not null,
  busy       integer not null
);
