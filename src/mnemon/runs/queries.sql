-- name: insert_agent
insert into agents (org_id, agent_id, name, adapter, skill, default_prompt, schedule, next_slot, role, team, card_type,
  config, created_at, updated_at)
values (%(org_id)s, %(agent_id)s, %(name)s, %(adapter)s, %(skill)s, %(default_prompt)s, %(schedule)s, %(next_slot)s,
  %(role)s, %(team)s, %(card_type)s, %(config)s, %(now)s, %(now)s)

-- name: insert_chat_session
insert into chat_sessions (org_id, agent_id, generation, last_reset_at)
values (%(org_id)s, %(agent_id)s, %(generation)s, %(last_reset_at)s)

-- name: agent
select * from agents where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: agent_locked
-- The agent, and nobody else changes, wakes or deletes it until this transaction ends. Rows that refer to it are still
-- inserted meanwhile: no lock here is stronger than `no key`, for which foreign keys do not wait.
select * from agents where org_id = %(org_id)s and agent_id = %(agent_id)s for no key update

-- name: keep_agents
-- These agents are not deleted until this transaction ends; gives those that exist.
select agent_id from agents where org_id = %(org_id)s and agent_id = any(%(agent_ids)s) order by agent_id for key share

-- name: agents_named
-- The agents of these ids that exist.
select * from agents where org_id = %(org_id)s and agent_id = any(%(agent_ids)s)

-- name: agents
-- Oldest first.
select * from agents where org_id = %(org_id)s and agent_id > %(after)s order by agent_id limit %(most)s

-- name: update_agent
update agents set name = %(name)s, adapter = %(adapter)s, skill = %(skill)s, default_prompt = %(default_prompt)s,
  schedule = %(schedule)s, next_slot = %(next_slot)s, role = %(role)s, team = %(team)s, card_type = %(card_type)s,
  config = %(config)s, updated_at = %(now)s
where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: next_in_lane
-- The place in the agent's lane of whatever is asked of it now.
update agents set asked = asked + 1 where org_id = %(org_id)s and agent_id = %(agent_id)s returning asked

-- name: set_next_slot
update agents set next_slot = %(next_slot)s where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: agent_and_leads_locked
-- The agent and the leads on whose councils it sits, in the order of their ids, as two deletions at once need it.
select agent_id from agents
where org_id = %(org_id)s and (agent_id = %(agent_id)s or %(agent_id)s = any(team)) order by agent_id for no key update

-- name: delete_agent
-- With everything it ever did.
delete from agents where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: leave_teams
-- An agent that is gone sits on no council.
update agents set team = array_remove(team, %(agent_id)s)
where org_id = %(org_id)s and %(agent_id)s = any(team)

-- name: chat_session_locked
select * from chat_sessions where org_id = %(org_id)s and agent_id = %(agent_id)s for no key update

-- name: chat_sessions
-- With the successful runs of the present generation, on schedule and all.
select s.*, n.scheduled, n.runs - n.scheduled as others
from chat_sessions s cross join lateral (
  select count(*) filter (where r.kind = 'heartbeat') as scheduled, count(*) as runs from runs r
  where r.org_id = s.org_id and r.agent_id = s.agent_id and r.status = 'succeeded'
    and r.memory_generation = s.generation
) n
where s.org_id = %(org_id)s and s.agent_id = any(%(agent_ids)s)

-- name: update_chat_session
update chat_sessions set session_id = %(session_id)s, generation = %(generation)s, last_reset_at = %(last_reset_at)s,
  updated_at = %(updated_at)s
where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: drop_transcripts
delete from transcripts where org_id = %(org_id)s and agent_id = %(agent_id)s

-- name: transcript
select message from transcripts
where org_id = %(org_id)s and agent_id = %(agent_id)s and session_id = %(session_id)s order by seq

-- name: transcript_length
select coalesce(max(seq), 0) as length from transcripts
where org_id = %(org_id)s and agent_id = %(agent_id)s and session_id = %(session_id)s

-- name: add_to_transcript
insert into transcripts (org_id, agent_id, session_id, seq, message, at)
values (%(org_id)s, %(agent_id)s, %(session_id)s, %(seq)s, %(message)s, %(now)s)

-- name: insert_exchange
insert into exchanges (org_id, turn_id, agent_id, status, usage, created_at)
values (%(org_id)s, %(turn_id)s, %(agent_id)s, 'queued', '{}', %(now)s)

-- name: exchange
select * from exchanges where org_id = %(org_id)s and turn_id = %(turn_id)s

-- name: exchanges
select * from exchanges
where org_id = %(org_id)s and agent_id = %(agent_id)s and turn_id = any(%(turn_ids)s)

-- name: exchange_locked
select * from exchanges where org_id = %(org_id)s and turn_id = %(turn_id)s for no key update

-- name: update_exchange
with changed as (
  update exchanges set status = %(status)s, session_id_before = %(session_id_before)s,
    session_id_after = %(session_id_after)s, memory_generation = %(memory_generation)s, usage = %(usage)s,
    finished_at = %(finished_at)s, error = %(error)s
  where org_id = %(org_id)s and turn_id = %(turn_id)s
  returning turn_id
)
select pg_notify('mnemon_run', turn_id) from changed

-- name: insert_message
insert into agent_messages (org_id, message_id, agent_id, turn_id, role, content, at)
values (%(org_id)s, %(message_id)s, %(agent_id)s, %(turn_id)s, %(role)s, %(content)s, %(now)s)

-- name: messages
-- Oldest first.
select * from agent_messages
where org_id = %(org_id)s and agent_id = %(agent_id)s and seq > %(after)s order by seq limit %(most)s

-- name: latest_messages
-- Newest first.
select * from agent_messages
where org_id = %(org_id)s and agent_id = %(agent_id)s order by seq desc limit %(most)s

-- name: message_of_turn
select * from agent_messages
where org_id = %(org_id)s and turn_id = %(turn_id)s and role = %(role)s

-- name: insert_run
-- A slot of an agent fires once: the second of two workers inserts nothing.
insert into runs (org_id, run_id, agent_id, kind, status, prompt, slot, parent_run_id, card_type, usage, created_at)
values (%(org_id)s, %(run_id)s, %(agent_id)s, %(kind)s, 'queued', %(prompt)s, %(slot)s, %(parent_run_id)s,
  %(card_type)s, '{}', %(now)s)
on conflict (org_id, agent_id, slot) do nothing

-- name: run
select * from runs where org_id = %(org_id)s and run_id = %(run_id)s

-- name: run_locked
select * from runs where org_id = %(org_id)s and run_id = %(run_id)s for no key update

-- name: runs
-- Newest first; any filter may be null.
select * from runs
where org_id = %(org_id)s and (%(before)s::bigint is null or seq < %(before)s)
  and (%(agent_id)s::text is null or agent_id = %(agent_id)s)
  and (%(status)s::text is null or status = %(status)s)
  and (%(card_type)s::text is null or card_type = %(card_type)s)
  and (%(resolution)s::text is null or resolution_status = %(resolution)s)
order by seq desc limit %(most)s

-- name: re_examinations
-- Of these parents, oldest first.
select * from runs
where org_id = %(org_id)s and parent_run_id = any(%(parent_ids)s) order by seq limit %(most)s

-- name: busy
-- Whether a run of the agent waits or goes on.
select exists (
  select from runs where org_id = %(org_id)s and agent_id = %(agent_id)s and status in ('queued', 'running')) as busy

-- name: at_work
-- Whether a run or a chat of the agent goes on.
select exists (select from runs where org_id = %(org_id)s and agent_id = %(agent_id)s and status = 'running')
  or exists (select from exchanges where org_id = %(org_id)s and agent_id = %(agent_id)s and status = 'running') as busy

-- name: update_run
with changed as (
  update runs set status = %(status)s, session_id_before = %(session_id_before)s,
    session_id_after = %(session_id_after)s, memory_generation = %(memory_generation)s, result = %(result)s,
    headline = %(headline)s, resolution_status = %(resolution_status)s, symbol = %(symbol)s, usage = %(usage)s,
    started_at = %(started_at)s, finished_at = %(finished_at)s, error = %(error)s
  where org_id = %(org_id)s and run_id = %(run_id)s
  returning run_id
)
select pg_notify('mnemon_run', run_id) from changed

-- name: resolve_run
-- The first resolution is final.
update runs set resolution_status = %(status)s, outcome = %(outcome)s, resolved_at = %(at)s, resolution_note = %(note)s
where org_id = %(org_id)s and run_id = %(run_id)s and status = 'succeeded'
  and (resolution_status is null or resolution_status = 'open')

-- name: agents_with_positions
select distinct agent_id from runs
where org_id = %(org_id)s and resolution_status = 'open' and symbol = any(%(symbols)s)

-- name: open_positions
-- Of these agents, which are locked already: one whose position opened since then is not among them.
select * from runs
where org_id = %(org_id)s and resolution_status = 'open' and symbol = any(%(symbols)s)
  and agent_id = any(%(agent_ids)s)
order by seq for no key update

-- name: traded_symbols
select distinct symbol from runs where org_id = %(org_id)s and symbol = any(%(symbols)s)

-- name: last_decisions
-- The last card of each of these agents.
select a.agent_id, d.run_id, d.finished_at, d.headline, d.card_type, d.result, d.outcome, c.conviction
from unnest(%(agent_ids)s::text[]) as a (agent_id)
cross join lateral (
  select run_id, finished_at, headline, card_type, result, outcome from runs
  where org_id = %(org_id)s and agent_id = a.agent_id and status = 'succeeded' and kind <> 're-examination'
  order by seq desc limit 1
) d
left join lateral (
  select x.result -> 'conviction_score' as conviction from runs x
  where x.org_id = %(org_id)s and x.parent_run_id = d.run_id and x.status = 'succeeded'
  order by x.seq desc limit 1
) c on true

-- name: decisions
-- The agent's own cards, newest first, with the score of the last re-examination, which is no decision itself.
select r.run_id, r.finished_at, r.headline, r.card_type, r.result, r.outcome, c.conviction from runs r
left join lateral (
  select x.result -> 'conviction_score' as conviction from runs x
  where x.org_id = %(org_id)s and x.parent_run_id = r.run_id and x.status = 'succeeded'
  order by x.seq desc limit 1
) c on true
where r.org_id = %(org_id)s and r.agent_id = %(agent_id)s and r.status = 'succeeded' and r.kind <> 're-examination'
order by r.seq desc limit %(most)s

-- name: decision_counts
-- By card type: a re-examination is no decision.
select card_type, count(*) as made, count(*) filter (where resolution_status = 'open') as open from runs
where org_id = %(org_id)s and status = 'succeeded' and kind <> 're-examination' group by card_type

-- name: resolved
-- Every decision that came to its end.
select run_id as id, agent_id, card_type, outcome, result from runs
where org_id = %(org_id)s and resolution_status in ('resolved', 'expired')
  and (%(agent_id)s::text is null or agent_id = %(agent_id)s)
order by seq

-- name: add_event
-- Nothing when the agent was deleted meanwhile; one that is being deleted is waited for. Followers are told.
with added as (
  insert into run_events (org_id, run_id, agent_id, at, type, data)
  select org_id, %(run_id)s, agent_id, %(now)s, %(type)s, %(data)s
  from agents where org_id = %(org_id)s and agent_id = %(agent_id)s for key share
  returning run_id
)
select pg_notify('mnemon_run', run_id) from added

-- name: events
select seq, at, type, data from run_events
where org_id = %(org_id)s and run_id = %(run_id)s and seq > %(after)s order by seq limit %(most)s

-- name: insert_token
insert into run_tokens (org_id, digest, run_id, agent_id)
values (%(org_id)s, %(digest)s, %(run_id)s, %(agent_id)s)

-- name: drop_tokens
delete from run_tokens where org_id = %(org_id)s and run_id = %(run_id)s

-- name: token
-- Of a run that is running, and of no other.
select t.run_id, t.agent_id, t.digest from run_tokens t
join runs r on r.org_id = t.org_id and r.run_id = t.run_id
where t.org_id = %(org_id)s and t.digest = %(digest)s and r.status = 'running'

-- name: add_price
insert into prices (org_id, symbol, at, price, low, high)
values (%(org_id)s, %(symbol)s, %(at)s, %(price)s, %(low)s, %(high)s)
on conflict (org_id, symbol, at, price) do update
set low = least(prices.low, excluded.low), high = greatest(prices.high, excluded.high)

-- name: prices_since
select symbol, at, price, low, high from prices
where org_id = %(org_id)s and symbol = %(symbol)s and at >= %(since)s and at <= %(until)s order by at limit %(most)s
