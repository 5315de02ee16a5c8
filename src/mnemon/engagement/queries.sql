-- name: begin
-- The organization's row, without a document; nothing happens where there is one.
insert into engagements (org_id, seq, heard, document, updated_at)
values (%(org_id)s, 0, 0, null, %(now)s)
on conflict (org_id) do nothing

-- name: locked
-- The row, locked until the transaction ends: writers of one organization queue here.
select seq, heard, document from engagements where org_id = %(org_id)s for update

-- name: current
select seq, heard, document from engagements where org_id = %(org_id)s

-- name: keep
update engagements set seq = %(seq)s, heard = %(heard)s, document = %(document)s, updated_at = %(now)s
where org_id = %(org_id)s

-- name: append
insert into engagement_journal (org_id, seq, at, recorded_at, turn_id, subject_user_id, who, reason, delta)
values (%(org_id)s, %(seq)s, %(at)s, %(now)s, %(turn_id)s, %(user_id)s, %(who)s, %(reason)s, %(delta)s)

-- name: hear
-- One more user turn; touches nothing when it was heard before.
insert into engagement_turns (org_id, turn_id, subject_user_id, at, has_content)
values (%(org_id)s, %(turn_id)s, %(user_id)s, %(at)s, %(has_content)s)
on conflict (org_id, turn_id) do nothing

-- name: entries
-- The journal after a place and up to a time, oldest first.
select seq, at, turn_id, subject_user_id, who, reason, delta from engagement_journal
where org_id = %(org_id)s and seq > %(after)s and (%(until)s::timestamptz is null or at <= %(until)s)
order by seq limit %(most)s

-- name: latest_entries
-- The end of the journal, newest first.
select seq, at, turn_id, subject_user_id, who, reason, delta from engagement_journal
where org_id = %(org_id)s order by seq desc limit %(most)s

-- name: forget_entries
delete from engagement_journal where org_id = %(org_id)s and seq = any(%(seqs)s)

-- name: forget_person_entries
delete from engagement_journal where org_id = %(org_id)s and subject_user_id = %(user_id)s

-- name: forget_person_turns
with gone as (
  delete from engagement_turns where org_id = %(org_id)s and subject_user_id = %(user_id)s returning has_content
)
select count(*) as turns, count(*) filter (where has_content) as heard from gone
