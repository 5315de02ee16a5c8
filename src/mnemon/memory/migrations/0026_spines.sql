-- Every version of the long-term summary: lines with the ids of what they were made from.
create table spines (
  org_id         text not null,
  user_id        text not null,
  version        integer not null,
  lines          jsonb not null,
  sources        text[] not null,
  message_count  integer not null,
  total_messages bigint not null,
  made_by        text not null,
  rejected       jsonb not null,
  at             timestamptz not null,
  primary key (org_id, user_id, version)
);
