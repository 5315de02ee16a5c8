-- What is believed about an organization: the fold of its journal. Reflections of one organization queue on this row.
create table engagements (
  org_id     text not null,
  seq        bigint not null,
  heard      bigint not null,
  document   jsonb,
  updated_at timestamptz not null,
  primary key (org_id)
);

-- Every change, as effects after the gates. `subject_user_id` is the person whose turn it came from: forgetting them
-- removes the row.
create table engagement_journal (
  org_id          text not null,
  seq             bigint not null,
  at              timestamptz not null,
  recorded_at     timestamptz not null,
  turn_id         text,
  subject_user_id text,
  who             text not null,
  reason          text not null,
  delta           jsonb not null,
  primary key (org_id, seq),
  foreign key (org_id) references engagements (org_id)
);
create index engagement_journal_turn on engagement_journal (org_id, turn_id);
create index engagement_journal_subject on engagement_journal (org_id, subject_user_id);

-- The user turns that entered the engagement, each once.
create table engagement_turns (
  org_id          text not null,
  turn_id         text not null,
  subject_user_id text not null,
  at              timestamptz not null,
  primary key (org_id, turn_id)
);
create index engagement_turns_subject on engagement_turns (org_id, subject_user_id);
