-- How often recall was asked, by day of UTC: a figure for the overview, without a query or a person in it.
create table recall_days (
  org_id text not null,
  day    date not null,
  number bigint not null,
  primary key (org_id, day)
);
