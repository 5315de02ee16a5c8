-- Which entity keys read as which. One row per merge in force; a split deletes it. Stored keys never change.
create table entity_aliases (
  org_id     text not null,
  user_id    text not null,
  alias      text not null,
  target     text not null,
  asked_from text not null,
  merge_id   text not null,
  made_by    text not null check (made_by in ('person', 'rule')),
  at         timestamptz not null,
  primary key (org_id, user_id, alias)
);

-- What was merged and split, by whom and why. The log stays where it was written: it is not exported.
create table entity_merges (
  org_id   text not null,
  user_id  text not null,
  id       text not null,
  source   text not null,
  target   text not null,
  made_by  text not null check (made_by in ('person', 'rule')),
  reasons  text[] not null,
  at       timestamptz not null,
  split_at timestamptz,
  primary key (org_id, user_id, id)
);

-- Pairs that look like one and that a person took apart: never merged by themselves again.
create table entities_kept_apart (
  org_id  text not null,
  user_id text not null,
  one     text not null,
  two     text not null,
  at      timestamptz not null,
  primary key (org_id, user_id, one, two),
  check (one < two)
);
