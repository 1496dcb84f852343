/** Operators of a tenant: they issue and revoke keys, and export users. */

import { decryptExport } from "../../../lib/fans/exports/file/mod.ts";
import { type Answer, type Ask, send } from "../client.ts";
import type { TenantModel, UserModel } from "../model.ts";
import { exportKernels } from "../process.ts";
import type { World } from "../world.ts";
import { pick } from "./choice.ts";

const internal = "/v1/api/audience/internal";

/** An operator with a key that may do anything. */
export async function playOperator(world: World, model: TenantModel): Promise<void> {
  const { scheduler } = world;
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(scheduler.random.integer(15_000));
    await pick(scheduler.random, [
      [1, () => lendKey(world, model)],
      [1, () => exportUsers(world, model, `${model.tenant.mark}-export-${step}`)],
    ]);
  }
}

function call(world: World, model: TenantModel, name: string, path: string, more: Partial<Ask> = {}) {
  return send(world, { name, path, tenant: model.tenant, headers: model.credentials, ...more });
}

/** A key works while it is not revoked, and not after. */
async function lendKey(world: World, model: TenantModel): Promise<void> {
  const path = `/api/v2/organisations/${model.tenant.organisationId}/api_keys`;
  const attributes = { name: `For ${model.tenant.mark}s`, permissions: ["users:read"] };
  const body = { data: { type: "api_keys", attributes } };
  // A key is shown once: where the answer is lost, so is the key.
  const created = await call(world, model, "create key", path, { body, attemptsMax: 1 });
  if (created?.status !== 201) return;
  const { id, attributes: shown } = created.json.data;
  const headers = { "x-api-key": id, "x-api-secret": shown.secret };
  const use = (): Promise<Answer | null> =>
    call(world, model, "use key", `${internal}/users/search`, { headers, body: { filter: {} } });
  const before = await use();
  if (before !== null && before.status !== 200) world.fault(`a new key was refused: ${before.text}`);
  const revoked = await call(world, model, "revoke key", `${path}/${id}`, { method: "DELETE" });
  if (revoked === null || revoked.status >= 300) return;
  await world.scheduler.sleep(6_000);
  const after = await use();
  if (after !== null && after.status !== 401) world.fault(`a revoked key opened ${after.text}`);
}

/** Requests an export, which is looked at when all has settled. */
async function exportUsers(world: World, model: TenantModel, id: string): Promise<void> {
  const throughout = [...model.users.values()].filter(isKnown).map(({ userId }) => userId);
  // A password takes as long to try as all of a short simulation.
  const encrypt = world.scheduler.random.chance(0.04);
  const asked = await call(world, model, "export", `${internal}/users/export`, {
    body: { format: "json", encrypt, fields: ["userId", "displayName"] },
    headers: { ...model.credentials, "idempotency-key": `"${id}"` },
  });
  if (asked?.status === 202) model.exports.set(asked.json.data.exportId, throughout);
}

/** An export has each user who exists for its whole time once, and nobody twice. */
export async function checkExports(world: World, model: TenantModel): Promise<void> {
  for (const [exportId, throughout] of model.exports) {
    const found = await call(world, model, "show export", `${internal}/exports/${exportId}`);
    const data = found?.json?.data;
    if (data?.status !== "completed") {
      world.fault(`an export is not completed: ${found?.text}`);
      continue;
    }
    const listed = (await download(world, model, data)) ?? [];
    if (new Set(listed).size < listed.length) world.fault(`an export has a user twice: ${listed.join()}`);
    const missing = throughout.filter(
      userId => model.users.get(userId)?.isLeaving === false && !listed.includes(userId),
    );
    if (missing.length > 0) world.fault(`an export lacks ${missing.join()}`);
  }
}

function isKnown({ operations, isLeaving }: UserModel): boolean {
  const hasReward = [...operations.values()].some(
    ({ kind, outcome }) => kind === "reward" && outcome === "applied",
  );
  return hasReward && !isLeaving;
}

async function download(
  world: World,
  model: TenantModel,
  { downloadUrl, password }: { readonly downloadUrl: string; readonly password?: string },
): Promise<readonly string[] | null> {
  const { pathname, search } = new URL(downloadUrl);
  const file = await call(world, model, "download", pathname + search, { headers: {} });
  if (file === null) return null;
  if (file.status !== 200) {
    world.fault(`an export cannot be downloaded: ${file.text}`);
    return null;
  }
  const options = { password: password ?? "", kernels: exportKernels };
  const text =
    password === undefined
      ? file.text
      : await new Response(await decryptExport(new Blob([file.text]), options)).text();
  return JSON.parse(text).map(({ userId }: { userId: string }) => userId);
}
