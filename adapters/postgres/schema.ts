/** The schema, which is created and brought up to date by whichever process comes first, in one transaction. */
import { type Client, DatabaseError } from "pg";
import { boardFunctions } from "./boards.ts";
import { commitFunctions } from "./commit.ts";
import { groupBlocksMax, type MadeSchema, unavailable, versionMin } from "./options.ts";
import { forgetFunction, portFunctions, takeFunction } from "./port_functions.ts";
import { readFunctions } from "./read.ts";
import { dropFunction, sweepFunctions } from "./sweep.ts";
import { textViews, views } from "./views.ts";

/**
 * Names and values are bytes, as texts of PostgreSQL cannot hold U+0000. Rows that change in place find room on their page
 * (`fillfactor`), so that no index changes with them.
 */
const tables = `
create table records (
  partition bytea not null,
  key bytea not null,
  version bytea not null,
  expire_at bigint,
  value bytea not null,
  primary key (partition, key)
) with (fillfactor = 80);
create index records_expire_at on records (expire_at) where expire_at is not null;

-- One for each tally (t), board (b) and log (l).
create table heads (
  id bigint generated always as identity primary key,
  partition bytea not null,
  shape "char" not null,
  key bytea not null,
  -- Number of fields, members or entries.
  size integer not null default 0,
  -- The last entry of a log.
  last_ms bigint not null default -1,
  last_seq bigint not null default 0,
  -- True for a board whose members are counted in blocks.
  is_counted boolean not null default false,
  unique (partition, shape, key)
) with (fillfactor = 70);

-- Heads that are gone, whose rows are removed little by little.
create table removed_heads (
  head bigint primary key
);

create table fields (
  head bigint not null,
  field bytea not null,
  value bigint not null,
  primary key (head, field)
) with (fillfactor = 70);

create table log_entries (
  head bigint not null,
  ms bigint not null,
  seq bigint not null,
  value bytea not null,
  primary key (head, ms, seq)
) with (autovacuum_vacuum_scale_factor = 0.05);

create table members (
  head bigint not null,
  member bytea not null,
  score double precision not null,
  tie bigint not null,
  as_of bigint,
  primary key (head, member)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
create unique index members_order on members (head, score, tie, member);

-- Members of a large board from (score, tie, member) up to the next block.
create table blocks (
  head bigint not null,
  score double precision not null,
  tie bigint not null,
  member bytea not null,
  size integer not null,
  primary key (head, score, tie, member)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

create table topics (
  topic bytea primary key,
  depth integer not null
) with (fillfactor = 50);

create table messages (
  topic bytea not null,
  id bigint generated always as identity,
  accepted_at bigint not null,
  -- Null: it was never handed out.
  leased_until bigint,
  attempts integer not null default 0,
  body bytea not null,
  primary key (topic, id)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index messages_new on messages (topic, id) where leased_until is null;
create index messages_leased on messages (topic, leased_until) where leased_until is not null;

-- What a crash of the server forgets: limits begin anew then.
create unlogged table limits (
  subject bytea not null,
  rule bytea not null,
  buckets bigint[] not null,
  units bigint[] not null,
  clear_at bigint not null,
  primary key (subject, rule)
) with (fillfactor = 50);
create index limits_clear_at on limits (clear_at);

create table uploads (
  id uuid primary key,
  -- Null: a blob is made of it.
  clear_at bigint
);
create index uploads_clear_at on uploads (clear_at) where clear_at is not null;

create table chunks (
  upload uuid not null,
  number integer not null,
  bytes bytea not null,
  primary key (upload, number)
);
-- Files are compressed already, or sealed.
alter table chunks alter column bytes set storage external;

create table blobs (
  name text primary key,
  upload uuid not null,
  size bigint not null
);
`;

/**
 * Blocks of a large board are counted in groups from (score, tie, member) up to the next group. A change of a board writes its member
 * first: one that counts no groups yet has ended once members are locked, and one that waits for the lock counts them.
 */
const groups = `
lock table members in exclusive mode;
create table block_groups (
  head bigint not null,
  score double precision not null,
  tie bigint not null,
  member bytea not null,
  size integer not null,
  primary key (head, score, tie, member)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
insert into block_groups
  select n.head, (array_agg(n.score order by n.number))[1], (array_agg(n.tie order by n.number))[1],
    (array_agg(n.member order by n.number))[1], sum(n.size)
  from (
    select b.*, row_number() over (partition by b.head order by b.score, b.tie, b.member) - 1 as number from blocks b
  ) n
  group by n.head, n.number / ${groupBlocksMax / 2};
-- Those who may use the blocks may use the groups.
do $$
declare
  granted record;
begin
  for granted in
    select a.privilege_type as privilege, case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role
    from pg_class c, aclexplode(c.relacl) a where c.oid = 'blocks'::regclass and a.grantee <> c.relowner
  loop
    execute format('grant %s on block_groups to %s', granted.privilege, granted.role);
  end loop;
end $$;
`;

/** What makes each version of the schema of the one before. Functions of former versions stay for processes that run on. */
const migrations: readonly string[] = [
  [tables, commitFunctions, readFunctions, portFunctions, views].join("\n"),
  [groups, boardFunctions, dropFunction].join("\n"),
  [takeFunction, forgetFunction, sweepFunctions, textViews].join("\n"),
];

/** Version of the schema that this version of the package works with. */
const schemaVersion: number = migrations.length;
/** Oldest version that the schema still serves: processes that know no later one run on beside those of this. */
const servedVersionMin = 1;

/**
 * Creates the schema, or brings it up to date, where that is not so.
 *
 * @param onMigrate Is called before that begins, which may take longer than any call.
 * @throws {AppError} `storage_unavailable`: server or schema cannot be used; the message says why.
 */
export async function requireSchema(
  client: Client,
  schema: string,
  onMigrate?: () => void,
): Promise<MadeSchema> {
  const text = `select current_setting('server_version'), current_setting('server_version_num'), ${foundVersion(schema)}`;
  const { rows } = await client.query<(string | null)[]>({ text, rowMode: "array" });
  const [[name = "", number = "0", found = null] = []] = rows;
  if (Number(number) < versionMin * 10_000) {
    throw unavailable(`version ${versionMin} or later is needed, the server has ${name}`);
  }
  if (found === "t") return { schema, version: schemaVersion, from: schemaVersion };
  try {
    onMigrate?.();
    const from = await migrate(client, schema);
    return { schema, version: Math.max(from, schemaVersion), from };
  } catch (error) {
    throw error instanceof DatabaseError ? unmade(error, schema) : error;
  }
}

/** SQL that is true where the schema has this version: then nothing else needs to be asked. */
function foundVersion(schema: string): string {
  return `obj_description(to_regnamespace('${schema}'), 'pg_namespace') = '${commentOf(schemaVersion)}'`;
}

function commentOf(version: number): string {
  return `Grandstand, schema version ${version}, for processes of version ${servedVersionMin} or later`;
}
const commentForm =
  /^Grandstand, schema version (\d{1,9})(?:, for processes of version (\d{1,9}) or later)?$/;

async function migrate(client: Client, schema: string): Promise<number> {
  await client.query("begin");
  try {
    // A large table may take longer to change than a call may take.
    await client.query("set local statement_timeout = 0");
    await client.query(`select pg_advisory_xact_lock(hashtextextended('grandstand ${schema}', 0))`);
    const { from, served } = await versionOf(client, schema);
    if (served > schemaVersion) {
      throw unavailable(
        `the schema ${schema} has version ${from}, and this process knows ${schemaVersion} at most: a later release made it`,
      );
    }
    if (from > schemaVersion) {
      await client.query("rollback");
      return from;
    }
    await client.query(`create schema if not exists ${schema}; set local search_path = ${schema}`);
    for (const migration of migrations.slice(from)) await client.query(migration);
    await client.query(`comment on schema ${schema} is '${commentOf(schemaVersion)}'`);
    await client.query("commit");
    return from;
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

interface FoundVersion {
  /** Version of the schema, 0 if it is absent or empty. */
  readonly from: number;
  /** Oldest version of processes that it serves. */
  readonly served: number;
}

/** @throws {AppError} Something else is in the schema. */
async function versionOf(client: Client, schema: string): Promise<FoundVersion> {
  const { rows } = await client.query<(string | null)[]>({
    text: `select obj_description(to_regnamespace($1), 'pg_namespace'),
      (select count(*) from pg_class where relnamespace = to_regnamespace($1))::text`,
    values: [schema],
    rowMode: "array",
  });
  const [[comment = null, tables = "0"] = []] = rows;
  const [, version, served = version] = commentForm.exec(comment ?? "") ?? [];
  if (version === undefined && tables !== "0") {
    throw unavailable(`the schema ${schema} has tables of another application: give it a schema of its own`);
  }
  return { from: Number(version ?? 0), served: Number(served ?? 0) };
}

function unmade(error: DatabaseError, schema: string): Error {
  if (error.code === "42501") {
    return unavailable(
      `the schema ${schema} is missing or of an earlier version, and this user may not make it (${error.message}): ` +
        "run grandstand migrate as one who may",
      error,
    );
  }
  if (error.code === "25006") return unavailable("the server takes no writes", error);
  return unavailable(`the schema ${schema} cannot be made (${error.message})`, error);
}
