import { useAheadMsMax, windowBuckets } from "../../lib/storage/ports.ts";
import { functionSettings } from "./boards.ts";

/** Functions of queues, limits and blobs, apart from their callers, which need the schema that is made of them. */
export const portFunctions = `
-- Appends messages to a topic, all of them or none, and returns their ids; nothing where it would hold more than it may. The row of the
-- topic is locked until the end of the transaction, so that ids are visible in their order.
create function push_1(p_topic bytea, p_bodies bytea[], p_depth_max bigint, p_now bigint) returns table (id text)
${functionSettings}
language plpgsql as $$
declare
  depth_now integer;
begin
  insert into topics values (p_topic, 0) on conflict do nothing;
  select t.depth into depth_now from topics t where t.topic = p_topic for update;
  if depth_now + cardinality(p_bodies) > p_depth_max then return; end if;
  update topics t set depth = depth_now + cardinality(p_bodies) where t.topic = p_topic;
  for i in 1 .. cardinality(p_bodies) loop
    insert into messages as m (topic, accepted_at, body) values (p_topic, p_now, p_bodies[i])
      returning m.id::text into id;
    return next;
  end loop;
end $$;

-- Settles messages: they are never handed out again.
create function ack_1(p_topic bytea, p_ids bigint[]) returns void
${functionSettings}
language plpgsql as $$
declare
  settled integer;
begin
  -- The topic comes first, as for a push: no two transactions wait for each other.
  perform from topics t where t.topic = p_topic for update;
  delete from messages m where m.topic = p_topic and m.id = any (p_ids);
  get diagnostics settled = row_count;
  if settled > 0 then update topics t set depth = t.depth - settled where t.topic = p_topic; end if;
end $$;

-- Ends every lease of a topic now.
create function release_1(p_topic bytea) returns void
${functionSettings}
language plpgsql as $$
begin
  update messages m set leased_until = -1 where m.topic = p_topic and m.leased_until >= 0;
end $$;

-- Returns the time in ms until a bucket does not count any more.
create function until_end_1(p_bucket bigint, p_now bigint, p_window bigint) returns bigint
immutable language sql as $$
  select greatest(1, ceil((p_bucket + ${windowBuckets + 1}) * p_window / ${windowBuckets}.0)::bigint - p_now)
$$;

-- For each of several subjects, spends units of every rule, or of none where one refuses: a sliding window in buckets of a hundredth of
-- the window, as lib/storage/ports.ts has it. Returns a row for each rule: the units that count, the time in ms until none of them does,
-- and the time after which the cost would be allowed, or 0.
create function spend_1(
  p_locks bigint[], p_time bigint, p_subjects bytea[], p_costs bigint[], p_rules integer[],
  p_names bytea[], p_limits bigint[], p_windows bigint[]
) returns table (total bigint, reset_ms bigint, retry_ms bigint)
${functionSettings}
language plpgsql as $$
declare
  now_ms bigint := coalesce(p_time, floor(extract(epoch from clock_timestamp()) * 1000));
  start integer := 0;
  cost bigint;
  is_allowed boolean;
  bucket bigint;
  ahead bigint;
  is_redated boolean;
  excess bigint;
  state limits%rowtype;
  states limits[];
  waits bigint[];
  nows bigint[];
  are_redated boolean[];
begin
  if pg_is_in_recovery() then
    -- A replica cannot even read an unlogged table, and would not say why in terms that callers know.
    raise exception using errcode = 'read_only_sql_transaction', message = 'cannot spend on a read-only replica';
  end if;
  perform pg_advisory_xact_lock(k) from unnest(p_locks) as k;
  for s in 1 .. cardinality(p_subjects) loop
    cost := p_costs[s];
    is_allowed := true;
    states := '{}';
    waits := '{}';
    nows := '{}';
    are_redated := '{}';
    for r in start + 1 .. start + p_rules[s] loop
      bucket := floor(now_ms * ${windowBuckets}.0 / p_windows[r]);
      is_redated := false;
      select * into state from limits l where l.subject = p_subjects[s] and l.rule = p_names[r];
      if not found then
        state.subject := p_subjects[s];
        state.rule := p_names[r];
        state.buckets := '{}';
        state.units := '{}';
      else
        -- A clock that goes back gives nothing back. Uses of one that was over a minute ahead are dated now, or they would count until
        -- that time.
        ahead := state.buckets[cardinality(state.buckets)] - bucket;
        if ahead * p_windows[r] / ${windowBuckets}.0 > ${useAheadMsMax} then
          is_redated := true;
          state.buckets := array(select b - ahead from unnest(state.buckets) with ordinality as u(b, n) order by n);
        elsif ahead > 0 then
          bucket := bucket + ahead;
        end if;
        while state.buckets[1] < bucket - ${windowBuckets} loop
          state.buckets := state.buckets[2:];
          state.units := state.units[2:];
        end loop;
      end if;
      total := coalesce((select sum(u) from unnest(state.units) as u), 0);
      retry_ms := 0;
      excess := total + cost - p_limits[r];
      if excess > 0 then
        is_allowed := false;
        for n in 1 .. cardinality(state.units) loop
          excess := excess - state.units[n];
          if excess <= 0 or n = cardinality(state.units) then
            retry_ms := until_end_1(state.buckets[n], now_ms, p_windows[r]);
            exit;
          end if;
        end loop;
      end if;
      states := array_append(states, state);
      waits := array_append(waits, retry_ms);
      nows := array_append(nows, bucket);
      are_redated := array_append(are_redated, is_redated);
    end loop;
    for n in 1 .. p_rules[s] loop
      state := states[n];
      if is_allowed then
        bucket := nows[n];
        if state.buckets[cardinality(state.buckets)] = bucket then
          state.units[cardinality(state.units)] := state.units[cardinality(state.units)] + cost;
        else
          state.buckets := array_append(state.buckets, bucket);
          state.units := array_append(state.units, cost);
        end if;
      end if;
      total := coalesce((select sum(u) from unnest(state.units) as u), 0);
      reset_ms := 0;
      retry_ms := waits[n];
      if total > 0 then
        reset_ms := until_end_1(state.buckets[cardinality(state.buckets)], now_ms, p_windows[start + n]);
      end if;
      if is_allowed or are_redated[n] then
        -- To the minute, so that most uses change no index.
        state.clear_at := ((now_ms + reset_ms) / 60000 + 1) * 60000;
        insert into limits select state.* on conflict (subject, rule) do update
          set buckets = excluded.buckets, units = excluded.units, clear_at = excluded.clear_at;
      end if;
      return next;
    end loop;
    start := start + p_rules[s];
  end loop;
end $$;

create function forget_1(p_subject bytea, p_rules bytea[]) returns void
${functionSettings}
language plpgsql as $$
begin
  delete from limits l where l.subject = p_subject and l.rule = any (p_rules);
end $$;

create function now_1() returns bigint
volatile language sql as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- Keeps one chunk of a blob that is arriving, and for so long what has arrived.
create function chunk_1(p_upload uuid, p_number integer, p_bytes bytea, p_ms bigint) returns void
${functionSettings}
language plpgsql as $$
begin
  insert into uploads values (p_upload, now_1() + p_ms) on conflict (id) do update set clear_at = excluded.clear_at;
  insert into chunks values (p_upload, p_number, p_bytes);
end $$;

create function abandon_1(p_upload uuid) returns void
${functionSettings}
language plpgsql as $$
begin
  delete from uploads u where u.id = p_upload;
  delete from chunks c where c.upload = p_upload;
end $$;

-- Makes the blob of an upload; false where chunks are missing. The bytes of the blob before stay for so long.
create function complete_1(p_name text, p_upload uuid, p_count integer, p_size bigint, p_ms bigint) returns boolean
${functionSettings}
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema || ' blobs ' || p_name, 0));
  perform from uploads u where u.id = p_upload for update;
  if p_count <> (select count(*) from chunks c where c.upload = p_upload) then return false; end if;
  update uploads u set clear_at = now_1() + p_ms where u.id = (select b.upload from blobs b where b.name = p_name);
  update uploads u set clear_at = null where u.id = p_upload;
  insert into blobs values (p_name, p_upload, p_size)
    on conflict (name) do update set upload = excluded.upload, size = excluded.size;
  return true;
end $$;

create function remove_1(p_name text, p_ms bigint) returns void
${functionSettings}
language plpgsql as $$
declare
  gone uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema || ' blobs ' || p_name, 0));
  delete from blobs b where b.name = p_name returning b.upload into gone;
  update uploads u set clear_at = now_1() + p_ms where u.id = gone;
end $$;
`;

/** Messages that are handed out, in the order of arrival, so that a look for those whose lease ended meets no new ones. */
export const takeFunction = `
create index if not exists messages_taken on messages (topic, id) where leased_until is not null;

-- Hands out messages under a lease, first those whose lease ended, then new ones, each in the order of arrival. What another consumer
-- takes at the same time is skipped.
create or replace function take_1(p_topic bytea, p_now bigint, p_until bigint, p_limit bigint)
returns table (id text, body bytea, attempts text)
${functionSettings}
language plpgsql as $$
declare
  soonest bigint;
  ids bigint[] := '{}';
  fresh bigint[];
  one bigint;
begin
  select m.leased_until into soonest from messages m
    where m.topic = p_topic and m.leased_until is not null order by m.leased_until limit 1;
  if soonest <= p_now then
    ids := array(
      select m.id from messages m where m.topic = p_topic and m.leased_until <= p_now
      order by m.id limit p_limit for update skip locked
    );
  end if;
  if cardinality(ids) < p_limit then
    fresh := array(
      select m.id from messages m where m.topic = p_topic and m.leased_until is null
      order by m.id limit p_limit - cardinality(ids) for update skip locked
    );
    ids := ids || fresh;
  end if;
  foreach one in array ids loop
    update messages m set leased_until = p_until, attempts = m.attempts + 1
      where m.topic = p_topic and m.id = one
      returning m.id::text, m.body, m.attempts::text into id, body, attempts;
    return next;
  end loop;
end $$;
`;

export const forgetFunction = `
-- Forgets what a subject has spent. A use that is decided at the same time has read that already, and would write it again.
create or replace function forget_2(p_lock bigint, p_subject bytea, p_rules bytea[]) returns void
${functionSettings}
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(p_lock);
  delete from limits l where l.subject = p_subject and l.rule = any (p_rules);
end $$;
`;
