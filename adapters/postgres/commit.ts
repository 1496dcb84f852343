import { type Batch, type Commit, storageLimits, type Write } from "../../lib/storage/contract.ts";
import { arrayOf, byteaArray, type Rows } from "./arrays.ts";
import { functionSettings } from "./boards.ts";
import { locksOf } from "./locks.ts";
import { uncountedMembersMax } from "./options.ts";

export interface PendingCommit {
  readonly partition: string;
  /** Number of the lock of the partition. */
  readonly lock: bigint;
  readonly batch: Batch;
  readonly version: string;
  /** Unix ms. */
  readonly now: number;
}

/** Number of the parameters of `commit_1`. */
export const commitParameters = 17;

/** Returns a number that grows with the work of a batch. */
export function commitUnits({ batch: { checks = [], writes } }: PendingCommit): number {
  let units = batchUnits + writeUnits * (checks.length + writes.length);
  for (const write of writes) if ("value" in write) units += write.value.length;
  return units;
}

/** Most work of commits that share a transaction: at most 32, which is below the 64 subtransactions that PostgreSQL keeps cheaply. */
export const commitUnitsMax = 65_536;
const batchUnits = 2_048;
const writeUnits = 64;

const scoreOps = { set: "=", min: "<", max: ">", add: "+" } as const;
const removals = { record: "r", tally: "T", board: "B", log: "L" } as const;

interface Row {
  readonly op: string;
  readonly name?: string;
  readonly value?: string;
  readonly a?: number | undefined;
  readonly b?: number | undefined;
  readonly c?: number | undefined;
  readonly score?: number;
}

/** Returns a write as the function knows it: see the head of `apply_1`. */
function rowOf(write: Write): Row {
  switch (write.type) {
    case "put":
      return { op: "p", value: write.value, a: write.expireAt };
    case "delete":
      return { op: removals[write.shape] };
    case "add":
      return { op: "a", name: write.field, a: write.by, b: write.min, c: write.max };
    case "score":
      return {
        op: scoreOps[write.op],
        name: write.member,
        // Adding 0 turns -0 into 0.
        score: write.score + 0,
        a: write.tie ?? 0,
        b: write.asOf,
      };
    case "unscore":
      return { op: "u", name: write.member };
    case "append":
      return { op: "l", value: write.value, a: write.at, b: write.maxLength };
  }
}

export function commitValues(commits: readonly PendingCommit[]): readonly unknown[] {
  const checks = commits.flatMap(({ batch }) => batch.checks ?? []);
  const writes = commits.flatMap(({ batch }) => batch.writes);
  const rows = writes.map(rowOf);
  return [
    locksOf(commits),
    byteaArray(commits.map(({ partition }) => partition)),
    byteaArray(commits.map(({ version }) => version)),
    arrayOf(commits.map(({ now }) => now)),
    arrayOf(commits.map(({ batch }) => batch.checks?.length ?? 0)),
    arrayOf(commits.map(({ batch }) => batch.writes.length)),
    byteaArray(checks.map(({ key }) => key)),
    byteaArray(checks.map(check => ("absent" in check ? check.absent : null))),
    byteaArray(checks.map(check => ("absent" in check ? null : check.version))),
    arrayOf(rows.map(({ op }) => op)),
    byteaArray(writes.map(({ key }) => key)),
    byteaArray(rows.map(({ name }) => name ?? null)),
    byteaArray(rows.map(({ value }) => value ?? null)),
    arrayOf(rows.map(({ a }) => a)),
    arrayOf(rows.map(({ b }) => b)),
    arrayOf(rows.map(({ c }) => c)),
    arrayOf(rows.map(({ score }) => score)),
  ];
}

/** Returns the outcome of each commit; a `RangeError` where a tally would have more fields than it may. */
export function commitOutcomes(
  commits: readonly PendingCommit[],
  rows: Rows,
): readonly (Commit | RangeError)[] {
  return commits.map(({ batch, version }, index) => {
    const [status, results] = rows[index] ?? [];
    const [reason = "", number] = (status ?? "").split(" ");
    const at = Number(number) - 1;
    if (reason === "check") return { ok: false, because: reason, key: batch.checks?.[at]?.key ?? "" };
    if (reason === "guard") return { ok: false, because: reason, key: batch.writes[at]?.key ?? "" };
    if (reason === "size") {
      return new RangeError(
        `Cannot add to the tally: it must have at most ${storageLimits.tallyFieldsMax} fields`,
      );
    }
    const texts = (results ?? "").split(",");
    return { ok: true, version, results: batch.writes.map((write, at) => resultOf(write, texts[at] ?? "")) };
  });
}

function resultOf({ type }: Write, text: string): number | string | null {
  if (type === "append") return text;
  return type === "add" || type === "score" ? Number(text) : null;
}

export const commitFunctions = `
-- Returns the number of the first check that does not hold, or 0.
create function check_1(
  p_partition bytea, p_now bigint, p_first integer, p_last integer,
  p_keys bytea[], p_fields bytea[], p_versions bytea[]
) returns integer
language plpgsql as $$
declare
  found_version bytea;
begin
  for i in p_first .. p_last loop
    if p_fields[i] is not null then
      perform from heads h join fields f on f.head = h.id
        where h.partition = p_partition and h.shape = 't' and h.key = p_keys[i] and f.field = p_fields[i];
      if found then return i - p_first + 1; end if;
    else
      found_version := (
        select r.version from records r
        where r.partition = p_partition and r.key = p_keys[i] and (r.expire_at is null or r.expire_at > p_now)
      );
      if found_version is distinct from p_versions[i] then return i - p_first + 1; end if;
    end if;
  end loop;
  return 0;
end $$;

-- Applies the writes of one batch in their order, and returns their results with commas between.
--   p  put a record: value, a = expire_at        r  remove it
--   a  add to a field: name, a, b = min, c = max
--   =, <, >, +  set, min, max, add a score: name, score, a = tie, b = as_of
--   u  take a member off: name
--   l  append to a log: value, a = time, b = most entries
--   T, B, L  remove a tally, board or log
-- Raises GS001 where a guard refuses write n of the batch, GS002 where a tally would be too large.
create function apply_1(
  p_partition bytea, p_version bytea, p_now bigint, p_first integer, p_last integer, p_ops text[], p_keys bytea[],
  p_names bytea[], p_values bytea[], p_a bigint[], p_b bigint[], p_c bigint[], p_scores float8[]
) returns text
language plpgsql as $$
declare
  h heads%rowtype;
  is_changed boolean := false;
  kind "char";
  op text;
  result text;
  results text[] := '{}';
  total bigint;
  scored record;
  gone members%rowtype;
begin
  for i in p_first .. p_last loop
    op := p_ops[i];
    result := '';
    if op = 'p' and (p_a[i] is null or p_a[i] > p_now) then
      insert into records as r values (p_partition, p_keys[i], p_version, p_a[i], p_values[i])
        on conflict (partition, key) do update
        set version = excluded.version, expire_at = excluded.expire_at, value = excluded.value;
    elsif op = 'p' or op = 'r' then
      delete from records r where r.partition = p_partition and r.key = p_keys[i];
    else
      kind := case when op in ('a', 'T') then 't' when op in ('l', 'L') then 'l' else 'b' end;
      if h.id is null or h.shape <> kind or h.key <> p_keys[i] then
        -- The head of the writes before is kept once for all of them.
        if is_changed then perform keep_1(h); end if;
        is_changed := false;
        select * into h from heads x where x.partition = p_partition and x.shape = kind and x.key = p_keys[i];
        if not found and op in ('a', '=', '<', '>', '+', 'l') then
          insert into heads (partition, shape, key) values (p_partition, kind, p_keys[i]) returning * into h;
        end if;
      end if;
      if op = 'a' then
        update fields f set value = f.value + p_a[i] where f.head = h.id and f.field = p_names[i]
          returning f.value into total;
        if not found then
          total := p_a[i];
          insert into fields values (h.id, p_names[i], total);
          h.size := h.size + 1;
          is_changed := true;
        end if;
        if total < greatest(p_b[i], -9007199254740991) or total > least(p_c[i], 9007199254740991) then
          raise exception using errcode = 'GS001', message = i - p_first + 1;
        end if;
        if h.size > ${storageLimits.tallyFieldsMax} then
          raise exception using errcode = 'GS002', message = i - p_first + 1;
        end if;
        result := total;
      elsif op in ('=', '<', '>', '+') then
        scored := score_1(h.id, h.is_counted, op, p_names[i], p_scores[i], p_a[i], p_b[i]);
        if scored.r_score is null then
          raise exception using errcode = 'GS001', message = i - p_first + 1;
        end if;
        result := scored.r_score;
        if scored.r_is_new then
          h.size := h.size + 1;
          is_changed := true;
          if not h.is_counted and h.size > ${uncountedMembersMax} then
            insert into blocks values (h.id, '-infinity', -1, '', h.size - 1);
            h.is_counted := true;
          end if;
          if h.is_counted then perform count_1(h.id, scored.r_score, p_a[i], p_names[i], 1); end if;
        end if;
      elsif op = 'u' then
        delete from members m where m.head = h.id and m.member = p_names[i] returning * into gone;
        if found then
          h.size := h.size - 1;
          is_changed := true;
          if h.is_counted then perform count_1(h.id, gone.score, gone.tie, gone.member, -1); end if;
        end if;
      elsif op = 'l' then
        if p_a[i] > h.last_ms then
          h.last_ms := p_a[i];
          h.last_seq := 1;
        else
          h.last_seq := h.last_seq + 1;
        end if;
        insert into log_entries values (h.id, h.last_ms, h.last_seq, p_values[i]);
        result := h.last_ms || '-' || h.last_seq;
        h.size := h.size + 1;
        is_changed := true;
        if h.size > p_b[i] then
          delete from log_entries e where e.head = h.id and (e.ms, e.seq) < (
            select k.ms, k.seq from log_entries k where k.head = h.id
            order by k.ms, k.seq offset h.size - p_b[i] limit 1
          );
          h.size := p_b[i];
        end if;
      elsif h.id is not null then
        delete from heads x where x.id = h.id;
        insert into removed_heads values (h.id);
        h.id := null;
        is_changed := false;
      end if;
    end if;
    results := array_append(results, result);
  end loop;
  if is_changed then perform keep_1(h); end if;
  return array_to_string(results, ',');
end $$;

create function keep_1(p_head heads) returns void
language plpgsql as $$
begin
  update heads x set size = p_head.size, last_ms = p_head.last_ms, last_seq = p_head.last_seq,
    is_counted = p_head.is_counted where x.id = p_head.id;
end $$;

-- Commits batches, each on its own: one that is refused takes nothing with it. Its status is 'check n' or 'guard n' then.
create function commit_1(
  p_locks bigint[], p_partitions bytea[], p_versions bytea[], p_nows bigint[], p_checks integer[], p_writes integer[],
  p_check_keys bytea[], p_check_fields bytea[], p_check_versions bytea[],
  p_ops text[], p_keys bytea[], p_names bytea[], p_values bytea[],
  p_a bigint[], p_b bigint[], p_c bigint[], p_scores float8[]
) returns table (status text, results text)
${functionSettings}
language plpgsql as $$
declare
  checks integer := 0;
  writes integer := 0;
  failed integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'commits need the isolation read committed: give the user default_transaction_isolation';
  end if;
  perform pg_advisory_xact_lock(k) from unnest(p_locks) as k;
  for i in 1 .. cardinality(p_partitions) loop
    status := '';
    results := '';
    failed := check_1(
      p_partitions[i], p_nows[i], checks + 1, checks + p_checks[i], p_check_keys, p_check_fields, p_check_versions
    );
    if failed > 0 then
      status := 'check ' || failed;
    elsif p_writes[i] > 0 then
      -- A subtransaction, which a refusal rolls back.
      begin
        results := apply_1(
          p_partitions[i], p_versions[i], p_nows[i], writes + 1, writes + p_writes[i],
          p_ops, p_keys, p_names, p_values, p_a, p_b, p_c, p_scores
        );
      exception
        when sqlstate 'GS001' then status := 'guard ' || sqlerrm;
        when sqlstate 'GS002' then status := 'size ' || sqlerrm;
      end;
    end if;
    checks := checks + p_checks[i];
    writes := writes + p_writes[i];
    return next;
  end loop;
end $$;
`;
