create table organizations (
  org_id     text primary key,
  created_at timestamptz not null
);

create table keys (
  org_id     text not null references organizations (org_id),
  key_id     text not null,
  name       text not null,
  secret     bytea not null,
  grants     text[] not null,
  bound_user text,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  used_at    timestamptz,
  primary key (org_id, key_id),
  unique (org_id, secret)
);

create table audit (
  org_id text not null references organizations (org_id),
  id     text not null,
  at     timestamptz not null,
  actor  text not null,
  action text not null,
  target text,
  primary key (org_id, id)
);

-- The first answer to a request that named an Idempotency-Key, written in the transaction of its effect.
create table replies (
  org_id      text not null references organizations (org_id),
  caller      text not null,
  key         text not null,
  fingerprint bytea not null,
  status      integer,
  body        bytea,
  subject     text,
  expires_at  timestamptz not null,
  primary key (org_id, caller, key)
);
create index replies_expiry on replies (org_id, expires_at);
