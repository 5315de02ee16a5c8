-- A person of an organization. `revision` moves with every write that recall can see, `forgettings` with every one that
-- takes something out: text that was made meanwhile from what is gone is not written.
create table users (
  org_id      text not null,
  user_id     text not null,
  external_id text not null,
  revision    bigint not null default 0,
  forgettings bigint not null default 0,
  created_at  timestamptz not null,
  primary key (org_id, user_id)
);
create index users_external on users (org_id, external_id);
