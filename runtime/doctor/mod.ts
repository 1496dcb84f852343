/** The checks of a deployment's surroundings, in the order in which people look for a fault. */

import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:tls";
import { systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { storedIssuer } from "../../lib/auth/tokens/jwks_routes.ts";
import { checkMasterSecret } from "../../lib/auth/tokens/key_ring.ts";
import { createActionService } from "../../lib/fans/audience/actions/service.ts";
import { oldestOrganisations } from "../../lib/fans/directory/seed.ts";
import { oldestDueUser } from "../../lib/fans/loyalty/due_users.ts";
import { silentLogger, type Timer } from "../../lib/http/mod.ts";
import { mapConcurrent, systemTimer } from "../../lib/storage/background/mod.ts";
import { storageTimes } from "../../lib/storage/mod.ts";
import type { Config } from "../config.ts";
import { closeStorage, loadPostgres, openStorage, type Storage } from "../services/storage.ts";

/** The findings, and the storage if it can be used; the caller closes it. */
interface Examination {
  readonly findings: readonly Finding[];
  readonly storage: Storage | null;
}

/** Runs every check. Nothing that hangs or refuses ends it. */
export async function examine(config: Config, timer: Timer = systemTimer): Promise<Examination> {
  const server = serverCheck(config);
  const reached = server === null ? [] : await runCheck(server, timer);
  const isReached = reached.every(({ check, status }) => check !== "store" || status !== "failed");
  const opened = isReached ? await open(config, timer) : { findings: [], storage: null };
  const { storage } = opened;
  const inStore: Check[] =
    storage === null ? [] : [keyCheck(storage, config), workCheck(storage, config), blobCheck(storage)];
  const limiter = storage === null || config.limiter === undefined ? [] : [limiterCheck(storage)];
  const checks = [...inStore, ...limiter, mailCheck(config), geoCheck(config), addressCheck(config)];
  const found: Finding[] = [...reached, ...opened.findings];
  for (const check of checks) found.push(...(await runCheck(check, timer)));
  return { findings: found, storage };
}

/** Opens the storage, which a data folder refuses while a server uses it, and a store of one's own may refuse. */
async function open(config: Config, timer: Timer): Promise<Examination> {
  let storage: Storage | null = null;
  const findings = await runCheck(
    {
      name: serverCheck(config) === null ? "store" : "storage",
      advice:
        config.store === undefined
          ? "Stop the server that uses the folder, or restore the folder from a backup"
          : "See that GRANDSTAND_STORE names the module, that it can be imported, and that its store can be reached",
      async run() {
        storage = await openAnswering(config);
        const { description } = storage;
        return {
          status: "ok",
          seen: `${description[0]?.toUpperCase()}${description.slice(1)}`,
          advice: null,
        };
      },
    },
    timer,
  );
  // The findings of a server say the same.
  const isRedundant = serverCheck(config) !== null && storage !== null;
  return { findings: isRedundant ? [] : findings, storage };
}

/** Opens the storage. A server is asked by a check of its own, so here a store of one's own is. */
async function openAnswering(config: Config): Promise<Storage> {
  const storage = await openStorage(config, silentLogger);
  try {
    if (config.store !== undefined) await storage.store.ping();
    return storage;
  } catch (error) {
    await closeStorage(storage);
    throw error;
  }
}

const versionMin = [6, 2] as const;
const slots = 16_384;
const latencyMsMax = 10;
/** Connections that a process opens to PostgreSQL at most: those of store, queue, limiter and blobs. */
const connectionsOfProcess = 16;
/** Difference of clocks that is worth a warning, in ms. */
const skewMs = 1_000;
const memoryUsedMax = 0.9;
const waitMsMax = 60_000;
/** Time that due users may wait: sweeps come every few seconds, and take long for many users. */
const dueMsMax = 600_000;

/** Returns the check of the server that keeps the state; null where none does. */
function serverCheck({ redis, postgres }: Config): Check | null {
  if (redis !== undefined) return redisCheck(redis);
  return postgres === undefined ? null : postgresCheck(postgres);
}

function postgresCheck(server: string): Check {
  return {
    name: "store",
    advice: postgresAdvice,
    async run() {
      const { inspectPostgres } = await loadPostgres();
      const facts = await inspectPostgres(server);
      const { connectionsLeft, connectionsMax } = facts;
      const connections = `${connectionsLeft} of ${connectionsMax} connections are free`;
      return [
        named("store", latencyFinding(facts.latenciesMs, "PostgreSQL")),
        named("postgres-version", ok(`PostgreSQL ${facts.version}`)),
        named(
          "postgres-persistence",
          facts.isPersistent
            ? ok("PostgreSQL keeps what it acknowledged over a crash")
            : warning(
                "PostgreSQL may lose what it acknowledged in a crash",
                "Set its fsync, full_page_writes and synchronous_commit to on",
              ),
        ),
        named(
          "postgres-connections",
          connectionsLeft >= connectionsOfProcess
            ? ok(connections)
            : warning(connections, `Raise max_connections: each process opens up to ${connectionsOfProcess}`),
        ),
        named("clock", clockFinding(facts.clockAheadMs, "PostgreSQL")),
      ];
    },
  };
}

function postgresAdvice(reason: string): string {
  if (/or later is needed/.test(reason))
    return "Upgrade PostgreSQL, or name a newer one in GRANDSTAND_POSTGRES";
  if (/permission denied/.test(reason))
    return "Run grandstand migrate as a user who may make the schema, and grant its use to this one";
  if (/another application/.test(reason))
    return "Name a database in GRANDSTAND_POSTGRES that has no such schema";
  if (/a later release/.test(reason)) return "Install the release that made the schema, or a later one";
  return "Start PostgreSQL, and see that GRANDSTAND_POSTGRES has its address, database, user and password, and names the primary";
}

function latencyFinding(latenciesMs: readonly number[], server: string): Verdict {
  const median = latenciesMs[latenciesMs.length >> 1] ?? 0;
  const seen = `Round trip ${median.toFixed(2)} ms, slowest ${(latenciesMs.at(-1) ?? 0).toFixed(2)} ms`;
  const advice = `Move servers and ${server} closer together: each request waits for one round trip or two`;
  return median <= latencyMsMax ? ok(seen) : warning(seen, advice);
}

function redisCheck(redis: string): Check {
  return {
    name: "store",
    advice: redisAdvice,
    async run() {
      const { inspectRedis } = await import("../../adapters/redis/mod.ts");
      const facts = await inspectRedis(redis);
      const { versions, policies, isPersistent, slotsServed, clockAheadMs } = facts;
      if (facts.isReplica)
        return failed("It is a replica, which takes no writes", "Name the primary in GRANDSTAND_REDIS");
      return [
        named("store", latencyFinding(facts.latenciesMs, "Redis")),
        named("redis-version", versionFinding(versions)),
        named(
          "redis-persistence",
          isPersistent === null
            ? skipped("The server does not say if it keeps its data over a restart")
            : isPersistent
              ? ok("Redis keeps its data over a restart")
              : warning(
                  "Redis forgets everything when it restarts",
                  "Switch on its append-only file: appendonly yes",
                ),
        ),
        named("redis-eviction", policyFinding(policies)),
        named("redis-memory", memoryFinding(facts.memoryUsed)),
        named("redis-cluster", clusterFinding(slotsServed)),
        named("clock", clockFinding(clockAheadMs, "Redis")),
      ];
    },
  };
}

function redisAdvice(reason: string): string {
  if (/NOPERM/.test(reason))
    return "Redis works, and refuses its user a command: allow what the reason names with ACL SETUSER";
  if (/WRONGPASS|NOAUTH/.test(reason)) return "Put the user and the password of Redis into GRANDSTAND_REDIS";
  return "Start Redis, and see that GRANDSTAND_REDIS has its address, password and TLS; if it hangs up, see its protected-mode and maxclients";
}

function versionFinding(versions: readonly string[]): Verdict {
  const isOld = (version: string): boolean => {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    return Number.isNaN(major) || major < versionMin[0] || (major === versionMin[0] && minor < versionMin[1]);
  };
  if (versions.length === 0) {
    return warning(
      "Redis works, and its user may not call INFO",
      "Allow it with ACL SETUSER and +info: without it neither version, memory nor persistence can be checked",
    );
  }
  const seen = `Redis ${[...new Set(versions)].join(", ")}`;
  return versions.some(isOld) ? failed(seen, `Upgrade to Redis ${versionMin.join(".")} or later`) : ok(seen);
}

function policyFinding(policies: readonly string[]): Verdict {
  const seen = [...new Set(policies)].join(", ");
  if (seen === "") return skipped("The server does not name its policy");
  if (seen === "noeviction") return ok("maxmemory-policy is noeviction");
  return warning(
    `maxmemory-policy is ${seen}`,
    "Set it to noeviction, else Redis removes data where memory is short",
  );
}

function memoryFinding(used: number | null): Verdict {
  if (used === null) return skipped("The server names no bound in maxmemory");
  const seen = `${Math.round(used * 100)} % of maxmemory are used`;
  return used < memoryUsedMax ? ok(seen) : warning(seen, "Raise maxmemory, as full servers refuse writes");
}

function clusterFinding(served: number | null): Verdict {
  if (served === null) return skipped("Redis is no Cluster");
  const seen = `${served} of ${slots} slots are served`;
  return served === slots ? ok(seen) : failed(seen, "Bring the missing primaries back, or move their slots");
}

function clockFinding(aheadMs: number, server: string): Verdict {
  const [off, side] = [Math.abs(aheadMs), aheadMs > 0 ? "ahead of" : "behind"];
  const seen = `This clock is ${(off / 1_000).toFixed(1)} s ${side} that of ${server}`;
  const advice = "Start a time server on both machines";
  return off > storageTimes.readySkewMsMax
    ? failed(seen, advice)
    : off > skewMs
      ? warning(seen, advice)
      : ok(seen);
}

function keyCheck({ store }: Pick<Storage, "store">, { secret }: Config): Check {
  return {
    name: "keys",
    advice: "Set GRANDSTAND_SECRET to the secret with which the servers were started",
    async run() {
      if (secret === undefined) return skipped("GRANDSTAND_SECRET is not set");
      const options = { store, secret: new MasterSecret(secret), clock: systemClock, random: systemRandom };
      await checkMasterSecret(options);
      const issuer = await storedIssuer(store);
      if (issuer === null) return skipped("No server has started on this store yet");
      return ok(`The keys open under the secret; the issuer is ${issuer}`);
    },
  };
}

function workCheck(storage: Storage, { data }: Config): Check {
  return {
    name: "worker",
    advice: "See the check of the store",
    async run() {
      const { hasWorker, depth, waitedMs, deadLetters, overdueMs } = await inspectWork(storage);
      const startWorker = "Start grandstand worker, or leave GRANDSTAND_WORKERS on";
      const queued = `${depth} actions wait, the oldest for ${(waitedMs / 1_000).toFixed(0)} s`;
      return [
        named(
          "worker",
          data !== undefined
            ? skipped("The server on a data folder applies actions itself")
            : hasWorker
              ? ok("A worker is alive")
              : warning("No process applies actions that are accepted in bulk", startWorker),
        ),
        named(
          "queue",
          waitedMs <= waitMsMax
            ? ok(queued)
            : warning(queued, hasWorker ? "Start another worker" : startWorker),
        ),
        named(
          "dead-letters",
          deadLetters === 0
            ? ok("There is none")
            : warning(
                `${deadLetters} actions could not be applied`,
                "See grandstand actions dead-letters list, put the cause right, and replay them",
              ),
        ),
        named(
          "due-work",
          overdueMs <= dueMsMax
            ? ok("Periodic work is up to date")
            : warning(
                `Work of users is overdue for ${(overdueMs / 60_000).toFixed(0)} minutes`,
                "See that a server or worker runs, and look for work_failed in its log",
              ),
        ),
      ];
    },
  };
}

function limiterCheck({ limiter }: Pick<Storage, "limiter">): Check {
  return {
    name: "limiter",
    advice: "See that GRANDSTAND_LIMITER has the address, password and TLS of a Redis, or is memory",
    async run() {
      await limiter.take("doctor", [{ name: "doctor", limit: 1, windowMs: 1_000 }]);
      return ok("Rate limits are counted");
    },
  };
}

const dayMs = 86_400_000;
const databaseDaysMax = 90;
/** Days before the end of a certificate at which it should have been renewed. */
const certificateDaysMin = 14;
const probeBytes = 65_536;

/** The check of the mail server: connection, TLS and login. It sends nothing. */
function mailCheck({ smtp, mailFrom, mailWebhook }: Config): Check {
  return {
    name: "mail",
    advice: "See that GRANDSTAND_SMTP has the host, port, user and password of the mail server",
    async run() {
      if (mailWebhook !== undefined)
        return skipped("Mail goes to a webhook, which cannot be tried without a mail");
      if (smtp === undefined || mailFrom === undefined) {
        return skipped("GRANDSTAND_SMTP is not set: users get no codes, and exports no notices");
      }
      const { createSmtpMailer } = await import("../../adapters/mail/smtp.ts");
      await using mailer = createSmtpMailer({ url: smtp, from: mailFrom });
      await mailer.verify();
      return ok(`The mail server takes mail of ${mailFrom}`);
    },
  };
}

/** The check of the storage of files: a write, a read back and a removal. */
function blobCheck({ blobs }: Pick<Storage, "blobs">): Check {
  return {
    name: "files",
    advice:
      "See that GRANDSTAND_BLOBS names a folder or bucket to which this user may write, with room in it",
    async run() {
      const name = `doctor/${randomUUID()}`;
      const bytes = randomBytes(probeBytes);
      try {
        await blobs.put(name, new Blob([bytes]).stream());
        const found = await blobs.get(name);
        const back = found === null ? null : Buffer.from(await new Response(found.body).arrayBuffer());
        if (back === null || !back.equals(bytes)) {
          return failed(
            "A file came back otherwise than it was written",
            "Do not export to this storage: replace it",
          );
        }
      } finally {
        await blobs.remove(name).catch(() => {});
      }
      return ok(`${probeBytes / 1_024} KiB were written, read back and removed`);
    },
  };
}

function geoCheck({ geoip }: Config): Check {
  return {
    name: "countries",
    advice: "Replace the file that GRANDSTAND_GEOIP names by a MaxMind DB of countries",
    async run() {
      if (geoip === undefined) return skipped("GRANDSTAND_GEOIP is not set: every location is unknown");
      const { loadGeoDatabase } = await import("../../adapters/geo/mod.ts");
      const { type, builtAt } = await loadGeoDatabase(await readFile(geoip));
      const days = Math.floor((Date.now() - builtAt) / dayMs);
      const seen = `${type} is ${days} days old`;
      return days > databaseDaysMax
        ? warning(seen, "Download a new one: addresses change countries")
        : ok(seen);
    },
  };
}

function addressCheck({ publicUrl }: Config): Check {
  const advice = "See that DNS, load balancer and TLS of GRANDSTAND_PUBLIC_URL lead to a running server";
  return {
    name: "public-url",
    advice,
    async run() {
      if (publicUrl === undefined)
        return skipped("GRANDSTAND_PUBLIC_URL is not set: links name the address listened on");
      const signal = AbortSignal.timeout(checkMsMax);
      const response = await fetch(`${publicUrl}/healthz`, { signal, redirect: "manual" });
      const text = (await response.text()).slice(0, 200);
      if (response.status >= 300 && response.status < 400) {
        return failed(
          `It redirects with ${response.status}`,
          "Name the address behind the redirect: clients send tokens there",
        );
      }
      if (response.status !== 200 || !text.includes('"status":"ok"')) {
        return failed(`/healthz answers ${response.status} and is not Grandstand`, advice);
      }
      const { protocol, hostname, port } = new URL(publicUrl);
      if (protocol === "https:") return await certificateFinding(hostname, Number(port === "" ? 443 : port));
      const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
      return isLocal
        ? ok("It answers on this machine")
        : warning("It answers without TLS", "Serve clients over https: tokens travel in the clear");
    },
  };
}

function certificateFinding(host: string, port: number): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: host, timeout: checkMsMax }, () => {
      const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / dayMs);
      const seen = `It answers; its certificate is valid for ${days} days`;
      socket.end();
      resolve(days < certificateDaysMin ? warning(seen, "Renew the certificate") : ok(seen));
    });
    socket.on("error", reject);
    socket.on("timeout", () => socket.destroy(new Error("There is no answer over TLS")));
  });
}

const organisationsAtOnce = 4;

/** Reads what waits, and the dead letters and due users of the 500 oldest organisations. It changes nothing. */
async function inspectWork({ store, queue }: Pick<Storage, "store" | "queue">) {
  const loyalty = { reportAll: () => Promise.reject(new Error("Nothing is applied here")) };
  const actions = createActionService({
    store,
    queue,
    clock: systemClock,
    loyalty,
    random: systemRandom,
    timer: systemTimer,
    logger: silentLogger,
  });
  const [hasWorker, backlog] = await Promise.all([actions.hasWorker(), actions.backlog()]);
  const dead = await actions.deadLetters.count();
  const organisations = await oldestOrganisations(store);
  const dues = await mapConcurrent(organisations, organisationsAtOnce, id => oldestDueUser(store, id));
  const since = (at: number | null): number => (at === null ? 0 : Math.max(0, systemClock() - at));
  return {
    /** True where some process applies queued actions. */
    hasWorker,
    depth: backlog.depth,
    waitedMs: since(backlog.oldestAt),
    deadLetters: dead.reduce((sum, { count }) => sum + count, 0),
    overdueMs: Math.max(0, ...dues.map(since)),
  };
}

export interface Finding extends Verdict {
  readonly check: string;
}

interface Verdict {
  /** `warning`: it works, and should be put right. `skipped`: the settings do not use it. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** What was seen, without secrets. */
  readonly seen: string;
  /** What to do; null where nothing is wrong. */
  readonly advice: string | null;
}

const checkMsMax = 10_000;

interface Check {
  readonly name: string;
  /** What to do where it throws, for a reason. */
  readonly advice: string | ((reason: string) => string);
  readonly run: () => Promise<Verdict | readonly Finding[]>;
}

const named = (check: string, verdict: Verdict): Finding => ({ check, ...verdict });
export const ok = (seen: string): Verdict => ({ status: "ok", seen, advice: null });
const skipped = (seen: string): Verdict => ({ status: "skipped", seen, advice: null });
const warning = (seen: string, advice: string): Verdict => ({ status: "warning", seen, advice });
export const failed = (seen: string, advice: string): Verdict => ({ status: "failed", seen, advice });

/** Runs a check. One that throws or hangs is a failed one. */
export async function runCheck(
  { name, advice, run }: Check,
  timer: Timer = systemTimer,
): Promise<readonly Finding[]> {
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const message = `There is no answer within ${checkMsMax / 1_000} s`;
    cancel = timer(() => reject(new Error(message)), checkMsMax);
  });
  try {
    const found = await Promise.race([run(), late]);
    return "status" in found ? [named(name, found)] : found;
  } catch (error) {
    const seen = reasonOf(error);
    const missing = /Cannot find (?:package|module) ['"]([@\w][\w./-]*)['"]/.exec(seen)?.[1];
    if (missing !== undefined)
      return [named(name, failed(seen, `Install it beside grandstand: npm i ${missing}`))];
    return [named(name, failed(seen, typeof advice === "string" ? advice : advice(seen)))];
  } finally {
    cancel();
  }
}

/** Returns the message of the innermost cause, in one line and without credentials of addresses. */
function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const text = inner instanceof Error ? inner.message : String(inner);
  return text
    .replace(/\s+/g, " ")
    .replace(/\/\/[^/@\s]*@/g, "//…@")
    .slice(0, 300);
}
