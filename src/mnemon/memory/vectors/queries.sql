-- name: join_by_hash
-- One person's rows are joined with their vectors. The planner knows too little of one person's share and would take
-- them for a single row each, which costs the square of their number.
set local enable_nestloop = off;

-- name: join_as_usual
set local enable_nestloop = on;

-- name: save
insert into embeddings (org_id, user_id, model, kind, id, vector, revision)
values (%(org_id)s, %(user_id)s, %(model)s, %(kind)s, %(id)s, %(vector)s::halfvec, %(revision)s)
on conflict (org_id, user_id, model, kind, id) do update set vector = excluded.vector, revision = excluded.revision;

-- name: displace
-- The current text became a version: its vectors go with it.
update embeddings set kind = 'version', id = %(memory_id)s || '/' || %(number)s, revision = %(revision)s
where org_id = %(org_id)s and user_id = %(user_id)s and kind = 'memory' and id = %(memory_id)s;

-- name: drop
delete from embeddings
where org_id = %(org_id)s and user_id = %(user_id)s and kind = 'memory' and id = %(memory_id)s;

-- name: pending
-- What of the person has no vector of this model yet, memories first.
select kind, id, content from (
  select 1 as place, 'memory' as kind, m.id, m.content
  from memories m
  where m.org_id = %(org_id)s and m.user_id = %(user_id)s
    and not exists (select from embeddings e where e.org_id = m.org_id and e.user_id = m.user_id
                    and e.model = %(model)s and e.kind = 'memory' and e.id = m.id)
  union all
  select 2, 'version', v.memory_id || '/' || v.number, v.content
  from memory_versions v
  where v.org_id = %(org_id)s and v.user_id = %(user_id)s and v.number > 0
    and not exists (select from embeddings e where e.org_id = v.org_id and e.user_id = v.user_id
                    and e.model = %(model)s and e.kind = 'version' and e.id = v.memory_id || '/' || v.number)
  union all
  select 3, 'message', s.id, s.content
  from messages s
  where s.org_id = %(org_id)s and s.user_id = %(user_id)s
    and not exists (select from embeddings e where e.org_id = s.org_id and e.user_id = s.user_id
                    and e.model = %(model)s and e.kind = 'message' and e.id = s.id)
) waiting
order by place, id
limit %(most)s;

-- name: count_texts
-- All that can have a vector, and how much of it has one of this model, over every person of the organization.
select
  (select count(user_id) from memories where org_id = %(org_id)s)
  + (select count(user_id) from memory_versions where org_id = %(org_id)s and number > 0)
  + (select count(user_id) from messages where org_id = %(org_id)s) as texts,
  (select count(user_id) from embeddings where org_id = %(org_id)s and model = %(model)s) as done;

-- name: drop_others
delete from embeddings where org_id = %(org_id)s and user_id = %(user_id)s and model <> %(model)s;
