/** A platform whose mail is caught and whose key derivations are counted, and short ways to its managed pool. */

import { createMemoryLimiter } from "../../../adapters/memory/mod.ts";
import type { Mail, Mailer } from "../../../lib/base/outbound/outbound.ts";
import type { AccountMerge } from "../../../lib/fans/identity/mod.ts";
import type { PlatformOptions } from "../../../lib/mod.ts";
import { type CountingKernels, quickKernels } from "../../support/kernels.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import type { OpenStore } from "../../support/stores.ts";

type Selection = Readonly<Record<"projectId" | "strategy" | "provider", string>>;

/** Query that selects the managed pool of the test project. */
export const pool: Selection = { projectId: ids.project, strategy: "email", provider: "managedPool" };
/** Query that selects the anonymous users of the test project. */
export const anonymous: Selection = {
  projectId: ids.project,
  strategy: "simplified",
  provider: "anonymous",
};
export const deviceId = "0123abcd-0000-4000-8000-0000000000d1";
/** Default address of clients. */
export const clientAddress = "192.0.2.77";
export const password = "correct horse battery";
export const newPassword = "another fine secret";

/** Settings of a test's platform. */
export interface PoolOptions {
  /** The section `identity` of the project's settings. */
  readonly identity?: Readonly<Record<string, unknown>>;
  /** True if attempts are counted. @default false */
  readonly isLimited?: boolean;
  readonly mailer?: Mailer;
  readonly platform?: Partial<PlatformOptions>;
}

/** A platform with users who have passwords. */
export class Pool {
  readonly world: TestPlatform;
  readonly mails: Mail[];
  readonly kernels: CountingKernels;
  /** Runs before every derivation, so that something may happen meanwhile. */
  readonly hooks: { beforeDerive: () => Promise<void> };
  readonly merges: AccountMerge[];
  readonly logged: string[];
  /** The token that the project's app carries. */
  readonly clientToken: string;

  constructor(
    parts: Pick<Pool, "world" | "mails" | "kernels" | "hooks" | "merges" | "logged" | "clientToken">,
  ) {
    this.world = parts.world;
    this.mails = parts.mails;
    this.kernels = parts.kernels;
    this.hooks = parts.hooks;
    this.merges = parts.merges;
    this.logged = parts.logged;
    this.clientToken = parts.clientToken;
  }

  /** Opens a platform over a fresh store. */
  static async open(open: OpenStore, options: PoolOptions = {}): Promise<Pool> {
    const mails: Mail[] = [];
    const merges: AccountMerge[] = [];
    const logged: string[] = [];
    const kernels = quickKernels();
    const hooks = { beforeDerive: async (): Promise<void> => {} };
    const { scrypt: derive } = kernels;
    if (derive === undefined) throw new Error("The kernels of tests have scrypt");
    const { identity, isLimited = false, mailer } = options;
    let now = (): number => 0;
    const onClock: OpenStore = clock => {
      now = clock;
      return open(clock);
    };
    const world = await openPlatform(onClock, {
      passwordKernels: {
        ...kernels,
        async scrypt(input, cost) {
          await hooks.beforeDerive();
          return await derive(input, cost);
        },
      },
      mailer: mailer ?? { send: async mail => void mails.push(mail) },
      logger: { enabled: () => true, log: (_, event) => void logged.push(event) },
      ...(isLimited ? { limiter: createMemoryLimiter({ clock: () => now() }) } : {}),
      ...options.platform,
      identity: { onMerge: merge => void merges.push(merge), ...options.platform?.identity },
      seed: identity === undefined ? seed : seedWith(identity),
    });
    const clientToken = await world.platform.clientTokens.issue(ids.project);
    return new Pool({ world, mails, kernels, hooks, merges, logged, clientToken });
  }

  register(email: string, more: object = {}): Promise<Answer> {
    return this.world.call("/v1/user", { body: { ...pool, data: { email, password, ...more } } });
  }

  /** Logs in; `more` replaces or adds members of `data`. */
  login(email: string, more: object = {}, address: string = clientAddress): Promise<Answer> {
    const body = { ...pool, data: { email, password, ...more } };
    return this.world.call("/v1/user/login", { method: "PUT", body, address });
  }

  /** The session record of a user who registers and logs in. */
  async member(email: string, more: object = {}): Promise<Answer["json"]> {
    await this.register(email, more);
    return (await this.login(email, { deviceId })).json.data;
  }

  profile(token: string): Promise<Answer> {
    return this.world.call(`/v1/user?${new URLSearchParams(pool)}`, { token });
  }

  check(token: string, device: string = deviceId): Promise<Answer> {
    return this.world.call(`/v1/user/check?${new URLSearchParams({ ...pool, deviceId: device })}`, { token });
  }

  refresh(record: Answer["json"]): Promise<Answer> {
    const { deviceId: device, refreshToken, accessToken } = record;
    const body = { ...pool, deviceId: device, refreshToken };
    return this.world.call("/v1/user/refresh", { body, token: accessToken });
  }

  changePassword(token: string, data: object): Promise<Answer> {
    return this.world.call("/v1/user/change-password", {
      method: "PUT",
      body: { ...pool, data },
      token,
      address: clientAddress,
    });
  }

  update(token: string, data: object): Promise<Answer> {
    return this.world.call("/v1/user", {
      method: "PUT",
      body: { ...pool, data },
      token,
      address: clientAddress,
    });
  }

  forgot(
    email: string,
    token: string | null = this.clientToken,
    address: string = clientAddress,
  ): Promise<Answer> {
    return this.world.call("/v1/user/forgot-password", {
      method: "PUT",
      body: { ...pool, data: { email } },
      address,
      ...(token === null ? {} : { token }),
    });
  }

  confirm(
    email: string,
    confirmationCode: string,
    more: { readonly password?: string; readonly token?: string | null; readonly address?: string } = {},
  ): Promise<Answer> {
    const { token = this.clientToken, address = clientAddress } = more;
    return this.world.call("/v1/user/confirm-forgot-password", {
      body: { ...pool, data: { email, confirmationCode, password: more.password ?? newPassword } },
      address,
      ...(token === null ? {} : { token }),
    });
  }

  /** The code that forgot mails to the user. */
  async code(email: string): Promise<string> {
    await this.forgot(email);
    return await this.#mailedCode("passwordCode");
  }

  verifyEmail(email: string, token: string | null = this.clientToken): Promise<Answer> {
    return this.world.call("/v1/user/verify-email", {
      method: "PUT",
      body: { ...pool, data: { email } },
      address: clientAddress,
      ...(token === null ? {} : { token }),
    });
  }

  confirmEmail(
    email: string,
    confirmationCode: string,
    token: string | null = this.clientToken,
    more: object = {},
  ): Promise<Answer> {
    return this.world.call("/v1/user/confirm-email", {
      body: { ...pool, data: { email, confirmationCode, ...more } },
      address: clientAddress,
      ...(token === null ? {} : { token }),
    });
  }

  /** The code that verifyEmail mails to the user; empty if there is none. */
  async emailCode(email: string): Promise<string> {
    await this.verifyEmail(email);
    return await this.#mailedCode("emailCode");
  }

  mailLoginCode(
    email: string,
    token: string | null = this.clientToken,
    address: string = clientAddress,
  ): Promise<Answer> {
    return this.world.call("/v1/user/login-code", {
      method: "PUT",
      body: { ...pool, data: { email } },
      address,
      ...(token === null ? {} : { token }),
    });
  }

  /** Logs in with a code; `more` adds members of `data`. */
  logInByCode(
    email: string,
    confirmationCode: string,
    more: object = {},
    token: string | null = this.clientToken,
    address: string = clientAddress,
  ): Promise<Answer> {
    return this.world.call("/v1/user/confirm-login", {
      body: { ...pool, data: { email, confirmationCode, ...more } },
      address,
      ...(token === null ? {} : { token }),
    });
  }

  /** The code to log in that is mailed to the address; empty if there is none. */
  async loginCode(email: string): Promise<string> {
    await this.mailLoginCode(email);
    return await this.#mailedCode("loginCode");
  }

  async #mailedCode(kind: Mail["kind"]): Promise<string> {
    await this.world.platform.idle();
    const mail = this.mails.findLast(one => one.kind === kind);
    return /\b\d{8}\b/.exec(mail?.text ?? "")?.[0] ?? "";
  }

  /** An anonymous user's session record. */
  async anonymous(device: string = deviceId): Promise<Answer["json"]> {
    const body = { ...anonymous, data: { deviceId: device, additionalId: "tv" } };
    return (await this.world.call("/v1/user", { body })).json.data;
  }

  /** The answer, with the number of key derivations that it cost until everything was done. */
  async costOf(ask: () => Promise<Answer>): Promise<readonly [Answer, number]> {
    await this.world.platform.idle();
    const before = this.kernels.asked.length;
    const answer = await ask();
    await this.world.platform.idle();
    return [answer, this.kernels.asked.length - before];
  }

  dispose(): Promise<void> {
    return this.world.dispose();
  }
}

/** Returns an answer for comparison: everything but the request's id. */
export function visible({ status, headers, text }: Answer): unknown {
  const fields = [...headers].filter(([name]) => name !== "x-request-id");
  return { status, fields, text };
}

function seedWith(identity: Readonly<Record<string, unknown>>): typeof seed {
  const projects = (seed.projects ?? []).map(project =>
    project.id === ids.project ? { ...project, settings: { ...project.settings, identity } } : project,
  );
  return { ...seed, projects };
}
