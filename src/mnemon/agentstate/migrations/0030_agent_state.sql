-- What an agent holds true in a session: the fold of its journal. `version` is the seq of the last entry.
create table agent_states (
  org_id     text not null,
  user_id    text not null,
  session_id text not null,
  version    bigint not null,
  document   jsonb not null,
  updated_at timestamptz not null,
  primary key (org_id, user_id, session_id)
);
create index agent_states_session on agent_states (org_id, session_id);

-- Every change, as effects after the gates: folding `update` in the order of seq gives the document.
create table agent_state_journal (
  org_id      text not null,
  user_id     text not null,
  session_id  text not null,
  seq         bigint not null,
  turn_id     text,
  who         text not null,
  reason      text not null,
  update      jsonb not null,
  at          timestamptz not null,
  recorded_at timestamptz not null,
  primary key (org_id, user_id, session_id, seq),
  foreign key (org_id, user_id, session_id)
    references agent_states (org_id, user_id, session_id) on delete cascade
);
create index agent_state_journal_turn on agent_state_journal (org_id, user_id, turn_id);
