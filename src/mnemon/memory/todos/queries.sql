-- name: open
-- Open todos told to this persona, or to none, oldest first.
select * from todos
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s
  and status = 'open'
order by created_at, id;

-- name: listed
select * from todos
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s
  and status = coalesce(%(status)s, status) and kind = coalesce(%(kind)s, kind)
  and (%(before_at)s::timestamptz is null
       or (created_at, id) < (%(before_at)s::timestamptz, %(before_id)s::text))
order by created_at desc, id desc
limit %(most)s;

-- name: by_id
select * from todos where org_id = %(org_id)s and id = %(id)s and (%(user_id)s::text is null or user_id = %(user_id)s);

-- name: of_turn
-- Whether the turn has opened this todo before, whatever became of it since.
select * from todos
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s
  and todo_key = %(todo_key)s and turn_id = %(turn_id)s
limit 1;

-- name: closed_by
-- Whether the turn has closed a todo with these words before.
select 1 as found from todos
where org_id = %(org_id)s and user_id = %(user_id)s and persona_id is not distinct from %(persona_id)s
  and closing_turn_id = %(turn_id)s and closing_quote = %(quote)s
limit 1;

-- name: insert
insert into todos (
  org_id, user_id, id, persona_id, kind, content, todo_key, status, source, turn_id, message_id, quote, created_at,
  updated_at)
values (
  %(org_id)s, %(user_id)s, %(id)s, %(persona_id)s, %(kind)s, %(content)s, %(todo_key)s, 'open', %(source)s,
  %(turn_id)s, %(message_id)s, %(quote)s, %(at)s, %(at)s)
on conflict (org_id, user_id, persona_id, todo_key) where status = 'open'
do update set updated_at = greatest(todos.updated_at, excluded.updated_at)
returning *, (xmax = 0) as created;

-- name: update
update todos set
  kind = %(kind)s, content = %(content)s, todo_key = %(todo_key)s, status = %(status)s, updated_at = %(at)s,
  closed_at = %(closed_at)s, closing_turn_id = %(closing_turn_id)s, closing_quote = %(closing_quote)s
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(id)s
returning *;
