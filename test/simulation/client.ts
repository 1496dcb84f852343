/** Clients as the documentation wants them: they repeat what failed, under the same ids, at any server. */

import { count } from "./network.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Tenant } from "./tenants.ts";
import type { World } from "./world.ts";

/** A request of a client. */
export interface Ask {
  /** Names the kind of operation in the coverage. */
  readonly name: string;
  readonly tenant: Tenant;
  readonly path: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Most attempts; 1 for what has no id to repeat it under. @default 6 */
  readonly attemptsMax?: number;
  /** The process to ask. @default any that is ready */
  readonly at?: SimulatedProcess;
}

/** A final answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: callers know what they asked for
  readonly json: any;
  /** True if an attempt before this one may have taken effect. */
  readonly wasRepeated: boolean;
}

/** Statuses after which a client tries again. */
const passing: ReadonlySet<number> = new Set([429, 503]);

/** Sends a request until there is a final answer; null where the client has given up. */
export async function send(world: World, ask: Ask): Promise<Answer | null> {
  const { scheduler, counters } = world;
  count(counters, `sent:${ask.name}`);
  for (let attempt = 1; attempt <= (ask.attemptsMax ?? 6); attempt++) {
    const process = pickReady(world, ask.at);
    const reply = process === null ? null : await attemptAt(process, world, ask);
    scheduler.note(`${ask.name} at ${process?.name}: ${reply?.status ?? "no answer"}`);
    // The answer gets lost on its way back, too.
    const isLost = reply !== null && scheduler.random.chance(world.weather.lost);
    if (reply !== null && !isLost && !isPassing(reply)) {
      const { status, text } = reply;
      count(counters, `status:${status}`);
      if (status < 300) count(counters, `op:${ask.name}`);
      if (status >= 500) world.fault(`${ask.name} was answered with ${status}: ${text}`);
      scanForForeign(world, ask, text);
      return { ...reply, json: parsed(text), wasRepeated: attempt > 1 };
    }
    count(counters, reply === null || isLost ? "client:no answer" : `client:repeats ${reply.status}`);
    await scheduler.sleep(200 + scheduler.random.integer(3_000));
  }
  count(counters, "client:gave up");
  return null;
}

function isPassing({ status, text }: { readonly status: number; readonly text: string }): boolean {
  return passing.has(status) || (status === 409 && /"code":"(?:conflict|idempotency_conflict)"/.test(text));
}

function pickReady({ processes, scheduler }: World, at?: SimulatedProcess): SimulatedProcess | null {
  const ready = processes.filter(process => process.isReady && (at ?? process) === process);
  return ready.length === 0 ? null : scheduler.random.pick(ready);
}

function attemptAt(process: SimulatedProcess, world: World, ask: Ask) {
  const { path, body, token, headers, tenant, method = body === undefined ? "GET" : "POST" } = ask;
  world.scheduler.note(`${ask.name} at ${process.name}`);
  const request = new Request(`http://${tenant.host}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      "x-platform-org-id": tenant.organisationId,
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return process.request(request, "192.0.2.1");
}

/** No answer to a tenant may hold anything of another. */
function scanForForeign(world: World, { name, tenant }: Ask, text: string): void {
  for (const other of world.tenants) {
    if (other.tenant === tenant) continue;
    const { mark, organisationId, spaceId, projectId } = other.tenant;
    const foreign = [mark, organisationId, spaceId, projectId, ...other.ownIds].find(id => text.includes(id));
    if (foreign !== undefined) world.fault(`${name} showed tenant ${tenant.name} ${foreign}: ${text}`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
