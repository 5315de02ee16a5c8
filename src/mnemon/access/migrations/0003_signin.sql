-- Links that sign a person in to the console once, and the console sessions they open. Only hashes are kept.
create table signins (
  org_id     text not null references organizations (org_id),
  digest     bytea not null,
  kind       text not null check (kind in ('link', 'session')),
  actor      text not null,
  grants     text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (org_id, digest)
);
