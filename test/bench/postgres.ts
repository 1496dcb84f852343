/**
 * PostgreSQL beside Redis doing the same work through the same library, each durable as its guide asks for.
 *
 * ```sh
 * npm run bench -- postgres            # all, about five minutes
 * npm run bench -- postgres ranks      # only what begins with this
 * ```
 *
 * PostgreSQL syncs each commit. Redis with AOF does so each second, and in another server after each write. Every sample is a fresh
 * process; rounds reverse the order of the servers. "1" and "64" are calls in flight.
 */
import { Redis } from "ioredis";
import { createPostgresStore, migratePostgres } from "../../adapters/postgres/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { eventId, leagueIds, leagueSeed } from "../season/league.ts";
import { testSecret } from "../support/platform.ts";
import { PostgresProcess } from "../support/postgres.ts";
import { type RedisProcess, startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";
import { fillBoard, memberAt } from "./redis_board_fill.ts";

const rounds = 2;
const warmUpMs = 1_000;
const measuredMs = 2_000;
const partitions = 10_000;
const userCount = 5_000;
const boardMembers = 1_000_000;
/** The partition of the large board, and its schema. */
const board = "bench";

const servers = ["PostgreSQL", "Redis, AOF each second", "Redis, AOF always"] as const;
const rows: Readonly<Record<string, readonly number[]>> = {
  commits: [1, 64],
  reports: [1, 64],
  reads: [64],
  profiles: [64],
  ranks: [64],
};

/** A call that is repeated, and what closes it. */
interface Work {
  call(n: number): Promise<unknown>;
  close(): Promise<void>;
}

async function main(only: string): Promise<void> {
  const postgres = await PostgresProcess.start(["shared_buffers=1GB", "max_wal_size=4GB"]);
  const redis = [
    await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "everysec"] }),
    await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] }),
  ];
  try {
    if ("ranks".startsWith(only)) await fill(postgres, redis);
    const urls = [postgres.url, ...redis.map(server => server.url)];
    for (const [name, levels] of Object.entries(rows).filter(([title]) => title.startsWith(only))) {
      for (const level of levels) await measure(name, level, urls);
    }
  } finally {
    for (const server of [postgres, ...redis]) await server.kill();
  }
}

async function measure(name: string, level: number, urls: readonly string[]): Promise<void> {
  const samples = urls.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++) {
    const order = urls.map((_, index) => index);
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      const words = [name, `${level}`, urls[index] ?? ""];
      samples[index]?.push(await sampleInFreshProcess<number>(import.meta.url, ...words));
    }
  }
  const rates = samples.map(each => Math.round(median(each)).toLocaleString("en"));
  for (const [index, server] of servers.entries()) {
    const raw = samples[index]?.map(each => Math.round(each)).join(" ");
    console.log(`${name}, ${level} in flight, ${server}: ${rates[index]}/s (${raw})`);
  }
  figure(`${name}, ${level} in flight: PostgreSQL; Redis each second; always`, `${rates.join("; ")}/s`);
}

async function sample(name: string, level: number, url: string): Promise<number> {
  const { call, close } = await works[name as keyof typeof works](storeAt(url, name));
  let [next, isRunning] = [0, true];
  const calls = Array.from({ length: level }, async () => {
    while (isRunning) await call(next++);
  });
  await new Promise(resolve => setTimeout(resolve, warmUpMs));
  const [before, startedAt] = [next, performance.now()];
  await new Promise(resolve => setTimeout(resolve, measuredMs));
  const rate = (next - before) / ((performance.now() - startedAt) / 1_000);
  isRunning = false;
  await Promise.all(calls);
  await close();
  return rate;
}

/** Opens an empty store, or that of the large board. */
function storeAt(url: string, name: string): Store {
  const isOwn = name !== "ranks";
  return url.startsWith("redis")
    ? createRedisStore({ server: url, ...(isOwn ? { prefix: `${process.pid}:` } : {}) })
    : createPostgresStore({ server: url, schema: isOwn ? `s${process.pid}` : board });
}

const works = {
  async commits(store: Store): Promise<Work> {
    const value = "x".repeat(200);
    return {
      call: n => store.commit(`p${n % partitions}`, { writes: [{ type: "put", key: "k", value }] }),
      close: async () => await store[Symbol.asyncDispose](),
    };
  },
  async reads(store: Store): Promise<Work> {
    const { call, close } = await works.commits(store);
    await inLanes(partitions, call);
    return { call: n => store.read(`p${n % partitions}`, [{ type: "record", key: "k" }]), close };
  },
  async ranks(store: Store): Promise<Work> {
    return {
      async call(n) {
        const member = memberAt((n * 7_919) % boardMembers);
        const [standing] = await store.read(board, [{ type: "standing", key: "board", member }]);
        if (standing === null) throw new Error(`${member} is not on the board`);
      },
      close: async () => await store[Symbol.asyncDispose](),
    };
  },
  async reports(store: Store): Promise<Work> {
    const { report, close } = await openLeague(store);
    return { call: n => report(userCount + n), close };
  },
  async profiles(store: Store): Promise<Work> {
    const { profile, close } = await openLeague(store);
    return { call: profile, close };
  },
};

const { organisation: organisationId, space: spaceId, project: projectId } = leagueIds;

interface League {
  report(n: number): Promise<unknown>;
  profile(n: number): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens a platform whose users have each reported once. */
async function openLeague(store: Store): Promise<League> {
  const kickOff = Date.UTC(2025, 0, 1);
  await seedDirectory(store, leagueSeed([{ id: "Home - Guests", matchday: 1, kickOff, goals: [1, 0] }]));
  const platform = await createPlatform({ store, secret: testSecret, defaultSpaceId: spaceId });
  const data = { eventId: eventId(1), match: "Home - Guests", outcome: "exact" };
  const userOf = (n: number) => ({ organisationId, spaceId, projectId, userId: memberAt(n % userCount) });
  const league: League = {
    report: n =>
      platform.loyalty.report(userOf(n), {
        action: "prediction",
        actionId: `match-${n}`,
        data,
        isClientReport: true,
      }),
    profile: async n => await platform.loyalty.profile(userOf(n)),
    async close() {
      await platform.idle();
      await platform.close();
      await store[Symbol.asyncDispose]();
    },
  };
  await inLanes(userCount, league.report);
  await platform.idle();
  return league;
}

async function inLanes(count: number, call: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (next < count) await call(next++);
    }),
  );
}

/** Makes a board of a million on each server, as the adapters would, faster. */
async function fill(postgres: PostgresProcess, redis: readonly RedisProcess[]): Promise<void> {
  await migratePostgres({ server: postgres.url, schema: board });
  await postgres.query(`set search_path = ${board};
    insert into heads (partition, shape, key, size, is_counted) values ('${board}', 'b', 'board', ${boardMembers}, true);
    insert into members
      select h.id, convert_to('user:' || lpad(n::text, 8, '0'), 'UTF8'), -floor(random() * 1048576),
        1750000000000 + floor(random() * 1e9)::bigint, null
      from heads h, generate_series(0, ${boardMembers - 1}) n;
    insert into blocks
      select o.head, case n when 0 then '-infinity' else score end, case n when 0 then -1 else tie end,
        case n when 0 then '' else member end, least(48, ${boardMembers} - n)
      from (select m.*, row_number() over (order by score, tie, member) - 1 as n from members m) o where n % 48 = 0;
    insert into block_groups
      select b.head, b.score, b.tie, b.member, least(4608, ${boardMembers} - 48 * n)
      from (select b.*, row_number() over (order by score, tie, member) - 1 as n from blocks b) b where n % 96 = 0`);
  await postgres.query(`vacuum analyze ${board}.members`);
  await postgres.query("checkpoint");
  for (const server of redis) {
    const client = new Redis(server.url);
    await fillBoard(client, board, boardMembers);
    client.disconnect();
  }
}

const [mode = "", row = "", callers = "", url = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample(row, Number(callers), url)));
else await main(mode);
