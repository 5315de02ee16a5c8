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
  and (%(words)s::text is null or m.content ilike %(words)s)
order by m.updated_at desc, m.id desc
limit %(most)s offset %(skip)s

-- name: facets
-- How many memories stand under each value of each facet, the other filters applied.
with kept as materialized (
  select m.user_id, m.type, m.status, m.source, m.persona_id, m.pinned
  from memories m
  where m.org_id = %(org_id)s
    and (%(type)s::text is null or m.type = %(type)s)
    and (%(status)s::text is null or m.status = %(status)s)
    and (%(source)s::text is null or m.source = %(source)s)
    and (%(user_id)s::text is null or m.user_id = %(user_id)s)
    and (%(persona_id)s::text is null or m.persona_id = %(persona_id)s)
    and (%(entity)s::text is null or %(entity)s = any(m.entity_refs))
    and (%(pinned)s::boolean is null or m.pinned = %(pinned)s)
    and (%(words)s::text is null or m.content ilike %(words)s)
)
select 'type' as facet, type as value, count(*) as number from kept group by type
union all select 'status', status, count(*) from kept group by status
union all select 'source', source, count(*) from kept group by source
union all select 'persona', persona_id, count(*) from kept where persona_id is not null group by persona_id
union all select 'pinned', 'pinned', count(*) from kept where pinned
union all select 'all', 'all', count(*) from kept
union all (
  select 'user', u.external_id, p.number
  from (select user_id, count(*) as number from kept group by user_id order by number desc limit 20) p
  join users u on u.org_id = %(org_id)s and u.user_id = p.user_id)
order by 1, 3 desc

-- name: of_turns
-- What these turns said that is remembered.
select p.turn_id, m.id, m.content, m.type, m.status, m.persona_id, p.quote
from memory_provenance p
join memories m on m.org_id = p.org_id and m.user_id = p.user_id and m.id = p.memory_id
where p.org_id = %(org_id)s and p.user_id = %(user_id)s and p.turn_id = any(%(turns)s)
order by p.turn_id, m.id

-- name: counts
-- What is held, over everyone.
select count(*) filter (where status = 'ACTIVE') as active,
  count(*) filter (where status = 'ARCHIVED') as archived,
  count(*) filter (where pinned) as pinned,
  count(distinct user_id) as people
from memories where org_id = %(org_id)s
