import { type MadeSchema, type PostgresAdapterOptions, unavailable } from "./options.ts";
import { clientOf, Database, prepare, readTime, Session } from "./session.ts";

/** Facts of a PostgreSQL server, for its operator. */
export interface PostgresFacts {
  readonly version: string;
  /** False where a crash may lose what was acknowledged. */
  readonly isPersistent: boolean;
  /** Connections that users may still open. */
  readonly connectionsLeft: number;
  readonly connectionsMax: number;
  /** Round trips in ms, the fastest first. */
  readonly latenciesMs: readonly number[];
  /** Clock of this process minus that of the server, in ms. */
  readonly clockAheadMs: number;
}

const pings = 20;
const factsQuery = `select current_setting('server_version'),
  current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on'
    and current_setting('synchronous_commit') <> 'off',
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
  (select count(*) from pg_stat_activity where backend_type = 'client backend')`;

/**
 * Reads what an operator wants to know of PostgreSQL.
 *
 * @throws {AppError} `storage_unavailable`: the server does not answer, takes no writes, or its schema cannot be used.
 */
export async function inspectPostgres(server: string): Promise<PostgresFacts> {
  await using session = new Session(new Database({ server }));
  const latenciesMs: number[] = [];
  let clockAheadMs = 0;
  for (let ping = 0; ping < pings; ping++) {
    const startedAt = performance.now();
    const time = await readTime(session);
    latenciesMs.push(performance.now() - startedAt);
    clockAheadMs = Date.now() - time;
  }
  const [row] = await session.call({ name: "facts", text: factsQuery }, [], { isRead: true });
  if (row === undefined) throw unavailable("the server does not name its settings");
  const [version, isPersistent, most, used] = row;
  return {
    version: version ?? "",
    isPersistent: isPersistent === "t",
    connectionsLeft: Number(most) - Number(used),
    connectionsMax: Number(most),
    latenciesMs: latenciesMs.sort((a, b) => a - b),
    clockAheadMs,
  };
}

/**
 * Creates the schema, or brings it up to date, and takes as long as that needs. Every process does so with its first call, as far as
 * its user may: call it as one who may where they may not.
 *
 * @throws {TypeError} The URL or the schema cannot be used.
 * @throws {AppError} `storage_unavailable`: the server cannot be reached or refuses; the message says why.
 */
export async function migratePostgres(options: PostgresAdapterOptions): Promise<MadeSchema> {
  const database = new Database(options);
  const client = clientOf(database);
  client.on("error", () => {});
  try {
    return await prepare(client, database);
  } finally {
    await client.close();
  }
}
