-- Whom a kept reply concerns, by internal id, so that forgetting finds it also where it names none of their ids.
alter table replies add column concerns text[] not null default '{}';

-- A note that nests deeper than 100 levels was taken once and could not be read again, nor anything listed with it. It is
-- kept as the text of its JSON. New ones are refused (json_limits.py).
update notes set value = to_jsonb(value::text)
where exists (
  select from jsonb_path_query(value, 'strict $.**{100}') as inner_value
  where jsonb_typeof(inner_value) in ('object', 'array'));
