-- What the curator did, run by run.
create table curator_runs (
  org_id   text not null,
  user_id  text not null,
  id       text not null,
  folded   text[] not null,
  archived text[] not null,
  rejected jsonb not null,
  made_by  text not null,
  at       timestamptz not null,
  primary key (org_id, user_id, id)
);
