-- name: links
select alias, target, asked_from, merge_id, made_by from entity_aliases
where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: add_link
insert into entity_aliases (org_id, user_id, alias, target, asked_from, merge_id, made_by, at)
values (%(org_id)s, %(user_id)s, %(alias)s, %(target)s, %(asked_from)s, %(merge_id)s, %(made_by)s, %(now)s);

-- name: drop_link
delete from entity_aliases where org_id = %(org_id)s and user_id = %(user_id)s and alias = %(alias)s;

-- name: log_merge
insert into entity_merges (org_id, user_id, id, source, target, made_by, reasons, at)
values (%(org_id)s, %(user_id)s, %(id)s, %(source)s, %(target)s, %(made_by)s, %(reasons)s, %(now)s);

-- name: log_split
update entity_merges set split_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;

-- name: global_refs
-- Whom and what the memories mention that every persona may see, the first mentioned first.
select entity_refs from memories
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is null and status = 'ACTIVE' and entity_refs <> '{}'
order by created_at, id;

-- name: merges
-- The log, newest first.
select id, source, target, made_by, reasons, at, split_at from entity_merges
where org_id = %(org_id)s and user_id = %(user_id)s order by id desc limit %(most)s;

-- name: kept_apart
select one, two from entities_kept_apart where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: keep_apart
insert into entities_kept_apart (org_id, user_id, one, two, at)
values (%(org_id)s, %(user_id)s, %(one)s, %(two)s, %(now)s) on conflict do nothing;

-- name: no_longer_apart
delete from entities_kept_apart where org_id = %(org_id)s and user_id = %(user_id)s and one = %(one)s and two = %(two)s;

-- name: spoken_of
-- What the scope's persona may know about anyone or anything, oldest first.
select m.*, coalesce(p.turns, '{}') as turns
from memories m
left join lateral (
  select array_agg(distinct turn_id) as turns from memory_provenance
  where org_id = m.org_id and user_id = m.user_id and memory_id = m.id
) p on true
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.status = 'ACTIVE' and m.entity_refs <> '{}'
  and (m.persona_id is null or m.persona_id = %(persona_id)s)
order by m.created_at, m.id;

-- name: every_ref
select distinct entity_refs from memories
where org_id = %(org_id)s and user_id = %(user_id)s and entity_refs <> '{}';
