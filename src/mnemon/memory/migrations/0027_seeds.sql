-- The profile an application loaded for a person, as it gave it; the memories it became have the source seeded_profile.
create table user_seeds (
  org_id     text not null,
  user_id    text not null,
  profile    jsonb not null,
  loaded_at  timestamptz not null,
  primary key (org_id, user_id)
);
