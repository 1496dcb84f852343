/** A fan of a test: signed up, signed in, and reporting actions. */

import type { Clock } from "../auth/mod.ts";
import type { Handler } from "../http/mod.ts";
import type { RewardsProfile } from "../loyalty/views/profile.ts";
import { type Call, CallRefused, createCall } from "./call.ts";
import type { TenantIds } from "./world.ts";

/** Options of a fan. */
export interface TestFanOptions {
  /** Shown on boards. @default "Fan 1", "Fan 2" and so on */
  readonly username?: string;
}

/** Options of an action. */
export interface TestActionOptions {
  /** @default {} */
  readonly data?: Readonly<Record<string, unknown>>;
  /** An action takes effect once under its id. @default it has none */
  readonly actionId?: string;
}

/** A signed-in fan. The token is renewed as time passes. */
export interface TestFan {
  readonly userId: string;
  readonly username: string;
  /** The only credential of the fan: an app keeps it. */
  readonly externalId: string;
  /** Calls the platform as the fan. */
  readonly call: Call;
  /** Returns a token of the space that is good now. */
  token(): Promise<string>;
  /** Reports an action. Boards and webhooks follow in the background. @throws {CallRefused} The platform refuses it. */
  act(action: string, options?: TestActionOptions): Promise<void>;
  /** Returns metrics, inventory and challenges. */
  profile(): Promise<RewardsProfile>;
}

/** Services that fans need. */
export interface TestFanServices {
  readonly fetch: Handler;
  readonly url: string;
  readonly clock: Clock;
  readonly tenant: TenantIds;
}

interface SessionRecord {
  readonly userId: string;
  readonly externalId: string;
  /** Unix seconds. */
  readonly timeStamp: number;
}

/** Time in seconds in which a session record is exchanged for tokens; afterwards the fan signs in again. */
const recordSeconds = 89 * 86_400;
/** Time in ms before the end of a token in which it is renewed. */
const renewalMs = 60_000;

function hintOf(action: string): string {
  return `. To let fans report it, declare {"name":${JSON.stringify(action)},"clientReportable":true} in \`actions\` of the loyalty configuration`;
}

/** Signs a fan up and in. */
export async function createTestFan(
  { fetch, url, clock, tenant }: TestFanServices,
  username: string,
): Promise<TestFan> {
  const selector = { projectId: tenant.projectId, strategy: "simplified", provider: "noLogin" };
  const anyone = createCall(fetch, url, () => ({}));
  const signUp = { ...selector, data: { username } };
  let { data: record } = await anyone<{ readonly data: SessionRecord }>("/v1/user", signUp);
  let current = { accessToken: "", endsAt: 0 };
  async function token(): Promise<string> {
    if (clock() < current.endsAt - renewalMs) return current.accessToken;
    if (clock() / 1_000 > record.timeStamp + recordSeconds) {
      const login = { ...selector, data: record };
      record = {
        ...record,
        ...(await anyone<{ readonly data: SessionRecord }>("/v1/user/login", login, "PUT")).data,
      };
    }
    const exchange = { type: "sessionRecord", projectId: tenant.projectId, record };
    const { data } = await anyone<{
      readonly data: { readonly accessToken: string; readonly expiresIn: number };
    }>("/api/auth/token", exchange);
    current = { accessToken: data.accessToken, endsAt: clock() + data.expiresIn * 1_000 };
    return current.accessToken;
  }
  const { organisationId } = tenant;
  const call = createCall(fetch, url, async () => ({
    authorization: `Bearer ${await token()}`,
    "x-platform-org-id": organisationId,
  }));
  return {
    userId: record.userId,
    username,
    externalId: record.externalId,
    call,
    token,
    async act(action, { data = {}, actionId } = {}) {
      const body = { action, data, ...(actionId === undefined ? {} : { actionId }) };
      await call("/api/loyalty/action", body).catch((error: unknown) => {
        if (error instanceof CallRefused && error.code === "forbidden") error.message += hintOf(action);
        throw error;
      });
    },
    profile: async () => (await call<{ readonly data: RewardsProfile }>("/api/loyalty/profile")).data,
  };
}
