-- name: person
-- One person.
insert into users (org_id, user_id, external_id, revision, created_at)
select %(org)s, %(user)s, %(name)s, 1, %(now)s::timestamptz - interval '9 days'

-- name: memories
-- Their memories, of every kind: a tenth of one persona, a twentieth archived, a hundredth pinned.
insert into memories (org_id, user_id, id, persona_id, type, content, entity_refs, entity_label, entity_type,
  fact_type, attribute, importance, pinned, memory_key, source, trust, status, archive_reason, archived_at, confidence,
  valid_from, stated_at, revision, created_at, updated_at, recorded_at)
select %(org)s, %(user)s, 'mem_' || %(name)s || '_' || n, case when n %% 10 = 0 then 'atlas' end,
  (array['PROFILE', 'PEOPLE', 'PROJECT'])[1 + n %% 3],
  'Fact ' || n || ' is about ' || (array['tea', 'jazz', 'bread', 'Lisbon', 'chess', 'taxes', 'rowing'])[1 + n %% 7]
    || (array['.', ', and came up over coffee in the second week of the autumn.'])[1 + n %% 2],
  array['person:friend_' || n %% 50], 'Friend ' || n %% 50, 'person', 'fact', 'a' || n,
  case when n %% 100 = 0 then 3 else n %% 3 end, n %% 100 = 0, 'PEOPLE|person|friend_' || n %% 50 || '|fact|a' || n,
  (array['shadow_extraction', 'api', 'seeded_profile'])[1 + n %% 3], 'person',
  case when n %% 20 = 1 then 'ARCHIVED' else 'ACTIVE' end, case when n %% 20 = 1 then 'outdated' end,
  case when n %% 20 = 1 then at end, 0.7, at, at, 1, at, at, at
from generate_series(1, %(each)s) n, lateral (select %(now)s::timestamptz - n * interval '7 minutes' as at) times

-- name: sessions
-- Their sessions over the last week.
insert into sessions (org_id, user_id, id, persona_id, started_at, last_activity_at, ended_at, ended_by,
  turn_count, seq, summary, summarized_seq)
select %(org)s, %(user)s, 'ses_' || %(name)s || '_' || n, (array['atlas', 'juno'])[1 + n %% 2], at,
  at + interval '1 hour', at + interval '2 hours', 'idle', %(turns)s, %(turns)s,
  '{"what_mattered": [], "open_loops": [], "commitments": [], "people": [], "tone": "calm"}'::jsonb
    || jsonb_build_object('one_liner', 'Spoke of bread and taxes, ' || n), %(turns)s
from generate_series(1, %(sessions)s) n, lateral (select %(now)s::timestamptz - n * interval '9 hours' as at) times

-- name: turns
-- What was said in them.
insert into turns (org_id, user_id, id, session_id, persona_id, seq, at, status, origin, message_count, usage,
  recorded_at)
select org_id, user_id, 'trn_' || substr(id, 5) || '_' || n, id, persona_id, n, started_at + n * interval '5 minutes',
  'answered', 'chat', 2, '{"input_tokens": 900, "output_tokens": 120, "latency_ms": 800, "calls": 1}'::jsonb,
  started_at + n * interval '5 minutes'
from sessions, generate_series(1, %(turns)s) n where org_id = %(org)s and user_id = %(user)s

-- name: messages
insert into messages (org_id, user_id, id, session_id, turn_id, persona_id, place, role, content, at, revision)
select org_id, user_id, 'msg_' || substr(id, 5) || '_' || place, session_id, id, persona_id, place,
  (array['user', 'assistant'])[1 + place], 'What about bread, and the taxes of last year? ' || seq, at, 1
from turns, generate_series(0, 1) place where org_id = %(org)s and user_id = %(user)s

-- name: reflections
insert into reflections (org_id, user_id, turn_id, job_id, status, usage, updated_at)
select org_id, user_id, id, 'job_' || substr(id, 5), 'done',
  '{"input_tokens": 1900, "output_tokens": 220, "latency_ms": 900, "calls": 1}'::jsonb, at
from turns where org_id = %(org)s and user_id = %(user)s

-- name: provenance
-- Each memory was said in one of the messages.
insert into memory_provenance (org_id, user_id, memory_id, message_id, starts, ends, content_hash, turn_id,
  session_id, quote, at)
select m.org_id, m.user_id, m.id, t.message_id, 0, 4, md5(m.id), t.turn_id, t.session_id, 'What', m.created_at
from (select *, row_number() over () as place from memories where org_id = %(org)s and user_id = %(user)s) m
join (select id as message_id, turn_id, session_id, row_number() over () as place from messages
  where org_id = %(org)s and user_id = %(user)s and role = 'user') t
  on t.place = 1 + m.place %% (%(turns)s * %(sessions)s)

-- name: vectors
-- A vector for each, one of the story's.
with known as (select model, vector, row_number() over () as place from embeddings
  where org_id = %(org)s and kind = 'memory')
insert into embeddings (org_id, user_id, model, kind, id, vector, revision)
select org_id, user_id, known.model, 'memory', id, known.vector, 1 from memories
join known on known.place = 1 + abs(hashtext(id)) %% (select count(*) from known)
where org_id = %(org)s and id like 'mem\_person-%%'

-- name: organization
select set_config('mnemon.org', %(org)s, true)

-- name: audit
-- By the procedure, the one way to append; it wants the transaction's organization.
call append_audit(
  %(org)s, 'aud_' || lpad(%(n)s::text, 26, '0'), %(now)s::timestamptz - %(n)s * interval '3 minutes', 'operator',
  'pin memory', 'mem_' || %(n)s)

-- name: runs
-- Decisions like the first of the story, each with its outcome.
insert into runs (org_id, run_id, agent_id, kind, status, prompt, card_type, result, headline,
  resolution_status, outcome, resolved_at, usage, created_at, started_at, finished_at)
select %(org)s, 'run_more_' || n, kind.agent_id, 'manual', 'succeeded', kind.prompt, kind.card_type, kind.result,
  kind.headline, 'resolved', (array['take_profit', 'stop_loss'])[1 + n %% 2], at, kind.usage, at, at, at
from generate_series(1, %(others)s) n, lateral (select %(now)s::timestamptz - n * interval '1 hour' as at) times,
  lateral (select * from runs where org_id = %(org)s and card_type = 'trade-decision' and status = 'succeeded'
    and result ? 'confidence' limit 1) kind

-- name: work
-- Jobs that ran out of tries.
insert into work (org_id, kind, key, job_id, enqueued_at, due_at, parked_at, attempts, error)
select %(org)s, 'reflect', 'trn_more_' || n, 'job_more_' || n, at, at, at, 5, 'ModelDown'
from generate_series(1, %(others)s) n, lateral (select %(now)s::timestamptz as at) times
