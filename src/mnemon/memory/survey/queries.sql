-- name: page
-- Memories of everyone, latest change first, with the name the application calls the person by.
select m.*, u.external_id
from memories m join users u on u.org_id = m.org_id and u.user_id = m.user_id
where m.org_id = %(org_id)s
  and (%(type)s::text is null or m.type = %(type)s)
  and (%(status)s::text is null or m.status = %(status)s)
  and (%(source)s::text is null or m.source = %(source)s)
  and (%(user_id)s::text is null or m.user_id = %(user_id)s)
  and (%(persona_id)s::text is null or m.persona_id = %(persona_id)s)
  and (%(entity)s::text is null or %(entity)s = any(m.entity_refs))
  and (%(pinned)s::boolean is null or m.pinned = %(pinned)s)
  and (%(words)s::text is null or lower(m.content) like lower(%(words)s))
order by m.updated_at desc, m.id desc
limit %(most)s offset %(skip)s

-- name: combinations
-- How many memories stand under each combination of values, in the order of the index memories_survey.
select m.status, m.type, m.source, m.persona_id, m.pinned, count(*) as number
from memories m
where m.org_id = %(org_id)s
  and (%(user_id)s::text is null or m.user_id = %(user_id)s)
  and (%(entity)s::text is null or %(entity)s = any(m.entity_refs))
  and (%(words)s::text is null or lower(m.content) like lower(%(words)s))
group by m.status, m.type, m.source, m.persona_id, m.pinned

-- name: people
-- Who has the most memories that the filters let through.
select u.external_id as value, p.number
from (
  select m.user_id, count(*) as number from memories m
  where m.org_id = %(org_id)s
    and (%(type)s::text is null or m.type = %(type)s)
    and (%(status)s::text is null or m.status = %(status)s)
    and (%(source)s::text is null or m.source = %(source)s)
    and (%(persona_id)s::text is null or m.persona_id = %(persona_id)s)
    and (%(entity)s::text is null or %(entity)s = any(m.entity_refs))
    and (%(pinned)s::boolean is null or m.pinned = %(pinned)s)
    and (%(words)s::text is null or lower(m.content) like lower(%(words)s))
  group by m.user_id order by number desc, m.user_id limit 20) p
join users u on u.org_id = %(org_id)s and u.user_id = p.user_id
order by p.number desc, 1

-- name: entities
-- What a person's memories speak of most.
select ref as value, count(*) as number
from memories m, unnest(m.entity_refs) as ref
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and (%(status)s::text is null or m.status = %(status)s)
group by ref order by number desc, ref limit 50

-- name: of_turns
-- What these turns said that is remembered.
select p.turn_id, m.id, m.content, m.type, m.status, m.persona_id, p.quote
from memory_provenance p
join memories m on m.org_id = p.org_id and m.user_id = p.user_id and m.id = p.memory_id
where p.org_id = %(org_id)s and p.user_id = %(user_id)s and p.turn_id = any(%(turns)s)
order by p.turn_id, m.id

-- name: counts
-- What is held, over everyone.
select m.status, m.pinned, count(*) as number
from memories m where m.org_id = %(org_id)s and m.user_id = m.user_id group by m.status, m.pinned
