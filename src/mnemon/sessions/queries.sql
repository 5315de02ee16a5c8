-- name: ensure_person
-- The row is there and locked: forgetting the person waits until what is being written about them is.
insert into users (org_id, user_id, external_id, created_at)
values (%(org_id)s, %(user_id)s, %(external_id)s, %(now)s)
on conflict (org_id, user_id) do update set external_id = excluded.external_id

-- name: bump_revision
update users set revision = revision + 1 where org_id = %(org_id)s and user_id = %(user_id)s returning revision

-- name: hold_person
select forgettings from users where org_id = %(org_id)s and user_id = %(user_id)s for no key update

-- name: keep_person
-- Keeps the person from being forgotten while a few of their rows are locked; writers are not held up by it.
select forgettings from users where org_id = %(org_id)s and user_id = %(user_id)s for key share

-- name: forgettings
select forgettings from users where org_id = %(org_id)s and user_id = %(user_id)s

-- name: revision
select revision from users where org_id = %(org_id)s and user_id = %(user_id)s

-- name: external_name
select external_id from users where org_id = %(org_id)s and user_id = %(user_id)s

-- name: met
-- The person exists, their revision is one higher and their row locked: everything of theirs is written in one line.
insert into users (org_id, user_id, external_id, revision, created_at)
values (%(org_id)s, %(user_id)s, %(external_id)s, 1, %(now)s)
on conflict (org_id, user_id) do update set revision = users.revision + 1
returning revision

-- name: organization_settings
select engagement, time_zone, instructions, updated_at from organization_settings where org_id = %(org_id)s

-- name: change_organization_settings
-- What is null stays as it is.
insert into organization_settings as held (org_id, engagement, time_zone, instructions, updated_at)
values (%(org_id)s, coalesce(%(engagement)s::text, 'on'), coalesce(%(time_zone)s::text, ''),
  coalesce(%(instructions)s::text, ''), %(now)s)
on conflict (org_id) do update set
  engagement = coalesce(%(engagement)s::text, held.engagement),
  time_zone = coalesce(%(time_zone)s::text, held.time_zone),
  instructions = coalesce(%(instructions)s::text, held.instructions),
  updated_at = excluded.updated_at
returning engagement, time_zone, instructions, updated_at

-- name: engagement_use
-- What organization and persona say of the engagement; null where they say nothing.
select (select engagement from organization_settings where org_id = %(org_id)s) as organization,
  (select engagement from personas where org_id = %(org_id)s and persona_id = %(persona_id)s::text) as persona

-- name: persona
select persona_id, name, prompt, engagement, updated_at from personas
where org_id = %(org_id)s and persona_id = %(persona_id)s

-- name: put_persona
insert into personas (org_id, persona_id, name, prompt, engagement, updated_at)
values (%(org_id)s, %(persona_id)s, %(name)s, %(prompt)s, %(engagement)s, %(now)s)
on conflict (org_id, persona_id) do update set
  name = excluded.name, prompt = excluded.prompt, engagement = excluded.engagement, updated_at = excluded.updated_at
returning (xmax = 0) as created

-- name: sessions_around
-- The sessions that began before this time or shortly after it, newest first: enough to place a message.
select * from sessions
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s::text
  and started_at < %(before)s
order by started_at desc, id desc limit 4

-- name: session
select s.*, u.external_id as user_name from sessions s
join users u on u.org_id = s.org_id and u.user_id = s.user_id
where s.org_id = %(org_id)s and s.id = %(id)s and (%(user_id)s::text is null or s.user_id = %(user_id)s)

-- name: heir
-- The latest of the sessions that resumed this one, or resumed one of those. `union` takes each once, so that the search
-- ends even where sessions resume each other.
with recursive later as (
  select org_id, user_id, id from sessions
  where org_id = %(org_id)s and user_id = %(user_id)s and resumed_from = %(id)s
  union
  select s.org_id, s.user_id, s.id from sessions s
  join later l on l.org_id = s.org_id and l.user_id = s.user_id and l.id = s.resumed_from
  where s.org_id = %(org_id)s and s.user_id = %(user_id)s
)
select s.* from sessions s join later l on l.org_id = s.org_id and l.user_id = s.user_id and l.id = s.id
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and (%(before)s::timestamptz is null or s.started_at < %(before)s)
order by s.started_at desc, s.id desc limit 1

-- name: lock_session
select * from sessions where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s for update

-- name: list_sessions
-- A person's sessions with one persona, or with none; newest first.
select s.*, u.external_id as user_name from sessions s
join users u on u.org_id = s.org_id and u.user_id = s.user_id
where s.org_id = %(org_id)s and s.user_id = %(user_id)s
  and (%(any_persona)s or s.persona_id is not distinct from %(persona_id)s::text)
  and (%(before)s::timestamptz is null or (s.started_at, s.id) < (%(before)s, %(before_id)s))
order by s.started_at desc, s.id desc limit %(most)s

-- name: begin_session
-- A session with its first turn, and the state of this person and persona with the turn's messages counted.
with session as (
  insert into sessions (org_id, user_id, id, persona_id, started_at, last_activity_at, turn_count, seq, resumed_from)
  values (%(org_id)s, %(user_id)s, %(id)s, %(persona_id)s, %(at)s, %(until)s, %(said)s, 1, %(resumed_from)s)
  returning *
), counted as (
  insert into session_states (org_id, user_id, persona, message_count, last_interaction, last_user_message)
  values (%(org_id)s, %(user_id)s, coalesce(%(persona_id)s::text, ''), %(said)s, %(until)s, %(last)s)
  on conflict (org_id, user_id, persona) do update set
    message_count = session_states.message_count + excluded.message_count,
    last_user_message = case when %(said)s > 0
        and excluded.last_interaction >= coalesce(session_states.last_interaction, excluded.last_interaction)
      then excluded.last_user_message else session_states.last_user_message end,
    last_interaction = greatest(session_states.last_interaction, excluded.last_interaction)
  returning message_count
)
select session.*, counted.message_count from session, counted

-- name: continue_session
-- One turn more, counted. A session that had ended of silence runs again when the message falls into its span.
with session as (
  update sessions set
    started_at = least(started_at, %(at)s), last_activity_at = greatest(last_activity_at, %(until)s),
    turn_count = turn_count + %(said)s, seq = seq + 1,
    ended_at = case when ended_by = 'idle' then null else ended_at end,
    ended_by = case when ended_by = 'idle' then null else ended_by end
  where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s
  returning *
), counted as (
  insert into session_states (org_id, user_id, persona, message_count, last_interaction, last_user_message)
  values (%(org_id)s, %(user_id)s, coalesce(%(persona_id)s::text, ''), %(said)s, %(until)s, %(last)s)
  on conflict (org_id, user_id, persona) do update set
    message_count = session_states.message_count + excluded.message_count,
    last_user_message = case when %(said)s > 0
        and excluded.last_interaction >= coalesce(session_states.last_interaction, excluded.last_interaction)
      then excluded.last_user_message else session_states.last_user_message end,
    last_interaction = greatest(session_states.last_interaction, excluded.last_interaction)
  returning message_count
)
select session.*, counted.message_count from session, counted

-- name: touch_session
-- Activity within a turn that exists already.
update sessions set last_activity_at = greatest(last_activity_at, %(at)s), turn_count = turn_count + %(said)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: end_session
update sessions set ended_at = %(ended_at)s, ended_by = %(ended_by)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s and ended_at is null

-- name: summarize_session
-- Only forward: a summary of fewer turns never replaces one of more.
update sessions set
  summary = %(summary)s, summarized_seq = %(seq)s, summarized_by = %(by)s, sources = %(sources)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s and summarized_seq < %(seq)s

-- name: so_far
-- One row: the rolling summary of this person and persona, and the newest session summary apart from the running session's.
select (select rolling_summary from session_states
    where org_id = %(org_id)s and user_id = %(user_id)s and persona = coalesce(%(persona_id)s::text, '')) as rolling,
  latest.id, latest.summary
from (select 1) one left join lateral (
  select id, summary from sessions
  where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s::text
    and summary is not null and id <> %(except)s
  order by started_at desc, id desc limit 1
) latest on true

-- name: session_state
select * from session_states where org_id = %(org_id)s and user_id = %(user_id)s and persona = %(persona)s

-- name: note_curator_run
insert into session_states (org_id, user_id, persona, curator_last_run_at, curator_last_count)
values (%(org_id)s, %(user_id)s, %(persona)s, %(now)s, %(count)s)
on conflict (org_id, user_id, persona) do update set
  curator_last_run_at = excluded.curator_last_run_at, curator_last_count = excluded.curator_last_count

-- name: note_curator_run_everywhere
-- The curator works for the person as a whole: every persona's state tells of it.
update session_states set curator_last_run_at = %(now)s, curator_last_count = %(count)s
where org_id = %(org_id)s and user_id = %(user_id)s

-- name: total_messages
-- The person's messages over all personas.
select coalesce(sum(message_count), 0) as number from session_states
where org_id = %(org_id)s and user_id = %(user_id)s

-- name: note_rolling_attempt
update session_states set last_rolling_attempt_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and persona = %(persona)s

-- name: note_rolling_error
update session_states set last_rolling_error = %(error)s
where org_id = %(org_id)s and user_id = %(user_id)s and persona = %(persona)s

-- name: set_rolling
-- Only forward: a summary of fewer messages never replaces one of more.
update session_states set
  rolling_summary = %(text)s, rolling_count = %(message_count)s, last_rolling_success_at = %(now)s,
  last_rolling_error = null
where org_id = %(org_id)s and user_id = %(user_id)s and persona = %(persona)s and rolling_count < %(message_count)s

-- name: keep_rolling
insert into rolling_summaries (org_id, user_id, persona, message_count, text, carried, turn_id, at, sources)
values (%(org_id)s, %(user_id)s, %(persona)s, %(message_count)s, %(text)s, %(carried)s, %(turn_id)s, %(at)s, %(sources)s)
on conflict (org_id, user_id, persona, message_count) do nothing

-- name: rolling_summaries
select message_count, text, carried, turn_id, at, sources from rolling_summaries
where org_id = %(org_id)s and user_id = %(user_id)s and persona = %(persona)s
  and (%(before)s::integer is null or message_count < %(before)s)
order by message_count desc limit %(most)s

-- name: add_turn
-- A turn with its first messages.
with turn as (
  insert into turns (org_id, user_id, id, session_id, persona_id, seq, at, status, origin, lease_until, message_count,
    tool_results, intents, recorded_at)
  values (%(org_id)s, %(user_id)s, %(id)s, %(session_id)s, %(persona_id)s, %(seq)s, %(at)s, %(status)s, %(origin)s,
    %(lease_until)s, %(message_count)s, %(tool_results)s, %(intents)s, %(now)s)
)
insert into messages (org_id, user_id, id, session_id, turn_id, persona_id, place, role, content, name, tool_requests,
  tool_id, at, revision)
select %(org_id)s, %(user_id)s, m.id, %(session_id)s, %(id)s, %(persona_id)s, m.place, m.role, m.content, m.name,
  m.tool_requests, m.tool_id, m.at, %(revision)s
from jsonb_to_recordset(%(messages)s) as m (id text, place integer, role text, content text, name text,
  tool_requests jsonb, tool_id text, at timestamptz)

-- name: add_messages
-- Messages at the end of a turn that exists.
insert into messages (org_id, user_id, id, session_id, turn_id, persona_id, place, role, content, name, tool_requests,
  tool_id, at, revision)
select %(org_id)s, %(user_id)s, m.id, %(session_id)s, %(turn_id)s, %(persona_id)s, m.place, m.role, m.content, m.name,
  m.tool_requests, m.tool_id, m.at, %(revision)s
from jsonb_to_recordset(%(messages)s) as m (id text, place integer, role text, content text, name text,
  tool_requests jsonb, tool_id text, at timestamptz)

-- name: turn
select t.*, u.external_id as user_name from turns t
join users u on u.org_id = t.org_id and u.user_id = t.user_id
where t.org_id = %(org_id)s and t.id = %(id)s and (%(user_id)s::text is null or t.user_id = %(user_id)s)

-- name: lock_turn
select status, lease_until, waits_for, session_id from turns
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s for update

-- name: turn_messages
select * from messages where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s order by place

-- name: seal_turn
update turns set status = %(status)s, lease_until = null, waits_for = '{}', usage = coalesce(%(usage)s, usage),
  error = %(error)s, recited = %(recited)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: flag_recital
update turns set recited = %(recited)s where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: renew_turn
update turns set lease_until = %(lease_until)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s and status = 'answering'

-- name: reopen_turn
update turns set status = 'answering', lease_until = %(lease_until)s, error = null, waits_for = '{}'
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: wait_for_caller
-- The reply asked for tools that the caller runs; the turn goes on when their results come.
update turns set waits_for = %(waits_for)s, lease_until = %(lease_until)s, usage = coalesce(%(usage)s, usage)
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: waiting_turns
-- Turns of this person and persona that wait for their caller's tools, newest first.
select id, session_id, waits_for from turns
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s::text
  and status = 'answering' and waits_for <> '{}'
order by at desc limit 10

-- name: last_turn
-- The turn of this person and persona that came in last.
select id, status from turns
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s::text
order by recorded_at desc, seq desc limit 1

-- name: add_tool_results
update turns set tool_results = tool_results || %(tool_results)s, intents = intents || %(intents)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: session_turns
-- A session's turns in their order.
select t.*, u.external_id as user_name from turns t
join users u on u.org_id = t.org_id and u.user_id = t.user_id
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.session_id = %(session_id)s and t.seq > %(after)s
order by t.seq limit %(most)s

-- name: recent_messages
-- The last messages of a session, newest first, those of one turn apart. Turn by turn, however many are thought to be
-- there: only the last ones are looked at.
select m.* from turns t cross join lateral (
  select * from messages m
  where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.turn_id = t.id
  order by m.place desc limit %(most)s) m
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.session_id = %(session_id)s and t.id <> %(except)s
order by t.seq desc, m.place desc limit %(most)s

-- name: said_before
-- What the person said last in a session before one of its turns, newest first, cut to a length.
select left(m.content, %(longest)s) as content from turns t
join messages m on m.org_id = t.org_id and m.user_id = t.user_id and m.turn_id = t.id
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.session_id = %(session_id)s and t.seq < %(seq)s
  and t.seq >= %(seq)s - %(most)s and m.role = 'user'
order by t.seq desc, m.place desc limit %(most)s

-- name: messages_before
-- The last messages in a session before one of its turns, newest first, each cut to a length.
select m.id, m.role, m.name, m.at, left(m.content, %(longest)s) as content from turns t
join messages m on m.org_id = t.org_id and m.user_id = t.user_id and m.turn_id = t.id
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.session_id = %(session_id)s and t.seq < %(seq)s
  and t.seq >= %(seq)s - %(most)s and m.role <> 'tool'
order by t.seq desc, m.place desc limit %(most)s

-- name: messages_of_others
-- The last messages with one persona that the person did not say, the latest first, cut to a length.
select id, role, name, at, left(content, %(longest)s) as content from messages
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s
  and role <> 'user' and turn_id <> %(except)s
order by revision desc, place desc limit %(most)s

-- name: session_messages
-- A session's messages in their order.
select m.*, t.seq from messages m join turns t
  on t.org_id = m.org_id and t.user_id = m.user_id and t.id = m.turn_id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.session_id = %(session_id)s
  and (t.seq, m.place) > (%(seq)s, %(place)s)
order by t.seq, m.place limit %(most)s

-- name: messages_between
-- What the person and this persona said up to a turn, newest first: the material of a rolling summary.
select m.* from messages m join turns t
  on t.org_id = m.org_id and t.user_id = m.user_id and t.id = m.turn_id
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.persona_id is not distinct from %(persona_id)s::text
  and t.message_count > %(after_count)s and t.message_count <= %(up_to_count)s and m.role in ('user', 'assistant')
order by t.message_count desc, t.at desc, m.place desc limit %(most)s

-- name: messages_since
-- The person's messages across personas since a revision, oldest first: the material of a spine.
select * from messages
where org_id = %(org_id)s and user_id = %(user_id)s and revision > %(revision)s and role in ('user', 'assistant')
order by revision, at, place limit %(most)s

-- name: count_user_messages
select count(*) as number from messages
where org_id = %(org_id)s and user_id = %(user_id)s and revision > %(revision)s and role = 'user'

-- name: sessions
-- Sessions of everyone, latest activity first, each with how it began.
select s.*, u.external_id as user_name, f.content as opening
from sessions s
join users u on u.org_id = s.org_id and u.user_id = s.user_id
left join lateral (
  select left(m.content, 200) as content from messages m
  where m.org_id = s.org_id and m.user_id = s.user_id and m.session_id = s.id and m.role = 'user'
  order by m.at, m.place limit 1
) f on true
where s.org_id = %(org_id)s
  and (%(user_id)s::text is null or s.user_id = %(user_id)s)
  and (%(persona_id)s::text is null or s.persona_id = %(persona_id)s)
  and (%(words)s::text is null or s.summary ->> 'one_liner' ilike %(words)s or f.content ilike %(words)s)
order by s.last_activity_at desc, s.id desc
limit %(most)s offset %(skip)s

-- name: successors
-- Sessions that took this one up.
select id from sessions
where org_id = %(org_id)s and user_id = %(user_id)s and resumed_from = %(id)s order by started_at

-- name: people
-- Whoever is known, by name.
select external_id from users
where org_id = %(org_id)s and user_id = user_id and (%(words)s::text is null or external_id ilike %(words)s)
order by external_id limit %(most)s

-- name: personas
-- Those that were described.
select persona_id, name, prompt, engagement, updated_at from personas where org_id = %(org_id)s order by persona_id

-- name: persona_names
-- Whom the person may have spoken with: the described ones, and those of their sessions.
select persona_id from personas where org_id = %(org_id)s
union
select persona_id from sessions where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not null
order by 1

-- name: latest_person
-- Who spoke last.
select u.external_id from sessions s
join users u on u.org_id = s.org_id and u.user_id = s.user_id
where s.org_id = %(org_id)s order by s.last_activity_at desc limit 1

-- name: last_seq
-- The place of a session's last turn.
select seq from sessions where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: counts
select (select count(*) from users where org_id = %(org_id)s and user_id = user_id) as people,
  (select count(*) from sessions where org_id = %(org_id)s and user_id = user_id) as sessions,
  (select count(*) from turns where org_id = %(org_id)s and user_id = user_id) as turns

-- name: days
-- Turns and what their replies cost, by day of UTC.
select (at at time zone 'UTC')::date as day, count(*) as turns,
  coalesce(sum(least((usage ->> 'input_tokens')::numeric, 1e9)), 0)::bigint as input_tokens,
  coalesce(sum(least((usage ->> 'output_tokens')::numeric, 1e9)), 0)::bigint as output_tokens
from turns where org_id = %(org_id)s and user_id = user_id and at >= %(since)s
group by 1 order by 1

-- name: message
select id, session_id, turn_id, role, content, name, at from messages
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: pulse
-- Differs whenever a session was spoken in, ended or summarized.
select count(*) as number, max(last_activity_at) as latest, count(ended_at) as ended, coalesce(sum(summarized_seq), 0) as summarized
from sessions where org_id = %(org_id)s and user_id = user_id

-- name: session_evidence
-- The session's messages and tool results with these ids, oldest first: what a claim about the session may cite.
select m.id, m.role, m.content, m.name, m.at, null::jsonb as result from messages m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.id = any(%(ids)s)
  and (m.session_id = %(session_id)s or m.id = any(%(held)s))
union all
select r.result ->> 'id', 'tool', '', null, t.at, r.result
from turns t cross join lateral jsonb_array_elements(t.tool_results) as r (result)
where t.org_id = %(org_id)s and t.user_id = %(user_id)s and t.session_id = %(session_id)s
  and r.result ->> 'id' = any(%(ids)s)
order by at
