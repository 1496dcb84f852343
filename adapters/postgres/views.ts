/** Views for people, which decode users, balances and entries of leaderboards. The README describes their columns. */
export const views: string = String.raw`
-- Returns bytes as a text; null where they hold U+0000.
create function text_1(p_bytes bytea) returns text
immutable strict parallel safe language plpgsql as $$
begin
  return convert_from(p_bytes, 'UTF8');
exception when others then
  return null;
end $$;

-- Returns a JSON text parsed, with U+FFFD in place of U+0000, which jsonb cannot hold; null where it is none that jsonb can hold.
create function json_1(p_bytes bytea) returns jsonb
immutable strict parallel safe language plpgsql as $$
begin
  begin
    return convert_from(p_bytes, 'UTF8')::jsonb;
  exception when untranslatable_character then
    return regexp_replace(convert_from(p_bytes, 'UTF8'), '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::jsonb;
  end;
exception when others then
  return null;
end $$;

-- Returns a part of the name of a partition, counted from 1, without its escapes.
create function part_1(p_partition text, p_number integer) returns text
immutable strict parallel safe language sql as $$
  select replace(replace(replace(replace(
    split_part(p_partition, ':', p_number), '%3A', ':'), '%7B', '{'), '%7D', '}'), '%25', '%')
$$;

create view projects as
  select r.value ->> 'organisationId' as organisation, r.value ->> 'spaceId' as space, r.value ->> 'id' as project,
    r.value ->> 'name' as name, coalesce((r.value ->> 'archived')::boolean, false) as is_archived
  from (
    select json_1(x.value) as value from records x
    where x.key = 'project' and x.partition like 'p:%:directory' and split_part(text_1(x.partition), ':', 3) = 'directory'
  ) r;

create view users as
  select p.organisation, p.space, u.project, u.user_id, u.value ->> 'username' as name, u.value ->> 'provider' as provider,
    to_timestamp((u.value ->> 'signUp')::float8) as signed_up_at,
    to_timestamp((u.value -> 'loginHistory' ->> -1)::float8) as logged_in_at,
    u.value ? 'ban' as is_banned, u.value ->> 'mergedInto' as merged_into
  from (
    select part_1(text_1(x.partition), 2) as project, part_1(text_1(x.partition), 4) as user_id, json_1(x.value) as value
    from records x
    where x.key = 'user' and x.partition like 'p:%:user:%' and split_part(text_1(x.partition), ':', 3) = 'user'
      and (x.expire_at is null or x.expire_at > extract(epoch from now()) * 1000)
  ) u
  left join projects p on p.project = u.project;

create view balances as
  select l.organisation, p.space, l.state ->> 'projectId' as project, l.user_id, m.key as currency, m.value::numeric as balance,
    coalesce((l.state -> 'lifetime' -> m.key ->> 0)::numeric, 0) as earned,
    coalesce((l.state -> 'lifetime' -> m.key ->> 1)::numeric, 0) as spent,
    to_timestamp((l.state ->> 'changedAt')::float8 / 1000) as changed_at,
    to_timestamp((l.state ->> 'dueAt')::float8 / 1000) as due_at
  from (
    select part_1(text_1(x.partition), 2) as organisation, part_1(text_1(x.partition), 4) as user_id, json_1(x.value) as state
    from records x
    where x.key = 'loyalty' and x.partition like 'o:%:loyalty:%' and split_part(text_1(x.partition), ':', 3) = 'loyalty'
  ) l
  cross join lateral jsonb_each_text(l.state -> 'metrics') m
  left join projects p on p.project = l.state ->> 'projectId'
  where not l.state ? 'mergedInto';

-- A board whose best score is the highest keeps its scores negated.
create view entries as
  select p.organisation, p.space, p.project, nullif(part_1(b.name, 4), '') as event, part_1(b.name, 5) as board,
    nullif(part_1(b.name, 6), '') as season, text_1(m.member) as user_id,
    case when coalesce(e.declared, o.declared) ->> 'order' = 'asc' then m.score else -m.score end + 0 as score,
    to_timestamp(m.tie / 1000.0) as reached_at
  from (
    select h.id, text_1(h.partition) as name from heads h
    where h.shape = 'b' and h.key = 'board' and h.partition like 'p:%:board:%' and split_part(text_1(h.partition), ':', 3) = 'board'
  ) b
  join projects p on p.project = part_1(b.name, 2)
  left join lateral (
    select jsonb_path_query_first(
      json_1(r.value), '$.settings.leaderboards[*] ? (@.id == $id)', jsonb_build_object('id', part_1(b.name, 5)), true
    ) as declared
    from records r
    where r.partition = convert_to('p:' || split_part(b.name, ':', 2) || ':directory', 'UTF8')
      and r.key = convert_to('event:' || split_part(b.name, ':', 4), 'UTF8')
  ) e on true
  left join lateral (
    select jsonb_path_query_first(
      json_1(r.value),
      case when split_part(b.name, ':', 4) = '' then '$.settings.leaderboards[*] ? (@.id == $id)'::jsonpath
        else '$.settings.eventLeaderboards[*] ? (@.id == $id)'::jsonpath end,
      jsonb_build_object('id', part_1(b.name, 5)), true
    ) as declared
    from records r
    where r.partition = convert_to('p:' || split_part(b.name, ':', 2) || ':directory', 'UTF8') and r.key = 'project'
  ) o on true
  join members m on m.head = b.id;
`;

/** Returns the SQL of bytes as a text; null where they hold U+0000, as a query may look at rows that its view leaves out. */
function plain(bytes: string): string {
  return `case when position('\\x00'::bytea in ${bytes}) = 0 then convert_from(${bytes}, 'UTF8') end`;
}

/** Views of what is stored, as texts. */
export const textViews: string = String.raw`
create or replace view documents as
  select ${plain("r.partition")} as partition, ${plain("r.key")} as key, ${plain("r.value")} as value,
    to_timestamp(r.expire_at / 1000.0) as expires_at
  from records r
  where position('\x00'::bytea in r.partition || r.key || r.value) = 0
    and (r.expire_at is null or r.expire_at > extract(epoch from now()) * 1000);
create or replace view tallies as
  select ${plain("h.partition")} as partition, ${plain("h.key")} as key, ${plain("f.field")} as field, f.value
  from heads h join fields f on f.head = h.id
  where position('\x00'::bytea in h.partition || h.key || f.field) = 0;
create or replace view boards as
  select ${plain("h.partition")} as partition, ${plain("h.key")} as key, ${plain("m.member")} as member, m.score, m.tie
  from heads h join members m on m.head = h.id
  where position('\x00'::bytea in h.partition || h.key || m.member) = 0;
create or replace view logs as
  select ${plain("h.partition")} as partition, ${plain("h.key")} as key, to_timestamp(e.ms / 1000.0) as at,
    ${plain("e.value")} as value
  from heads h join log_entries e on e.head = h.id
  where position('\x00'::bytea in h.partition || h.key || e.value) = 0;
`;
