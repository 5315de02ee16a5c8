-- The model whose vectors recall uses, per organization. Vectors of other models may stand beside them.
create table active_embedders (
  org_id  text not null,
  model   text not null,
  since   timestamptz not null,
  -- False from the flip to another model until a server has looked after what was written in between.
  settled boolean not null default true,
  primary key (org_id)
);
