import { functionSettings } from "./boards.ts";

/** Most rows that one sweep removes of a kind, so that none holds up commits. */
const sweptMax = 1_000;
/** Most chunks of files that one sweep removes: 8 MiB. */
const sweptChunksMax = 32;

/**
 * Remove what nobody can read any more: expired records, rows of tallies, boards and logs that are gone, limits whose window is over,
 * and bytes of blobs that were replaced. They wait for no lock, so that they never stand in a circle, and return the number of rows that
 * they removed. Without a time, that of the server counts.
 */
export const sweepFunctions = `
create or replace function sweep_records_1(p_now bigint, p_slack bigint) returns bigint
${functionSettings}
language plpgsql as $$
declare
  swept bigint := 0;
  rows bigint;
  gone bigint;
begin
  delete from records r where r.ctid = any (array(
    select x.ctid from records x where x.expire_at < coalesce(p_now, now_1()) - p_slack
    order by x.expire_at limit ${sweptMax} for update skip locked
  ));
  get diagnostics rows = row_count;
  swept := swept + rows;
  for gone in select x.head from removed_heads x order by x.head limit 10 for update skip locked loop
    rows := drop_rows_1(gone);
    if rows = 0 then delete from removed_heads x where x.head = gone; end if;
    swept := swept + rows + 1;
    exit when swept > ${sweptMax};
  end loop;
  return swept;
end $$;

create or replace function sweep_limits_1(p_now bigint, p_slack bigint) returns bigint
${functionSettings}
language plpgsql as $$
declare
  rows bigint;
begin
  delete from limits r where r.ctid = any (array(
    select x.ctid from limits x where x.clear_at < coalesce(p_now, now_1()) - p_slack
    order by x.clear_at limit ${sweptMax} for update skip locked
  ));
  get diagnostics rows = row_count;
  return rows;
end $$;

create or replace function sweep_uploads_1(p_now bigint) returns bigint
${functionSettings}
language plpgsql as $$
declare
  swept bigint := 0;
  rows bigint;
  old uuid;
begin
  for old in
    select x.id from uploads x where x.clear_at < coalesce(p_now, now_1())
    order by x.clear_at limit 10 for update skip locked
  loop
    delete from chunks c where c.upload = old and c.number in (
      select x.number from chunks x where x.upload = old order by x.number limit ${sweptChunksMax} - swept
    );
    get diagnostics rows = row_count;
    swept := swept + rows;
    exit when swept >= ${sweptChunksMax};
    delete from uploads x where x.id = old;
    swept := swept + 1;
  end loop;
  return swept;
end $$;

-- Removes all of it for processes of the versions before.
create or replace function sweep_1(p_now bigint, p_slack bigint) returns bigint
language sql
set search_path from current
as $$
  select sweep_records_1(p_now, p_slack) + sweep_limits_1(p_now, p_slack) + sweep_uploads_1(p_now)
$$;
`;

export const dropFunction = `
-- Removes rows of a head that is gone, and returns their number.
create or replace function drop_rows_1(p_head bigint) returns bigint
language plpgsql as $$
declare
  rows bigint := 0;
  part bigint;
begin
  delete from fields f where f.head = p_head and f.field = any (array(
    select x.field from fields x where x.head = p_head order by x.field limit ${sweptMax}
  ));
  get diagnostics part = row_count;
  rows := rows + part;
  delete from members m where m.head = p_head and m.member = any (array(
    select x.member from members x where x.head = p_head order by x.member limit ${sweptMax}
  ));
  get diagnostics part = row_count;
  rows := rows + part;
  delete from log_entries e where e.head = p_head and (e.ms, e.seq) <= (
    select x.ms, x.seq from (
      select y.ms, y.seq from log_entries y where y.head = p_head order by y.ms, y.seq limit ${sweptMax}
    ) x order by x.ms desc, x.seq desc limit 1
  );
  get diagnostics part = row_count;
  rows := rows + part;
  delete from blocks b where b.head = p_head;
  delete from block_groups g where g.head = p_head;
  return rows;
end $$;
`;
