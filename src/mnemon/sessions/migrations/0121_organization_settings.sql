-- What an organization chooses for all its conversations; without a row, the defaults. Belongs to the organization.
create table organization_settings (
  org_id       text primary key,
  engagement   text not null check (engagement in ('on', 'off')),
  time_zone    text not null,
  instructions text not null,
  updated_at   timestamptz not null
);
