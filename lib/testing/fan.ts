/** A fan of a test: signed up, signed in, and reporting actions. */

import { uuid } from "../auth/crypto/mod.ts";
import type { RandomBytes } from "../auth/mod.ts";
import {
  audience,
  createFanClient,
  type FanClient,
  GrandstandError,
  identity,
  leaderboards,
  location,
  loyalty,
} from "../client/mod.ts";
import type { RewardsProfile } from "../fans/loyalty/views/profile.ts";
import type { Handler } from "../http/mod.ts";
import { type Call, createCall } from "./call.ts";
import type { TestTime } from "./time.ts";
import type { TenantIds } from "./world.ts";

/** Options of a fan. */
export interface TestFanOptions {
  /** Shown on boards. @default "Fan 1", "Fan 2" and so on */
  readonly username?: string;
}

/** Options of an action. */
export interface TestActionOptions {
  /** @default {} */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  /** An action takes effect once under its id. @default a new id */
  readonly actionId?: string;
}

const areas = { identity, location, leaderboards, loyalty, audience };

/** A signed-in fan. The session goes on as time passes. */
export interface TestFan {
  readonly userId: string;
  readonly username: string;
  /** The only credential of the fan: an app keeps it. */
  readonly externalId: string;
  /** The typed client with the session of the fan. It sends each call once. */
  readonly client: FanClient<typeof areas>;
  /** Calls a path as the fan. */
  readonly call: Call;
  /** Returns a token of the space that is good now. */
  token(): Promise<string>;
  /** Reports an action. Boards and webhooks follow in the background. @throws {GrandstandError} The platform refuses it. */
  act(action: string, options?: TestActionOptions): Promise<void>;
  /** Returns metrics, inventory and challenges. */
  profile(): Promise<RewardsProfile>;
}

/** Services that fans need. */
export interface TestFanServices {
  readonly handler: Handler;
  readonly url: string;
  readonly time: TestTime;
  readonly random: RandomBytes;
  readonly tenant: TenantIds;
}

/** Signs a fan up and in. */
export async function createTestFan(services: TestFanServices, username: string): Promise<TestFan> {
  const { handler, url, time, random, tenant } = services;
  const { organisationId, projectId } = tenant;
  const client = createFanClient({
    ...{ url, projectId, organisationId, areas, clock: time.clock, timer: time.timer },
    fetch: async (target, init) => await handler(new Request(target, init)),
    random: () => (random(1)[0] ?? 0) / 256,
    uniqueId: () => uuid(random),
    // Time stands still: nobody would end the pause before another attempt.
    attemptsMax: 1,
  });
  const user = await client.session.register({ provider: "noLogin", username });
  if (user === null) throw new TypeError("Cannot sign a fan up without a session");
  const headersOf = async () => ({
    ...(await client.session.headers("s")),
    "x-platform-org-id": organisationId,
  });
  return {
    userId: user.userId,
    username,
    externalId: user.externalId,
    client,
    call: createCall(handler, url, headersOf),
    token: async () => (await client.session.headers("s")).authorization?.replace(/^Bearer /, "") ?? "",
    async act(action, { data = {}, actionId } = {}) {
      const body = { action, data, ...(actionId === undefined ? {} : { actionId }) };
      await client.loyalty.reportAction({ body }).catch((error: unknown) => {
        if (error instanceof GrandstandError && error.code === "forbidden") error.message += hintOf(action);
        throw error;
      });
    },
    profile: async () => await client.loyalty.getRewardsProfile(),
  };
}

function hintOf(action: string): string {
  return `. To let fans report it, declare {"name":${JSON.stringify(action)},"clientReportable":true} in \`actions\` of the loyalty configuration`;
}
