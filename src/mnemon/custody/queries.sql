-- name: tables
-- Every table with an owner: its columns, its key, and the tables it refers to.
select c.relname as name,
  array(select a.attname::text from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
  array(select format_type(a.atttypid, null) from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as types,
  array(select a.attname::text from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity = 'a') as identities,
  coalesce((select array_agg(a.attname::text order by array_position(k.conkey, a.attnum))
    from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
    where k.conrelid = c.oid and k.contype = 'p'), '{}') as key,
  array(select distinct r.relname::text from pg_constraint k join pg_class r on r.oid = k.confrelid
    where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers_to
from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id')
order by c.relname;

-- name: await_holders
-- Waits for whoever keeps the person from being forgotten; the update below alone would not.
select 1 from users where org_id = %(org_id)s and user_id = %(user_id)s for update;

-- name: person_facts
-- What was remembered of the person, and the words it rested on.
select content from memories where org_id = %(org_id)s and user_id = %(user_id)s
union select content from memory_versions where org_id = %(org_id)s and user_id = %(user_id)s
union select quote as content from memory_provenance
  where org_id = %(org_id)s and user_id = %(user_id)s and quote is not null
order by content;

-- name: lock_person
-- The person's row is locked and their revision one higher: nobody writes anything of theirs meanwhile.
update users set revision = revision + 1, forgettings = forgettings + 1 where org_id = %(org_id)s and user_id = %(user_id)s
returning external_id, revision;

-- name: person_ids
-- Every id under which work or a kept reply may name the person.
select id from sessions where org_id = %(org_id)s and user_id = %(user_id)s
union all select id from turns where org_id = %(org_id)s and user_id = %(user_id)s
union all select id from messages where org_id = %(org_id)s and user_id = %(user_id)s
union all select id from memories where org_id = %(org_id)s and user_id = %(user_id)s
union all select id from todos where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: drop_person
delete from users where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: work
select kind, key, lane from work where org_id = %(org_id)s;

-- name: work_errors
select kind, key, lane, error from work where org_id = %(org_id)s and error is not null;

-- name: rewrite_work_error
-- Not a row that is locked. It is being run or settled, which writes its error anew; and to wait for it could deadlock,
-- since its transaction may wait for the engagement, which forgetting has locked.
update work set error = %(error)s where org_id = %(org_id)s and (kind, key) in (
  select kind, key from work
  where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s and error = %(before)s for update skip locked);

-- name: drop_work
delete from work where org_id = %(org_id)s and kind = %(kind)s and key = %(key)s;

-- name: replies
select caller, key, body, subject, concerns from replies
where org_id = %(org_id)s and (body is not null or subject is not null);

-- name: rewrite_reply
update replies set body = %(body)s, concerns = %(concerns)s
where org_id = %(org_id)s and caller = %(caller)s and key = %(key)s;

-- name: memories
-- Memories with all that was ever said under them.
select m.id, m.content, m.memory_key, m.claim_of, m.entity_refs, m.entity_label, m.note, m.archive_reason,
  m.source, m.sources,
  m.persona_id,
  array(select v.content from memory_versions v
    where v.org_id = m.org_id and v.user_id = m.user_id and v.memory_id = m.id order by v.number) as earlier
from memories m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and m.id = any(%(ids)s);

-- name: folds_of
-- Folds that were made from any of these.
select id, sources from memories
where org_id = %(org_id)s and user_id = %(user_id)s and sources && %(ids)s::text[];

-- name: provenance
select memory_id, message_id, turn_id, starts, ends, quote from memory_provenance
where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s);

-- name: kept_texts
-- What other memories say: their words are nobody's mark.
select m.content, m.entity_label, m.attribute,
  array(select v.content from memory_versions v
    where v.org_id = m.org_id and v.user_id = m.user_id and v.memory_id = m.id) as earlier
from memories m
where m.org_id = %(org_id)s and m.user_id = %(user_id)s and not m.id = any(%(ids)s);

-- name: drop_embeddings
delete from embeddings where org_id = %(org_id)s and user_id = %(user_id)s
  and ((kind = 'memory' and id = any(%(ids)s)) or (kind = 'version' and split_part(id, '/', 1) = any(%(ids)s)));

-- name: drop_message_embeddings
delete from embeddings where org_id = %(org_id)s and user_id = %(user_id)s and kind = 'message' and id = any(%(ids)s);

-- name: drop_note_vectors
delete from note_vectors
where org_id = %(org_id)s and user_id = %(user_id)s and namespace = %(namespace)s and key = %(key)s;

-- name: drop_provenance
delete from memory_provenance where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s);

-- name: drop_versions
delete from memory_versions where org_id = %(org_id)s and user_id = %(user_id)s and memory_id = any(%(ids)s);

-- name: drop_memories
delete from memories where org_id = %(org_id)s and user_id = %(user_id)s and id = any(%(ids)s);

-- name: refs_in_use
select distinct unnest(entity_refs) as ref from memories where org_id = %(org_id)s and user_id = %(user_id)s;

-- name: drop_aliases
delete from entity_aliases where org_id = %(org_id)s and user_id = %(user_id)s
  and (alias = any(%(keys)s) or target = any(%(keys)s) or asked_from = any(%(keys)s));

-- name: drop_merges
delete from entity_merges where org_id = %(org_id)s and user_id = %(user_id)s
  and (source = any(%(keys)s) or target = any(%(keys)s));

-- name: drop_kept_apart
delete from entities_kept_apart where org_id = %(org_id)s and user_id = %(user_id)s
  and (one = any(%(keys)s) or two = any(%(keys)s));

-- name: messages
select id, session_id, turn_id, persona_id, role, content from messages
where org_id = %(org_id)s and user_id = %(user_id)s and id = any(%(ids)s);

-- name: rewrite_message
update messages set content = %(content)s, revision = %(revision)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s;

-- name: drop_rolling_summaries
-- From the first version that was made from what is forgotten: later ones carry earlier ones along.
delete from rolling_summaries r where r.org_id = %(org_id)s and r.user_id = %(user_id)s
  and r.message_count >= (select min(first.message_count) from rolling_summaries first
    where first.org_id = r.org_id and first.user_id = r.user_id and first.persona = r.persona
      and (first.sources && %(ids)s::text[] or first.turn_id = any(%(ids)s)))
returning r.persona;

-- name: reset_rolling_summary
-- The latest version that is left is the current one again.
update session_states s set
  rolling_summary = coalesce((select r.text from rolling_summaries r
    where r.org_id = s.org_id and r.user_id = s.user_id and r.persona = s.persona
    order by r.message_count desc limit 1), ''),
  rolling_count = coalesce((select max(r.message_count) from rolling_summaries r
    where r.org_id = s.org_id and r.user_id = s.user_id and r.persona = s.persona), 0)
where s.org_id = %(org_id)s and s.user_id = %(user_id)s and s.persona = any(%(personas)s);

-- name: drop_session_summaries
update sessions set summary = null, summarized_seq = 0, summarized_by = null, sources = '{}'
where org_id = %(org_id)s and user_id = %(user_id)s and summary is not null
  and (sources && %(ids)s::text[] or id = any(%(sessions)s))
returning id;

-- name: add_entry
insert into forgotten (org_id, id, kind, subject, memory_ids, spans, stones, receipt, at)
values (%(org_id)s, %(id)s, %(kind)s, %(subject)s, %(memory_ids)s, %(spans)s, %(stones)s, %(receipt)s, %(at)s)
on conflict (org_id, id) do nothing;

-- name: entries
select org_id, id, kind, subject, memory_ids, spans, stones, receipt, at from forgotten
where org_id = %(org_id)s and id > %(after)s and (%(subject)s::text is null or subject = %(subject)s)
order by id limit %(most)s;

-- name: open_sessions
select id from sessions where org_id = %(org_id)s and user_id = %(user_id)s and ended_at is null;
