-- JSON that a program keeps for a person. `place` is the order of first writing.
create table notes (
  org_id     text not null,
  user_id    text not null,
  namespace  text[] not null,
  key        text not null,
  value      jsonb not null,
  place      bigint generated always as identity,
  version    integer not null default 1,
  ttl_s      double precision,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (org_id, user_id, namespace, key),
  foreign key (org_id, user_id) references users (org_id, user_id)
);
create index notes_place on notes (org_id, user_id, place);
create index notes_expiry on notes (org_id, expires_at) where expires_at is not null;

-- Vectors of a note, one for each part of it that is searched. Model 'caller': made by the program itself.
create table note_vectors (
  org_id    text not null,
  user_id   text not null,
  namespace text[] not null,
  key       text not null,
  model     text not null,
  part      text not null,
  vector    vector not null,
  primary key (org_id, user_id, namespace, key, model, part),
  foreign key (org_id, user_id, namespace, key) references notes (org_id, user_id, namespace, key) on delete cascade
);
