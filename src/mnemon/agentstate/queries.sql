-- name: begin_state
-- A session's first document, empty; nothing happens where there is one.
insert into agent_states (org_id, user_id, session_id, version, document, updated_at)
values (%(org_id)s, %(user_id)s, %(session_id)s, 0, %(document)s, %(now)s)
on conflict (org_id, user_id, session_id) do nothing

-- name: state
select version, document, updated_at from agent_states
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s

-- name: locked_state
-- The same, locked until the transaction ends: writers of one session queue here.
select version, document, updated_at from agent_states
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s
for update

-- name: keep_state
update agent_states set version = %(version)s, document = %(document)s, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s

-- name: append
insert into agent_state_journal (org_id, user_id, session_id, seq, turn_id, who, reason, update, at, recorded_at)
values (%(org_id)s, %(user_id)s, %(session_id)s, %(seq)s, %(turn_id)s, %(who)s, %(reason)s, %(update)s, %(at)s, %(now)s)

-- name: entries
-- The journal after a place, oldest first.
select seq, turn_id, who, reason, update, at, recorded_at from agent_state_journal
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s and seq > %(after)s
order by seq limit %(most)s

-- name: turn_is_in
select 1 from agent_state_journal
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s
  and turn_id = %(turn_id)s and who = %(who)s
limit 1

-- name: reflected_after
-- Whether a reflection on a later turn is in already.
select 1 from agent_state_journal
where org_id = %(org_id)s and user_id = %(user_id)s and session_id = %(session_id)s
  and who = 'reflection' and at > %(at)s
limit 1

-- name: sessions_of
-- The sessions of a person that have a state.
select session_id from agent_states where org_id = %(org_id)s and user_id = %(user_id)s order by session_id

-- name: forget_person
delete from agent_states where org_id = %(org_id)s and user_id = %(user_id)s

-- name: forget_person_journal
delete from agent_state_journal where org_id = %(org_id)s and user_id = %(user_id)s

-- name: ring
-- Wakes whoever follows the session, when this transaction commits.
select pg_notify('mnemon_agent_state', %(session_id)s)

-- name: hit_rates
-- How often each action did what was expected, over one person's sessions or the organization's. An expectation is
-- settled once, so each stands in the journal once with its outcome; what a refold or a resumed session repeats is
-- passed over.
select expectation ->> 'action' as action,
       count(*) filter (where expectation ->> 'status' = 'confirmed') as confirmed,
       count(*) filter (where expectation ->> 'status' = 'failed') as failed
from agent_state_journal, jsonb_array_elements(update -> 'expectations') as expectation
where org_id = %(org_id)s and (%(user_id)s::text is null or user_id = %(user_id)s)
  and who not in ('forgetting', 'session') and expectation ->> 'status' in ('confirmed', 'failed')
group by 1 order by count(*) desc, 1 limit %(most)s
