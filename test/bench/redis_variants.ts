/** What `test/bench/redis.ts` measures: each thing through the contract and by hand with bare ioredis. */
import { Redis } from "ioredis";
import { createClient, RedisConnection } from "../../adapters/redis/connection.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import type { Version } from "../../lib/storage/mod.ts";

/** One measured thing, opened. */
export interface Bench {
  /** Makes `callsPerTurn` calls. */
  call(caller: number): Promise<unknown>;
  /** @default 1 */
  readonly callsPerTurn?: number;
  /** Processor time that the server has used, in microseconds. */
  serverCpuUs(): Promise<number>;
  close(): Promise<unknown> | unknown;
}
type Open = (socket: string) => Promise<Bench>;

const partitionsPerCaller = 100;
const profile = JSON.stringify({
  name: "Ada",
  points: 12_345,
  badges: ["first", "fast"],
  note: "x".repeat(200),
});
const entry = JSON.stringify({ type: "award", points: 10, reason: "answer", at: 1_700_000_000_000 });
const boards = { "100,000": 100_000, "1,000,000": 1_000_000 } as const;
type BoardSize = keyof typeof boards;

/** The script that somebody would write for exactly this batch. */
const dedicatedScript = `
if string.sub(redis.call('GET', KEYS[1]) or '', 1, 16) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3])
redis.call('SET', KEYS[2], ARGV[2] .. ARGV[4])
if redis.call('RPUSH', KEYS[3], ARGV[6] .. ' ' .. ARGV[7]) > tonumber(ARGV[5]) then
  redis.call('LTRIM', KEYS[3], '-' .. ARGV[5], -1)
end
local former = redis.call('HGET', KEYS[5], ARGV[8])
local member = ARGV[10] .. ARGV[8]
if former and former ~= member then redis.call('ZREM', KEYS[4], former) end
redis.call('ZADD', KEYS[4], ARGV[9], member)
redis.call('HSET', KEYS[5], ARGV[8], member)
return ARGV[6]`;

function memberName(index: number): string {
  return `user:${String(index).padStart(8, "0")}`;
}

function randomMember(size: BoardSize): string {
  return memberName(Math.floor(Math.random() * boards[size]));
}

/** Puts 100,000 and 1,000,000 members without ties on one board each. */
export async function fillBoards(socket: string): Promise<void> {
  const client = new Redis(socket);
  for (const [size, count] of Object.entries(boards)) {
    for (let start = 0; start < count; start += 1_000) {
      const pairs: (string | number)[] = [];
      for (let index = start; index < start + 1_000; index++) {
        pairs.push(Math.floor(Math.random() * 2 ** 20), `0${memberName(index)}`);
      }
      await client.zadd(`gs:{bench}b${size}`, ...pairs);
    }
  }
  client.disconnect();
}

function serverClock(socket: string): Pick<Bench, "serverCpuUs"> {
  return {
    async serverCpuUs() {
      const client = new Redis(socket);
      const info = await client.info("cpu");
      client.disconnect();
      const seconds = [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(found => Number(found[1]));
      return seconds.reduce((sum, each) => sum + each, 0) * 1e6;
    },
  };
}

async function commitByContract(socket: string): Promise<Bench> {
  const store = createRedisStore({ server: `unix://${socket}` });
  const versions = new Map<string, Version>();
  // Keeps the partitions apart from those that earlier samples left on the server.
  const run = crypto.randomUUID().slice(0, 8);
  let turn = 0;
  return {
    ...serverClock(socket),
    async call(caller) {
      turn += 1;
      const user = `${run}.${caller}.${turn % partitionsPerCaller}`;
      const commit = await store.commit(`bench:${user}`, {
        checks: [{ key: "profile", version: versions.get(user) ?? null }],
        writes: [
          { type: "put", key: "profile", value: profile },
          { type: "put", key: "state", value: entry },
          { type: "append", key: "history", value: entry, at: Date.now(), maxLength: 100 },
          { type: "score", op: "set", key: "best", member: user, score: turn, tie: Date.now() },
        ],
      });
      if (!commit.ok) throw new Error("Cannot measure: a check failed");
      versions.set(user, commit.version);
    },
    close: () => store[Symbol.asyncDispose](),
  };
}

type Evaluate = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

async function commitByHand(socket: string, evaluate: Evaluate, close: Bench["close"]): Promise<Bench> {
  const versions = new Map<string, Version>();
  // Keeps the partitions apart from those that earlier samples left on the server.
  const run = crypto.randomUUID().slice(0, 8);
  let turn = 0;
  return {
    ...serverClock(socket),
    async call(caller) {
      turn += 1;
      const user = `${run}.${caller}.${turn % partitionsPerCaller}`;
      const root = `hand:{bench:${user}}`;
      const version = String(turn).padStart(16, "0");
      const keys = ["profile", "state", "history", "best", "ties"].map(key => root + key);
      const tie = `1${Date.now()}`;
      const id = `${Date.now()}-${turn}`;
      const former = versions.get(user) ?? "";
      const args = [former, version, profile, entry, "100", id, entry, user, String(turn), tie];
      if ((await evaluate(keys, args)) === 0) throw new Error("Cannot measure: a check failed");
      versions.set(user, version);
    },
    close,
  };
}

async function commitByScript(socket: string, options: { readonly autoPipelining: boolean }): Promise<Bench> {
  const client = new Redis(socket, { enableAutoPipelining: options.autoPipelining });
  const sha = String(await client.script("LOAD", dedicatedScript));
  return commitByHand(
    socket,
    (keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
    () => client.disconnect(),
  );
}

async function commitByConnection(socket: string): Promise<Bench> {
  const client = new Redis(socket);
  const sha = String(await client.script("LOAD", dedicatedScript));
  client.disconnect();
  const connection = new RedisConnection(createClient(`unix://${socket}`));
  return commitByHand(
    socket,
    (keys, args) => connection.run({ lua: dedicatedScript, sha }, [keys, args]),
    () => connection[Symbol.asyncDispose](),
  );
}

async function standingByContract(socket: string, size: BoardSize): Promise<Bench> {
  const store = createRedisStore({ server: `unix://${socket}` });
  return {
    ...serverClock(socket),
    async call() {
      const [standing] = await store.read("bench", [
        { type: "standing", key: size, member: randomMember(size) },
      ]);
      if (standing === null) throw new Error("Cannot measure: a member is missing");
    },
    close: () => store[Symbol.asyncDispose](),
  };
}

async function rankByHand(socket: string, size: BoardSize, autoPipelining: boolean): Promise<Bench> {
  const client = new Redis(socket, { enableAutoPipelining: autoPipelining });
  return {
    ...serverClock(socket),
    call: () => client.zrevrank(`gs:{bench}b${size}`, `0${randomMember(size)}`),
    close: () => client.disconnect(),
  };
}

async function ranksByPipeline(socket: string, size: BoardSize): Promise<Bench> {
  const client = new Redis(socket);
  const callsPerTurn = 32;
  return {
    ...serverClock(socket),
    callsPerTurn,
    async call() {
      const pipeline = client.pipeline();
      for (let n = 0; n < callsPerTurn; n++)
        pipeline.zrevrank(`gs:{bench}b${size}`, `0${randomMember(size)}`);
      await pipeline.exec();
    },
    close: () => client.disconnect(),
  };
}

async function recordByContract(socket: string): Promise<Bench> {
  const store = createRedisStore({ server: `unix://${socket}` });
  await store.commit("bench", { writes: [{ type: "put", key: "profile", value: profile }] });
  return {
    ...serverClock(socket),
    call: () => store.read("bench", [{ type: "record", key: "profile" }]),
    close: () => store[Symbol.asyncDispose](),
  };
}

async function recordByHand(socket: string, autoPipelining: boolean): Promise<Bench> {
  const client = new Redis(socket, { enableAutoPipelining: autoPipelining });
  await client.set("hand:profile", profile);
  return {
    ...serverClock(socket),
    call: () => client.get("hand:profile"),
    close: () => client.disconnect(),
  };
}

const standingGroups = (Object.keys(boards) as BoardSize[]).map(size => ({
  title: `standing among ${size} members`,
  variants: [
    [`ZREVRANK by ioredis`, socket => rankByHand(socket, size, false)],
    [`ZREVRANK by ioredis, pipelines of 32`, socket => ranksByPipeline(socket, size)],
    [`ZREVRANK by ioredis, auto-pipelining`, socket => rankByHand(socket, size, true)],
    [`read of a standing`, socket => standingByContract(socket, size)],
  ] as readonly (readonly [string, Open])[],
}));

const described: readonly { title: string; variants: readonly (readonly [string, Open])[] }[] = [
  {
    title: "commit of 1 check, 2 puts, 1 append, 1 stamped score",
    variants: [
      ["dedicated script by ioredis", socket => commitByScript(socket, { autoPipelining: false })],
      [
        "dedicated script by ioredis, auto-pipelining",
        socket => commitByScript(socket, { autoPipelining: true }),
      ],
      ["dedicated script by the adapter's connection", commitByConnection],
      ["commit", commitByContract],
    ],
  },
  ...standingGroups,
  {
    title: "record of 300 bytes",
    variants: [
      ["GET by ioredis", socket => recordByHand(socket, false)],
      ["GET by ioredis, auto-pipelining", socket => recordByHand(socket, true)],
      ["read of a record", recordByContract],
    ],
  },
];

/** The tables: the first variant of each is what the others are compared with. */
export const groups: readonly { title: string; variants: readonly string[] }[] = described.map(
  ({ title, variants: list }) => ({ title, variants: list.map(([name]) => `${title}/${name}`) }),
);

/** Every variant by its group and name. */
export const variants: ReadonlyMap<string, Open> = new Map(
  described.flatMap(({ title, variants: list }) =>
    list.map(([name, open]) => [`${title}/${name}`, open] as const),
  ),
);
