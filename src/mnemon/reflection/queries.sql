-- name: queue_reflection
-- A turn is to be reflected. One that was given up or has failed is queued again; a finished one stays finished.
insert into reflections (org_id, user_id, turn_id, job_id, status, updated_at)
values (%(org_id)s, %(user_id)s, %(turn_id)s, %(job_id)s, 'queued', %(now)s)
on conflict (org_id, user_id, turn_id) do update set
  status = 'queued', job_id = excluded.job_id, updated_at = excluded.updated_at
where reflections.status in ('failed', 'parked')

-- name: reflection
select * from reflections
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s

-- name: start_reflection
update reflections set status = 'running', attempts = attempts + 1, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s

-- name: keep_raw
-- The model's answer is kept before anything is applied.
update reflections set raw = %(raw)s, usage = %(usage)s, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s

-- name: report_reflection
update reflections set status = %(status)s, sections = %(sections)s, rejected = %(rejected)s, error = %(error)s,
  updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s

-- name: fail_reflection
update reflections set status = %(status)s, error = %(error)s, updated_at = %(now)s
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = %(turn_id)s and status <> 'done'

-- name: park_reflection
-- Known by its turn alone, as the work row names it.
update reflections set status = 'parked', error = coalesce(error, %(error)s), updated_at = %(now)s
where org_id = %(org_id)s and turn_id = %(turn_id)s and status <> 'done' and user_id = user_id

-- name: reflection_counts
-- How many of one organization's reflections stand where, for the overview.
select status, count(*) as number from reflections where org_id = %(org_id)s and user_id = user_id group by status

-- name: reflections_of_turns
select * from reflections
where org_id = %(org_id)s and user_id = %(user_id)s and turn_id = any(%(turns)s)

-- name: waiting
-- How many reflections are not done, and since when the oldest of those that are not parked waits.
select count(*) filter (where status <> 'parked') as waiting, count(*) filter (where status = 'parked') as parked,
  min(updated_at) filter (where status <> 'parked') as oldest
from reflections where org_id = %(org_id)s and user_id = user_id and status <> 'done'

-- name: reflected
-- How many turns there are to reflect in all.
select count(*) as number from reflections where org_id = %(org_id)s and user_id = user_id

-- name: reflection_days
-- What reflections cost, by day of UTC.
select (updated_at at time zone 'UTC')::date as day,
  coalesce(sum(least((usage ->> 'input_tokens')::numeric, 1e9)), 0)::bigint as input_tokens,
  coalesce(sum(least((usage ->> 'output_tokens')::numeric, 1e9)), 0)::bigint as output_tokens
from reflections where org_id = %(org_id)s and user_id = user_id and updated_at >= %(since)s and usage is not null
group by 1 order by 1

-- name: unreflected
-- Whether a turn of the person is due to be reflected or being reflected now, and whether any worker takes such work.
-- What failed is tried again later, and what is being answered is not due: neither counts.
select exists (
  select from reflections r
  join work w on w.org_id = r.org_id and w.kind = %(kind)s and w.key = r.turn_id
  where r.org_id = %(org_id)s and r.user_id = %(user_id)s and r.status in ('queued', 'running')
    and w.parked_at is null and (w.due_at <= %(now)s or w.lease_until > %(now)s)
) as due, exists (select from workers where claimed_at >= %(lately)s) as worked
