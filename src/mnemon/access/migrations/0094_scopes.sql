-- Writing personas, pushing prices and running jobs again have scopes of their own. A key or a sign-in that could do
-- these goes on doing them.
update keys set grants = array_append(grants, 'personas:write')
where bound_user is null and 'memory:write' = any(grants) and not 'personas:write' = any(grants);
update keys set grants = array_append(grants, 'prices:write')
where bound_user is null and 'agents:write' = any(grants) and not 'prices:write' = any(grants);
update keys set grants = array_append(grants, 'jobs:write')
where bound_user is null and 'jobs' = any(grants) and not 'jobs:write' = any(grants);

update signins set grants = array_append(grants, 'personas:write')
where 'memory:write' = any(grants) and not 'personas:write' = any(grants);
update signins set grants = array_append(grants, 'prices:write')
where 'agents:write' = any(grants) and not 'prices:write' = any(grants);
update signins set grants = array_append(grants, 'jobs:write')
where 'jobs' = any(grants) and not 'jobs:write' = any(grants);

-- A key that is bound to one person has no scope that reaches beyond that person.
update keys set grants = array(
  select word from unnest(grants) as word
  where word in ('chat', 'memory:read', 'memory:write', 'custody', 'agent-state:read', 'agent-state:write') order by word)
where bound_user is not null;
