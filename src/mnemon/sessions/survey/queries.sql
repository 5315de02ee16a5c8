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
  coalesce(sum((usage ->> 'input_tokens')::bigint), 0)::bigint as input_tokens,
  coalesce(sum((usage ->> 'output_tokens')::bigint), 0)::bigint as output_tokens
from turns where org_id = %(org_id)s and user_id = user_id and at >= %(since)s
group by 1 order by 1

-- name: message
select id, session_id, turn_id, role, content, name, at from messages
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s

-- name: pulse
-- Differs whenever a session was spoken in, ended or summarized.
select count(*) as number, max(last_activity_at) as latest, count(ended_at) as ended, coalesce(sum(summarized_seq), 0) as summarized
from sessions where org_id = %(org_id)s and user_id = user_id
