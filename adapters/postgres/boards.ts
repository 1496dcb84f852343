import { blockMembersMax } from "./options.ts";

/**
 * Functions of boards. A board of more than {@linkcode blockMembersMax} members is counted in blocks: the rank of a member is the sum of
 * the blocks before its own, and the number of members before it in that.
 */
export const boardFunctions = `
-- Changes the count of the block that a member stands in. A block that is full is split, one that is nearly empty joins the one before.
create function count_1(p_head bigint, p_score float8, p_tie bigint, p_member bytea, p_by integer) returns void
language plpgsql as $$
declare
  block blocks%rowtype;
  other blocks%rowtype;
begin
  select * into block from blocks b
    where b.head = p_head and (b.score, b.tie, b.member) <= (p_score, p_tie, p_member)
    order by b.score desc, b.tie desc, b.member desc limit 1;
  block.size := block.size + p_by;
  if p_by > 0 and block.size > ${blockMembersMax} then
    select m.head, m.score, m.tie, m.member, block.size - block.size / 2 into other from members m
      where m.head = p_head and (m.score, m.tie, m.member) >= (block.score, block.tie, block.member)
      order by m.score, m.tie, m.member offset block.size / 2 limit 1;
    insert into blocks select other.*;
    block.size := block.size / 2;
  elsif p_by < 0 and block.size <= ${blockMembersMax / 4} and block.score > '-infinity' then
    select * into other from blocks b
      where b.head = p_head and (b.score, b.tie, b.member) < (block.score, block.tie, block.member)
      order by b.score desc, b.tie desc, b.member desc limit 1;
    if block.size = 0 or block.size + other.size <= ${blockMembersMax / 2} then
      delete from blocks b
        where b.head = p_head and (b.score, b.tie, b.member) = (block.score, block.tie, block.member);
      block.score := other.score;
      block.tie := other.tie;
      block.member := other.member;
      block.size := block.size + other.size;
    end if;
  end if;
  update blocks b set size = block.size
    where b.head = p_head and (b.score, b.tie, b.member) = (block.score, block.tie, block.member);
end $$;

-- Returns the number of members before a point of the order of a board.
create function rank_1(p_head bigint, p_is_counted boolean, p_score float8, p_tie bigint, p_member bytea) returns bigint
stable language plpgsql as $$
declare
  block blocks%rowtype;
  before bigint := 0;
  inside bigint;
begin
  if p_is_counted then
    select * into block from blocks b
      where b.head = p_head and (b.score, b.tie, b.member) <= (p_score, p_tie, p_member)
      order by b.score desc, b.tie desc, b.member desc limit 1;
    if not found then return 0; end if;
    select coalesce(sum(b.size), 0) into before from blocks b
      where b.head = p_head and (b.score, b.tie, b.member) < (block.score, block.tie, block.member);
    select count(*) into inside from members m
      where m.head = p_head and (m.score, m.tie, m.member) >= (block.score, block.tie, block.member)
        and (m.score, m.tie, m.member) < (p_score, p_tie, p_member);
  else
    select count(*) into inside from members m
      where m.head = p_head and (m.score, m.tie, m.member) < (p_score, p_tie, p_member);
  end if;
  return before + inside;
end $$;

-- Returns so many members of a counted board from a position on.
create function page_1(p_head bigint, p_position bigint, p_limit bigint) returns setof members
stable language plpgsql as $$
declare
  block record;
  rest bigint := p_position;
begin
  for block in select b.score, b.tie, b.member, b.size from blocks b where b.head = p_head
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
create function sum_1(p_old float8, p_by float8) returns float8
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
create function score_1(
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
    perform count_1(p_head, old.score, old.tie, p_member, -1);
    perform count_1(p_head, r_score, p_tie, p_member, 1);
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
