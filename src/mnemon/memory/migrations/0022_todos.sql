-- What was promised, is done regularly, was left open or is in the way, told to one persona or to none.
create table todos (
  org_id     text not null,
  user_id    text not null,
  id         text not null,
  persona_id text,
  kind       text not null check (kind in ('commitment', 'habit', 'thread', 'friction')),
  content    text not null,
  todo_key   text not null,
  status     text not null default 'open' check (status in ('open', 'done', 'dropped')),
  source     text not null,
  turn_id    text,
  message_id text,
  quote      text,
  closing_turn_id text,
  closing_quote   text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  closed_at  timestamptz,
  primary key (org_id, user_id, id)
);
create index todos_by_id on todos (org_id, id);
create unique index todos_open on todos (org_id, user_id, persona_id, todo_key) nulls not distinct where status = 'open';
