-- Which sources were withdrawn, so that a restored backup can be brought up to it. Goes with the person.
create table withdrawals (
  org_id  text not null,
  user_id text not null,
  id      text not null,
  origin  text not null,
  at      timestamptz not null,
  primary key (org_id, user_id, id)
);
-- No sample of it: the name of a source may hold people's words.
alter table withdrawals alter column origin set statistics 0;

-- What this database cannot know because it was restored where nothing told what had happened since its backup.
create table restore_gaps (
  subject text not null check (subject in ('forgettings', 'revocations', 'withdrawals')),
  since   timestamptz not null,
  primary key (subject)
);
