import { functionSettings } from "./boards.ts";

/** Most rows that one sweep removes of a kind, so that none holds up commits. */
const sweptMax = 1_000;

/**
 * Removes what nobody can read any more: expired records, rows of tallies, boards and logs that are gone, limits whose window is over,
 * and bytes of blobs that were replaced. It waits for no lock, so that it never stands in a circle.
 */
export const sweepFunctions = `
-- Returns the number of rows that it removed.
create function sweep_1(p_now bigint, p_slack bigint) returns bigint
${functionSettings}
language plpgsql as $$
declare
  swept bigint := 0;
  rows bigint;
  gone bigint;
  old uuid;
begin
  delete from records r where r.ctid = any (array(
    select x.ctid from records x where x.expire_at < p_now - p_slack
    order by x.expire_at limit ${sweptMax} for update skip locked
  ));
  get diagnostics rows = row_count;
  swept := swept + rows;
  delete from limits r where r.ctid = any (array(
    select x.ctid from limits x where x.clear_at < p_now - p_slack
    order by x.clear_at limit ${sweptMax} for update skip locked
  ));
  get diagnostics rows = row_count;
  swept := swept + rows;
  for gone in select x.head from removed_heads x order by x.head limit 10 for update skip locked loop
    rows := drop_rows_1(gone);
    if rows = 0 then delete from removed_heads x where x.head = gone; end if;
    swept := swept + rows + 1;
    exit when swept > ${sweptMax};
  end loop;
  for old in
    select x.id from uploads x where x.clear_at < p_now order by x.clear_at limit 10 for update skip locked
  loop
    delete from chunks c where c.upload = old and c.number in (
      select x.number from chunks x where x.upload = old order by x.number limit 100
    );
    get diagnostics rows = row_count;
    if rows = 0 then delete from uploads x where x.id = old; end if;
    swept := swept + rows + 1;
  end loop;
  return swept;
end $$;
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

/** Number of the parameters of `sweep_1`. */
export const sweepParameters = 2;
