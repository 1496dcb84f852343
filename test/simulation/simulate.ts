/** One simulation: a seed, a deployment, its clients, and the comparison with the model. */

import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Permission } from "../../lib/auth/mod.ts";
import { checkPassword } from "../../lib/auth/passwords/mod.ts";
import { actionShards, topicOf } from "../../lib/fans/audience/worker/queued_action.ts";
import { loadCiphers } from "../../lib/fans/identity/users.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { loadFormat } from "../../lib/platform/user_data.ts";
import { testSecret } from "../support/platform.ts";
import { playAccounts } from "./actors/accounts.ts";
import { endRebuilds, playAdmin } from "./actors/admins.ts";
import { playBackEnd } from "./actors/back_ends.ts";
import { playCodeLogin } from "./actors/code_logins.ts";
import { playFan } from "./actors/fans.ts";
import { playJoins } from "./actors/joins.ts";
import { playMember } from "./actors/members.ts";
import { playOpenIdLogin } from "./actors/openid_logins.ts";
import { checkExports, playOperator } from "./actors/operators.ts";
import { playProducer } from "./actors/producers.ts";
import { changeSecret, dropSecret } from "./actors/secret_change.ts";
import { checkExpiry, checkMessages, checkService, checkTenant, checkWebhooks } from "./check.ts";
import { send } from "./client.ts";
import { type Leaks, takeGlobals } from "./globals.ts";
import type { TenantModel } from "./model.ts";
import type { Counters } from "./network.ts";
import { Scheduler } from "./scheduler.ts";
import { World } from "./world.ts";

/** A simulation to run. */
export interface Simulation {
  readonly seed: number;
  /** Receives every step. */
  readonly log?: (line: string) => void;
}

/** The end of a simulation. */
export interface Outcome {
  readonly seed: number;
  /** What did not hold. */
  readonly faults: readonly string[];
  /** Digest of all steps. */
  readonly trace: string;
  readonly steps: number;
  readonly counters: Counters;
  /** Uses of time and chance that got round the options of the platform. */
  readonly leaks: Leaks;
}

const startAt = 1_750_000_000_000;
const permissions: readonly Permission[] = [
  "actions:write",
  "rewards:write",
  "users:read",
  "users:write",
  "users:export",
  "config:read",
  "config:write",
  "keys:write",
  "tokens:write",
];

let warm: Promise<void> | undefined;

/** Loads what the platform loads when it is first needed, which takes real time. */
async function warmUp(): Promise<void> {
  const store = createMemoryStore();
  const platform = await createPlatform({ store, secret: testSecret, logger: silentLogger });
  await platform.close();
  await Promise.all([loadCiphers(), loadFormat()]);
  await checkPassword("the first one loads the list of common ones");
}

/** Runs a simulation. Equal seeds give equal outcomes. */
export async function simulate({ seed, log }: Simulation): Promise<Outcome> {
  warm ??= warmUp();
  await warm;
  const scheduler = new Scheduler(seed, startAt, log);
  const leaks: Leaks = new Map();
  const restore = takeGlobals(scheduler, leaks);
  const world = new World(scheduler);
  try {
    await scheduler.run(play(world));
  } catch (error) {
    world.fault(`the simulation broke: ${error instanceof Error ? error.stack : error}`);
  } finally {
    restore();
  }
  const { faults, counters } = world;
  return { seed, faults, trace: scheduler.trace, steps: scheduler.steps, counters, leaks };
}

async function play(world: World): Promise<void> {
  const { scheduler } = world;
  await world.open();
  const clients: Promise<void>[] = [];
  const tokens: string[] = [];
  for (const model of world.tenants) {
    const { organisationId } = model.tenant;
    const [first] = world.processes;
    const key = await first?.platform.apiKeys.create({ organisationId, name: "CRM", permissions });
    if (key === undefined) throw new Error("There is no process");
    model.credentials = { "x-api-key": key.key, "x-api-secret": key.secret };
    model.clientToken = (await first?.platform.clientTokens.issue(model.tenant.projectId)) ?? "";
    for (let number = 0; number < 2; number++) clients.push(playFan(world, model, number));
    clients.push(playBackEnd(world, model, model.credentials));
    clients.push(playCodeLogin(world, model), playOpenIdLogin(world, model));
    clients.push(playJoins(world, model, model.credentials), playAccounts(world, model, model.credentials));
    clients.push(playMember(world, model, 1), playOperator(world, model));
    const [admin, novice] = [
      await tokenOf(world, model, "editor", true),
      await tokenOf(world, model, "novice"),
    ];
    tokens.push(admin, novice);
    clients.push(playProducer(world, model, admin), playAdmin(world, model, { admin, novice }));
  }
  const disturbance = world.disturb();
  await scheduler.sleep(12_000 + scheduler.random.integer(18_000));
  world.isOpen = false;
  await Promise.all([...clients, disturbance]);
  scheduler.note("the weather clears");
  await world.heal();
  scheduler.note("all processes run");
  await changeSecret(world, tokens);
  scheduler.note("all is sealed anew");
  await settle(world);
  scheduler.note("all is settled");
  for (const model of world.tenants) await checkService(world, model);
  for (const { platform } of world.processes) await platform.idle();
  for (const model of world.tenants) {
    await endRebuilds(world, model);
    checkMessages(world, model);
    await checkTenant(world, model);
    await checkExports(world, model);
  }
  await checkExpiry(world);
  for (const model of world.tenants) await checkWebhooks(world, model);
  await dropSecret(world, tokens);
}

/** Returns an access token of a person: an operator, or one without a role. */
async function tokenOf(
  { processes }: World,
  { tenant }: TenantModel,
  person: string,
  operator = false,
): Promise<string> {
  const [process] = processes;
  if (process === undefined) throw new Error("There is no process");
  const { authors } = process.platform;
  const { id: userId } = await authors.findOrCreate(`${person}@${tenant.mark}.example`, { operator });
  return (await authors.createToken({ userId, name: person })).token;
}

/** Lets all background work end: queued actions first, then what comes back a minute after a removal. */
async function settle(world: World): Promise<void> {
  const { scheduler, processes } = world;
  await drainQueue(world);
  // Actions whose workers died again and again are dead letters.
  for (const model of world.tenants) await replayDeadLetters(world, model);
  await drainQueue(world);
  for (const process of processes) {
    await process.stopWorker();
    process.workIntervalMs = 2_000_000;
  }
  // The sweep finds users whose effects a dead process left undone an hour after their last change.
  await scheduler.sleep(8_000_000);
  for (const { platform } of processes) await platform.idle();
}

async function drainQueue({ servers, scheduler }: World): Promise<void> {
  for (let tries = 0; (await queued(servers)) > 0; tries++) {
    if (tries === 100) throw new Error("Actions are still in the queue");
    await scheduler.sleep(2_000);
  }
}

async function replayDeadLetters(world: World, { tenant, credentials: headers }: TenantModel): Promise<void> {
  const path = "/v1/api/audience/internal/actions/dead-letters";
  const listed = await send(world, { name: "list dead letters", tenant, headers, path: `${path}?limit=100` });
  const ids = (listed?.json.data ?? []).map(({ deadLetterId }: { deadLetterId: string }) => deadLetterId);
  if (ids.length === 0) return;
  await send(world, { name: "replay dead letters", tenant, headers, path: `${path}/replay`, body: { ids } });
}

async function queued({ queue }: World["servers"]): Promise<number> {
  let total = 0;
  for (let shard = 0; shard < actionShards; shard++) total += await queue.depth(topicOf(shard, actionShards));
  return total;
}
