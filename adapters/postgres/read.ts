import type { BoardEntry, LogEntry, Read, ReadLog } from "../../lib/storage/contract.ts";
import { arrayOf, byteaArray, type Rows } from "./arrays.ts";
import { functionSettings } from "./boards.ts";

export interface PendingRead {
  readonly partition: string;
  readonly queries: readonly Read[];
}

/** Number of the parameters of `read_1`. */
export const readParameters = 12;

/** Returns a number that grows with the work of a read. */
export function readUnits({ queries }: PendingRead): number {
  let units = readBaseUnits;
  for (const query of queries) {
    units += queryUnits;
    if ("limit" in query) units += entryUnits * query.limit;
  }
  return units;
}

/** Most work of reads that share a statement: at most 32. */
export const readUnitsMax = 65_536;
const readBaseUnits = 2_048;
const queryUnits = 128;
const entryUnits = 64;

/** Offset up to which entries of a board are counted off one by one. */
const offsetNearMax = 1_000;

/** A query as the function knows it: see the head of `read_1`. */
interface Row {
  readonly kind: string;
  readonly name?: string | undefined;
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly i?: number | string | undefined;
  readonly j?: number | string | undefined;
  readonly k?: number | string | undefined;
  readonly l?: number | string | undefined;
}

function rowsOf(query: Read): readonly Row[] {
  switch (query.type) {
    case "record":
      return [{ kind: "r" }];
    case "tally":
      return query.fields === undefined ? [{ kind: "t" }] : query.fields.map(name => ({ kind: "f", name }));
    case "board": {
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY, offset = 0, limit } = query;
      return [{ kind: query.reverse === true ? "B" : "b", x: min, y: max, i: limit, j: offset }];
    }
    case "around":
      return [{ kind: "w", name: query.member, i: query.limit }];
    case "standing":
      return [{ kind: query.position === true ? "S" : "s", name: query.member }];
    case "before":
      return [{ kind: "c", x: query.score, i: query.tie ?? 0, name: query.member ?? "" }];
    case "log":
      return [{ kind: query.reverse === true ? "L" : "l", ...logBounds(query), x: query.limit }];
  }
}

const sequenceMax = 2n ** 63n - 1n;

/** Returns the points, time and sequence, between which the entries are. */
function logBounds({
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
  cursor,
  reverse = false,
}: ReadLog): Omit<Row, "kind"> {
  const [ms = "", digits = "0"] = cursor?.split("-") ?? [];
  const sequence = BigInt(digits) > sequenceMax ? sequenceMax : BigInt(digits);
  // Sequences begin at 1.
  let [i, j, k, l]: (number | string)[] = [from, 0, to + 1, 0];
  if (cursor !== undefined && !reverse && Number(ms) >= from) [i, j] = [ms, `${sequence}`];
  if (cursor !== undefined && reverse && Number(ms) <= to) [k, l] = [ms, `${sequence}`];
  return { i, j, k, l };
}

export function readValues(reads: readonly PendingRead[]): readonly unknown[] {
  const queries = reads.flatMap(({ partition, queries }) => queries.map(query => ({ partition, query })));
  const rows = queries.flatMap(({ partition, query }, number) =>
    rowsOf(query).map(row => ({ number, partition, key: query.key, ...row })),
  );
  return [
    arrayOf(rows.map(({ number }) => number)),
    arrayOf(rows.map(({ kind }) => kind)),
    byteaArray(rows.map(({ partition }) => partition)),
    byteaArray(rows.map(({ key }) => key)),
    byteaArray(rows.map(({ name }) => name ?? null)),
    arrayOf(rows.map(({ x }) => x)),
    arrayOf(rows.map(({ y }) => y)),
    arrayOf(rows.map(({ i }) => i)),
    arrayOf(rows.map(({ j }) => j)),
    arrayOf(rows.map(({ k }) => k)),
    arrayOf(rows.map(({ l }) => l)),
    offsetNearMax,
  ];
}

/** Returns the rows of each query of each read. */
export function readAnswers(reads: readonly PendingRead[], rows: Rows): readonly (readonly Rows[])[] {
  let next = 0;
  let number = 0;
  return reads.map(({ queries }) =>
    queries.map(() => {
      const first = next;
      const own = String(number++);
      while (next < rows.length && rows[next]?.[0] === own) next += 1;
      return rows.slice(first, next);
    }),
  );
}

/** Returns the result of a query from its rows. A record that has expired at `now` is absent. */
export function readResult(query: Read, rows: Rows, now: number): unknown {
  const [, name = null, value = null, a = null, b = null, c = null, d = null] = rows[0] ?? [];
  switch (query.type) {
    case "record":
      if (rows.length === 0 || (a !== null && Number(a) <= now)) return null;
      return { value: value ?? "", version: name ?? "" };
    case "tally":
      return new Map(rows.map(([, field, , total]) => [field ?? "", Number(total)]));
    case "board":
      return { entries: rows.slice(1).map(entryOf), size: Number(a) };
    case "around":
      if (rows.length === 0) return null;
      return { entries: rows.slice(1).map(entryOf), size: Number(a), offset: Number(b), below: Number(c) };
    case "standing": {
      if (rows.length === 0) return null;
      const standing = { score: Number(a), tie: Number(b), below: Number(c) };
      return query.position === true ? { ...standing, position: Number(d) } : standing;
    }
    case "before":
      return Number(a);
    case "log":
      return rows.map(
        ([, , text, ms, sequence]): LogEntry => ({
          id: `${ms}-${sequence}`,
          at: Number(ms),
          value: text ?? "",
        }),
      );
  }
}

function entryOf([, member, , score, tie]: Rows[number]): BoardEntry {
  return { member: member ?? "", score: Number(score), tie: Number(tie) };
}

export const readFunctions = `
-- Answers queries from one instant.
--   r  a record
--   t  a tally; f one field of it: name
--   b, B  a board, and in reverse: x = min, y = max, i = limit, j = offset
--   w  members around one: name, i = limit
--   s, S  a standing, and with its position: name
--   c  the members before a point: x = score, i = tie, name
--   l, L  entries of a log, and in reverse, between the points (i, j) and (k, l): x = limit
-- Each row begins with the number of its query. A board begins with a row of its size in a; w has offset in b and rank in c there.
create function read_1(
  p_numbers integer[], p_kinds text[], p_partitions bytea[], p_keys bytea[], p_names bytea[], p_x float8[], p_y float8[],
  p_i bigint[], p_j bigint[], p_k bigint[], p_l bigint[], p_near bigint
) returns table (number text, name bytea, value bytea, a text, b text, c text, d text)
stable ${functionSettings}
language plpgsql as $$
declare
  kind text;
  wanted "char";
  h heads%rowtype;
  own members%rowtype;
  first bigint;
  last bigint;
  size bigint;
  skip bigint;
  lowest float8;
  nothing constant bytea := null;
  none constant text := null;
begin
  for n in 1 .. cardinality(p_kinds) loop
    kind := p_kinds[n];
    number := p_numbers[n];
    if kind = 'r' then
      return query select number, r.version, r.value, r.expire_at::text, none, none, none from records r
        where r.partition = p_partitions[n] and r.key = p_keys[n];
      continue;
    end if;
    wanted := case when kind in ('t', 'f') then 't' when kind in ('l', 'L') then 'l' else 'b' end;
    if h.id is null or h.shape <> wanted or h.key <> p_keys[n] or h.partition <> p_partitions[n] then
      select * into h from heads x
        where x.partition = p_partitions[n] and x.shape = wanted and x.key = p_keys[n];
    end if;
    case
    when kind = 't' then
      return query select number, f.field, nothing, f.value::text, none, none, none from fields f where f.head = h.id;
    when kind = 'f' then
      return query select number, f.field, nothing, f.value::text, none, none, none from fields f
        where f.head = h.id and f.field = p_names[n];
    when kind in ('b', 'B') then
      name := null;
      value := null;
      a := coalesce(h.size, 0);
      b := null;
      c := null;
      d := null;
      return next;
      if p_i[n] = 0 or h.id is null then
        null;
      elsif kind = 'b' and (p_j[n] <= p_near or not h.is_counted) then
        return query select number, m.member, nothing, m.score::text, m.tie::text, none, none from members m
          where m.head = h.id and m.score >= p_x[n] and m.score <= p_y[n]
          order by m.score, m.tie, m.member offset p_j[n] limit p_i[n];
      elsif p_j[n] <= p_near or not h.is_counted then
        return query select number, m.member, nothing, m.score::text, m.tie::text, none, none from members m
          where m.head = h.id and m.score >= p_x[n] and m.score <= p_y[n]
          order by m.score desc, m.tie desc, m.member desc offset p_j[n] limit p_i[n];
      else
        first := rank_1(h.id, true, p_x[n], -1, '');
        last := rank_1(h.id, true, p_y[n], 9223372036854775807, '');
        if kind = 'b' then
          first := first + p_j[n];
          last := least(last, first + p_i[n]);
        else
          last := last - p_j[n];
          first := greatest(first, last - p_i[n]);
        end if;
        if first >= last then
          null;
        elsif kind = 'b' then
          return query select number, m.member, nothing, m.score::text, m.tie::text, none, none
            from page_1(h.id, first, last - first) m;
        else
          return query select number, m.member, nothing, m.score::text, m.tie::text, none, none
            from page_1(h.id, first, last - first) m order by m.score desc, m.tie desc, m.member desc;
        end if;
      end if;
    when kind = 'c' then
      return query select number, nothing, nothing,
        coalesce(rank_1(h.id, h.is_counted, p_x[n], p_i[n], p_names[n]), 0)::text, none, none, none;
    when kind in ('s', 'S') then
      select * into own from members m where m.head = h.id and m.member = p_names[n];
      if found then
        return query select number, nothing, nothing, own.score::text, own.tie::text,
          rank_1(h.id, h.is_counted, own.score, -1, '')::text,
          case when kind = 'S' then rank_1(h.id, h.is_counted, own.score, own.tie, own.member)::text end;
      end if;
    when kind = 'w' then
      select * into own from members m where m.head = h.id and m.member = p_names[n];
      if found then
        first := rank_1(h.id, h.is_counted, own.score, own.tie, own.member);
        size := least(p_i[n], h.size);
        skip := least(first, greatest((p_i[n] - 1) / 2, size - (h.size - first)));
        lowest := own.score;
        if skip > 0 then
          select m.score into lowest from members m
            where m.head = h.id and (m.score, m.tie, m.member) < (own.score, own.tie, own.member)
            order by m.score desc, m.tie desc, m.member desc offset skip - 1 limit 1;
        end if;
        return query select number, nothing, nothing, h.size::text, (first - skip)::text,
          rank_1(h.id, h.is_counted, lowest, -1, '')::text, none;
        return query select number, m.member, nothing, m.score::text, m.tie::text, none, none from (
          (select * from members m
            where m.head = h.id and (m.score, m.tie, m.member) < (own.score, own.tie, own.member)
            order by m.score desc, m.tie desc, m.member desc limit skip)
          union all
          (select * from members m
            where m.head = h.id and (m.score, m.tie, m.member) >= (own.score, own.tie, own.member)
            order by m.score, m.tie, m.member limit size - skip)
        ) m order by m.score, m.tie, m.member;
      end if;
    when kind = 'l' then
      return query select number, nothing, e.value, e.ms::text, e.seq::text, none, none from log_entries e
        where e.head = h.id and (e.ms, e.seq) > (p_i[n], p_j[n]) and (e.ms, e.seq) < (p_k[n], p_l[n])
        order by e.ms, e.seq limit p_x[n];
    else
      return query select number, nothing, e.value, e.ms::text, e.seq::text, none, none from log_entries e
        where e.head = h.id and (e.ms, e.seq) > (p_i[n], p_j[n]) and (e.ms, e.seq) < (p_k[n], p_l[n])
        order by e.ms desc, e.seq desc limit p_x[n];
    end case;
  end loop;
end $$;
`;
