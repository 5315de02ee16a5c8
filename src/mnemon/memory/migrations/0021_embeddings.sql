-- Vectors of every model side by side. Inline, since a vector fetched out of line costs two to three times the scan.
-- kind 'memory' and 'message' are keyed by their id, kind 'version' by '<memory id>/<number>'.
create table embeddings (
  org_id   text not null,
  user_id  text not null,
  model    text not null,
  kind     text not null check (kind in ('memory', 'message', 'version')),
  id       text not null,
  vector   halfvec not null,
  revision bigint not null,
  primary key (org_id, user_id, model, kind, id)
);
alter table embeddings alter column vector set storage plain;
-- What an index in process has not seen yet.
create index embeddings_revision on embeddings (org_id, user_id, revision);
