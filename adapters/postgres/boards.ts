import { blockMembersMax, groupBlocksMax } from "./options.ts";

/**
 * Functions of boards. A board of more than {@linkcode uncountedMembersMax} members is counted in blocks, and many blocks are counted in
 * groups. The rank of a member is the sum of the groups before its own, of the blocks before its own in that, and the number of members
 * before it in its block. A group begins where one of its blocks does, and so does a block with one of its members.
 *
 * Their signatures are those of the first version of the schema, so that processes which run on keep groups too.
 */
export const boardFunctions = `
-- Changes the counts of the block and the group that a member stands in. Nobody else changes the board: rows are where they were found.
create or replace function count_1(p_head bigint, p_score float8, p_tie bigint, p_member bytea, p_by integer) returns void
language plpgsql as $$
declare
  block blocks%rowtype;
begin
  update blocks b set size = b.size + p_by where b.ctid = (
    select x.ctid from blocks x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ) returning b.* into block;
  update block_groups g set size = g.size + p_by where g.ctid = (
    select x.ctid from block_groups x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  );
  if block.size > ${blockMembersMax} or p_by < 0 and block.size <= ${blockMembersMax / 4} then perform fit_block_1(block); end if;
end $$;

-- Counts a member in another place.
create or replace function move_1(
  p_head bigint, p_score float8, p_tie bigint, p_to_score float8, p_to_tie bigint, p_member bytea
) returns void
language plpgsql as $$
declare
  block_from tid;
  block_to tid;
  group_from tid;
  group_to tid;
  block blocks%rowtype;
begin
  select (
    select x.ctid from blocks x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ), (
    select x.ctid from blocks x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_to_score, p_to_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ), (
    select x.ctid from block_groups x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ), (
    select x.ctid from block_groups x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_to_score, p_to_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ) into block_from, block_to, group_from, group_to;
  if block_from = block_to then return; end if;
  if group_from <> group_to then
    update block_groups g set size = g.size + case when g.ctid = group_from then -1 else 1 end
      where g.ctid = any (array[group_from, group_to]);
  end if;
  for block in
    update blocks b set size = b.size + case when b.ctid = block_from then -1 else 1 end
      where b.ctid = any (array[block_from, block_to]) returning b.*
  loop
    if block.size > ${blockMembersMax} or block.size <= ${blockMembersMax / 4} then perform fit_block_1(block); end if;
  end loop;
end $$;

-- Splits a block that is full, and joins one that is nearly empty with the one before.
create or replace function fit_block_1(p_block blocks) returns void
language plpgsql as $$
declare
  block blocks%rowtype;
  other blocks%rowtype;
  moved integer;
begin
  -- The one that was fitted before may have joined it.
  select * into block from blocks b
    where b.head = p_block.head and (b.score, b.tie, b.member) = (p_block.score, p_block.tie, p_block.member);
  if block.size > ${blockMembersMax} then
    select m.head, m.score, m.tie, m.member, block.size - block.size / 2 into other from members m
      where m.head = block.head and (m.score, m.tie, m.member) >= (block.score, block.tie, block.member)
      order by m.score, m.tie, m.member offset block.size / 2 limit 1;
    insert into blocks select other.*;
    update blocks b set size = block.size / 2
      where b.head = block.head and (b.score, b.tie, b.member) = (block.score, block.tie, block.member);
    perform split_group_1(block);
  elsif block.size <= ${blockMembersMax / 4} and block.score > '-infinity' then
    select * into other from blocks b
      where b.head = block.head and (b.score, b.tie, b.member) < (block.score, block.tie, block.member)
      order by b.score desc, b.tie desc, b.member desc limit 1;
    if block.size > 0 and block.size + other.size > ${blockMembersMax / 2} then return; end if;
    delete from blocks b
      where b.head = block.head and (b.score, b.tie, b.member) = (block.score, block.tie, block.member);
    update blocks b set size = b.size + block.size
      where b.head = block.head and (b.score, b.tie, b.member) = (other.score, other.tie, other.member);
    delete from block_groups g
      where g.head = block.head and (g.score, g.tie, g.member) = (block.score, block.tie, block.member)
      returning g.size into moved;
    if found then
      -- The block began a group, which joins the one before.
      update block_groups g set size = g.size + moved where g.ctid = (
        select x.ctid from block_groups x
        where x.head = block.head and (x.score, x.tie, x.member) < (block.score, block.tie, block.member)
        order by x.score desc, x.tie desc, x.member desc limit 1
      );
      perform split_group_1(other);
    end if;
  end if;
end $$;

-- Splits the group that a block stands in, if it is full.
create or replace function split_group_1(p_block blocks) returns void
language plpgsql as $$
declare
  own block_groups%rowtype;
  following block_groups%rowtype;
  middle blocks%rowtype;
  total integer;
  blocks_now integer;
  moved integer;
begin
  select * into own from block_groups g
    where g.head = p_block.head and (g.score, g.tie, g.member) <= (p_block.score, p_block.tie, p_block.member)
    order by g.score desc, g.tie desc, g.member desc limit 1;
  if not found then own := (p_block.head, '-infinity', -1, '', null); end if;
  select * into following from block_groups g
    where g.head = p_block.head and (g.score, g.tie, g.member) > (own.score, own.tie, own.member)
    order by g.score, g.tie, g.member limit 1;
  if not found then following := (p_block.head, 'infinity', 0, '', null); end if;
  select count(*), sum(b.size) into blocks_now, total from blocks b
    where b.head = p_block.head and (b.score, b.tie, b.member) >= (own.score, own.tie, own.member)
      and (b.score, b.tie, b.member) < (following.score, following.tie, following.member);
  if blocks_now <= ${groupBlocksMax} then return; end if;
  select * into middle from blocks b
    where b.head = p_block.head and (b.score, b.tie, b.member) >= (own.score, own.tie, own.member)
    order by b.score, b.tie, b.member offset blocks_now / 2 limit 1;
  select sum(b.size) into moved from blocks b
    where b.head = p_block.head and (b.score, b.tie, b.member) >= (middle.score, middle.tie, middle.member)
      and (b.score, b.tie, b.member) < (following.score, following.tie, following.member);
  insert into block_groups values (p_block.head, own.score, own.tie, own.member, total - moved)
    on conflict (head, score, tie, member) do update set size = excluded.size;
  insert into block_groups values (p_block.head, middle.score, middle.tie, middle.member, moved);
end $$;

-- Returns the number of members before a point of the order of a board.
create or replace function rank_1(p_head bigint, p_is_counted boolean, p_score float8, p_tie bigint, p_member bytea) returns bigint
stable language plpgsql as $$
declare
  block_score float8;
  block_tie bigint;
  block_member bytea;
  group_score float8;
  group_tie bigint;
  group_member bytea;
  rank bigint;
begin
  if not p_is_counted then
    select count(*) into rank from members m
      where m.head = p_head and (m.score, m.tie, m.member) < (p_score, p_tie, p_member);
    return rank;
  end if;
  select b.score, b.tie, b.member, coalesce(g.score, '-infinity'), coalesce(g.tie, -1), coalesce(g.member, '')
    into block_score, block_tie, block_member, group_score, group_tie, group_member from (
    select x.* from blocks x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ) b left join (
    select x.* from block_groups x
    where x.head = p_head and (x.score, x.tie, x.member) <= (p_score, p_tie, p_member)
    order by x.score desc, x.tie desc, x.member desc limit 1
  ) g on true;
  select coalesce((
    select sum(g.size) from block_groups g
    where g.head = p_head and (g.score, g.tie, g.member) < (group_score, group_tie, group_member)
  ), 0) + coalesce((
    select sum(b.size) from blocks b
    where b.head = p_head and (b.score, b.tie, b.member) >= (group_score, group_tie, group_member)
      and (b.score, b.tie, b.member) < (block_score, block_tie, block_member)
  ), 0) + (
    select count(*) from members m
    where m.head = p_head and (m.score, m.tie, m.member) >= (block_score, block_tie, block_member)
      and (m.score, m.tie, m.member) < (p_score, p_tie, p_member)
  ) into rank;
  return rank;
end $$;

-- Returns so many members of a counted board from a position on.
create or replace function page_1(p_head bigint, p_position bigint, p_limit bigint) returns setof members
stable language plpgsql as $$
declare
  own block_groups%rowtype;
  block record;
  rest bigint := p_position;
begin
  for own in select * from block_groups g where g.head = p_head
    order by g.score, g.tie, g.member
  loop
    exit when rest < own.size;
    rest := rest - own.size;
  end loop;
  if not found then own := (p_head, '-infinity', -1, '', null); end if;
  for block in select b.score, b.tie, b.member, b.size from blocks b
    where b.head = p_head and (b.score, b.tie, b.member) >= (own.score, own.tie, own.member)
    order by b.score, b.tie, b.member
  loop
    exit when rest < block.size;
    rest := rest - block.size;
  end loop;
  return query select * from members m
    where m.head = p_head and (m.score, m.tie, m.member) >= (block.score, block.tie, block.member)
    order by m.score, m.tie, m.member offset rest limit p_limit;
end $$;

-- Adds two scores as decimal numbers, in the steps of addDecimals in lib/base/text; null beyond the safe integers.
create or replace function sum_1(p_old float8, p_by float8) returns float8
immutable language plpgsql as $$
declare
  most float8 := greatest(abs(p_old), abs(p_by));
  total float8;
  scale float8 := 1e9;
  bound float8 := 1e6;
begin
  -- PostgreSQL refuses a sum that is infinite.
  if most > 9007199254740991 and (p_old > 0) = (p_by > 0) then return null; end if;
  total := p_old + p_by;
  if total <> floor(total) then
    while most >= bound and scale > 1 loop
      bound := bound * 10;
      scale := scale / 10;
    end loop;
    total := sign(total) * floor(abs(total) * scale + 0.5) / scale;
  end if;
  if abs(total) > 9007199254740991 then return null; end if;
  return total + 0;
end $$;

-- Gives a member a score, and returns the one that it has then; null where a guard refuses it.
create or replace function score_1(
  p_head bigint, p_is_counted boolean, p_op text, p_member bytea, p_score float8, p_tie bigint, p_as_of bigint,
  out r_score float8, out r_is_new boolean
)
language plpgsql as $$
declare
  old members%rowtype;
begin
  r_is_new := false;
  select * into old from members m where m.head = p_head and m.member = p_member;
  if not found then
    insert into members values (p_head, p_member, p_score, p_tie, p_as_of);
    r_score := p_score;
    r_is_new := true;
    return;
  end if;
  r_score := old.score;
  if p_as_of <= old.as_of then return; end if;
  r_score := case p_op
    when '=' then p_score
    when '<' then least(old.score, p_score)
    when '>' then greatest(old.score, p_score)
    else sum_1(old.score, p_score)
  end;
  if r_score is null then return; end if;
  if r_score = old.score then
    if p_as_of is not null then
      update members m set as_of = p_as_of where m.head = p_head and m.member = p_member;
    end if;
    return;
  end if;
  update members m set score = r_score, tie = p_tie, as_of = coalesce(p_as_of, old.as_of)
    where m.head = p_head and m.member = p_member;
  if p_is_counted then
    perform move_1(p_head, old.score, old.tie, r_score, p_tie, p_member);
  end if;
end $$;
`;

/**
 * Settings of the functions that a statement calls. Each look-up has an index; a plan that was made while a table was empty, and would
 * read all of it, must never be taken.
 */
export const functionSettings = `
  set search_path from current
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_sort = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set jit = off
  set plan_cache_mode = force_generic_plan
  set extra_float_digits = 1`;
