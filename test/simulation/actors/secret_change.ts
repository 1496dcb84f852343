/** The owner of the deployment changes its master secret while servers run: the sealing dies once, and then the old secret is gone. */

import { MasterSecret } from "../../../lib/auth/mod.ts";
import { sealAnew } from "../../../lib/platform/sealing.ts";
import { send } from "../client.ts";
import { count } from "../network.ts";
import { newSecret, oldSecret, type World } from "../world.ts";
import { endCodeLogins } from "./code_logins.ts";
import { endOpenIdLogins } from "./openid_logins.ts";

/** Seals everything under a new secret. `tokens` are those of authors, who use them once meanwhile. */
export async function changeSecret(world: World, tokens: readonly string[]): Promise<void> {
  await restart(world, [oldSecret, newSecret]);
  await restart(world, [newSecret, oldSecret]);
  await Promise.all([seal(world), useAll(world, tokens)]);
  count(world.counters, "op:change secret");
}

/** Drops the old secret: everybody is who they were. */
export async function dropSecret(world: World, tokens: readonly string[]): Promise<void> {
  await restart(world, [newSecret]);
  await useAll(world, tokens);
}

/** Gives each process the secrets, one after the other. */
async function restart(world: World, texts: readonly string[]): Promise<void> {
  world.secret = new MasterSecret(texts);
  for (const process of world.processes) await process.restart();
}

/** Seals what is stored anew, in a first run that dies at some record and a second one. */
async function seal(world: World): Promise<void> {
  const { scheduler, secret, processes, servers } = world;
  const [process] = processes;
  if (process === undefined) throw new Error("There is no process");
  const { keyRing, authors } = process.platform;
  const sealing = { store: servers.store, secret, keyRing, authors };
  const last = scheduler.random.integer(20);
  const died = new Error("the sealing died");
  const die = (records: number): void => {
    if (records > last) throw died;
  };
  await sealAnew({ ...sealing, onProgress: die }).catch((error: unknown) => {
    if (error !== died) throw error;
  });
  await sealAnew(sealing);
}

/** Fans sign in, and back ends and authors use their keys and tokens. */
async function useAll(world: World, tokens: readonly string[]): Promise<void> {
  for (const model of world.tenants) {
    await endCodeLogins(world, model);
    await endOpenIdLogins(world, model);
    const { tenant, credentials: headers } = model;
    const path = "/v1/api/audience/internal/exports";
    const answer = await send(world, { name: "use kept key", tenant, headers, path });
    if (answer?.status !== 200) world.fault(`a key ended with the change of the secret: ${answer?.text}`);
  }
  for (const token of tokens) await world.processes[0]?.platform.authors.verify(token);
}
