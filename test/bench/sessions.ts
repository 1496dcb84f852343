/**
 * The cost of sessions: opening, refreshing and checking them, in memory and on Redis.
 *
 *     npm run bench -- sessions
 *
 * One process, no HTTP. Processor time covers all threads of this process, among them those that sign; "per core" is
 * 1 second divided by it. Wall time is that of 32 clients at once. Each round runs the variants in the reverse order of
 * the last; the table has the medians of all rounds, and the rounds of processor time. Redis, where it can be started,
 * is a process of its own whose time is not counted; the baselines are the same work without sessions.
 *
 * @module
 */

import { availableParallelism } from "node:os";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { generateMasterSecret, systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createKeyRing } from "../../lib/auth/tokens/key_ring.ts";
import { createTokens } from "../../lib/auth/tokens/mod.ts";
import type { Project } from "../../lib/fans/directory/mod.ts";
import { type User, Users } from "../../lib/fans/identity/mod.ts";
import { projectAudience, type SessionTokens } from "../../lib/fans/identity/sessions/session.ts";
import { SessionGuard, Sessions } from "../../lib/fans/identity/sessions/sessions.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";

const rounds = 7;
const clients = 32;
const liveSessions = 1_000;
const issuer = "https://id.example";
const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const project: Project = {
  id: "0c000000-0000-4000-8000-000000000001",
  spaceId: "0b000000-0000-4000-8000-000000000001",
  organisationId: "0a000000-0000-4000-8000-000000000001",
  name: "Bench",
  settings: {},
};

interface Variant {
  readonly name: string;
  /** Calls per round. */
  readonly calls: number;
  /** Runs before a round and is not measured. */
  readonly prepare?: () => Promise<unknown>;
  /** Does the work of one call; `index` counts the calls of all rounds. */
  readonly run: (index: number) => Promise<unknown> | unknown;
}

interface Sample {
  readonly cpuUs: number;
  readonly wallUs: number;
}

interface SessionUser {
  readonly user: User;
  readonly sessionId: string;
  tokens: SessionTokens;
}

async function createVariants(store: Store): Promise<readonly Variant[]> {
  const environment = { store, clock: systemClock, random: systemRandom };
  const secret = new MasterSecret(generateMasterSecret(systemRandom));
  const ring = await createKeyRing({ ...environment, secret });
  const tokens = createTokens({ ...environment, ring });
  const users = new Users(store, secret);
  const sessions = new Sessions({ ...environment, users, tokens, issuer });
  const guard = new SessionGuard(environment);
  const members: SessionUser[] = [];
  for (let number = 0; number < liveSessions; number++) {
    const user = await users.create(project.id, await sampleUser(users, number));
    const opened = await sessions.open(project, user, { deviceId });
    members.push({ user, sessionId: opened.session.sid, tokens: opened.tokens });
    await sessions.authenticate(requestWith(opened.tokens.accessToken), project);
  }
  const at = (index: number): SessionUser => {
    const member = members[index % liveSessions];
    if (member === undefined) throw new Error("There are no members");
    return member;
  };
  const content = {
    typ: "at+jwt",
    issuer,
    audience: projectAudience(project.id),
    ttlSeconds: 600,
  };
  return [
    {
      name: "baseline: three signatures",
      calls: 1_000,
      run: index => {
        const signed = { ...content, subject: at(index).user.userId };
        return Promise.all([tokens.sign(signed), tokens.sign(signed), tokens.sign(signed)]);
      },
    },
    {
      name: "refresh",
      calls: 1_000,
      run: async index => {
        const member = at(index);
        const request = requestWith(member.tokens.accessToken);
        const { refreshToken } = member.tokens;
        member.tokens = (await sessions.refresh(project, { deviceId, refreshToken, request })).tokens;
      },
    },
    {
      name: "open",
      calls: 1_000,
      run: index => sessions.open(project, at(index).user, { deviceId }),
    },
    {
      name: "baseline: request and its bearer token",
      calls: 20_000,
      run: index => requestWith(at(index).tokens.accessToken).headers.get("authorization")?.length,
    },
    {
      name: "authenticate, token seen before",
      calls: 20_000,
      prepare: () =>
        Promise.all(
          members.map(member => sessions.authenticate(requestWith(member.tokens.accessToken), project)),
        ),
      run: async index => {
        const { tokens: mine } = at(index);
        return await sessions.authenticate(requestWith(mine.accessToken), project);
      },
    },
    {
      name: "guard, asked within five seconds",
      calls: 100_000,
      run: index => {
        const { user, sessionId } = at(index % 10);
        return guard.check({ projectId: project.id, userId: user.userId, sessionId });
      },
    },
  ];
}

async function sampleUser(users: Users, number: number): Promise<User> {
  return {
    ...(await users.newIds(systemRandom)),
    provider: "managedPool",
    username: `Fan ${number}`,
    signUp: 1_700_000_000,
    loginHistory: Array.from({ length: 50 }, (_, login) => 1_700_000_000 + login),
    devices: [{ deviceId, signUp: 1_700_000_000, lastLogin: 1_700_000_000 }],
    appProfile: {},
    account: {
      email: `fan${number}@example.com`,
      isEmailVerified: true,
      isContested: false,
      nickname: `Fan ${number}`,
      passwordHash:
        "$scrypt$ln=15,r=8,p=3$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
      terms: ["", ""],
      updatedAt: 1_700_000_000,
    },
  };
}

function requestWith(token: string): Request {
  return new Request("https://id.example/v1/user", { headers: { authorization: `Bearer ${token}` } });
}

/** Lets the clients share the calls of a round. */
async function round({ calls, prepare, run }: Variant, start: number): Promise<Sample> {
  await prepare?.();
  let next = start;
  const end = start + calls;
  async function client(): Promise<void> {
    while (next < end) {
      const result = run(next++);
      if (result instanceof Promise) await result;
    }
  }
  const cpu = process.cpuUsage();
  const wall = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const { user, system } = process.cpuUsage(cpu);
  return { cpuUs: (user + system) / calls, wallUs: ((performance.now() - wall) * 1_000) / calls };
}

async function measure(title: string, store: Store): Promise<void> {
  const variants = await createVariants(store);
  const samples = new Map<string, Sample[]>(variants.map(({ name }) => [name, []]));
  for (let number = -1; number < rounds; number++) {
    for (const variant of number % 2 === 0 ? variants : variants.toReversed()) {
      const sample = await round(variant, (number + 1) * variant.calls);
      // The first round warms up.
      if (number >= 0) samples.get(variant.name)?.push(sample);
    }
  }
  for (const [name, taken] of samples) {
    const cpu = taken.map(({ cpuUs }) => cpuUs);
    const perCore = Math.round(1_000_000 / median(cpu)).toLocaleString("en-US");
    const wall = Math.round(1_000_000 / median(taken.map(({ wallUs }) => wallUs))).toLocaleString("en-US");
    const all = cpu.map(value => value.toFixed(1)).join(" ");
    figure(`sessions, ${title}: ${name}`, `${perCore}/s per core`);
    console.log(`| ${title} | ${name} | ${median(cpu).toFixed(1)} | ${perCore} | ${wall} | ${all} |`);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}

console.log(`${process.version}, ${availableParallelism()} cores, ${rounds} rounds, ${clients} clients\n`);
console.log("| store | variant | CPU µs per call | per second and core | per second measured | rounds |");
console.log("|---|---|---|---|---|---|");
await measure("memory", createMemoryStore());
const missing = redisAvailable();
if (missing === false) {
  const server = await startRedis();
  const store = createRedisStore({ server: server.url });
  await measure("Redis", store);
  await store[Symbol.asyncDispose]();
  await server.kill();
} else console.log(`\nRedis was not measured: ${missing}`);
