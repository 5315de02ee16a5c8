-- name: ensure_person
insert into users (org_id, user_id, external_id, created_at)
values (%(org_id)s, %(user_id)s, %(external_id)s, %(now)s)
on conflict (org_id, user_id) do nothing

-- name: bump_revision
update users set revision = revision + 1 where org_id = %(org_id)s and user_id = %(user_id)s returning revision

-- name: revision
select revision from users where org_id = %(org_id)s and user_id = %(user_id)s

-- name: external_name
select external_id from users where org_id = %(org_id)s and user_id = %(user_id)s
