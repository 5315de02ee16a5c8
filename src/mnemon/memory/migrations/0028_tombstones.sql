-- Hashes of what was forgotten, so that a reflection run again does not bring it back.
create table tombstones (
  org_id  text not null,
  user_id text not null,
  hash    bytea not null,
  at      timestamptz not null,
  primary key (org_id, user_id, hash)
);
