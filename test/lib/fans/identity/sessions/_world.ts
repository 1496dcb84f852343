/** Sessions under test, in one process or in two that share a store. */

import assert from "node:assert/strict";
import { systemRandom } from "../../../../../lib/auth/crypto/mod.ts";
import type { RandomBytes, Tokens } from "../../../../../lib/auth/mod.ts";
import { createKeyRing } from "../../../../../lib/auth/tokens/key_ring.ts";
import { createTokens } from "../../../../../lib/auth/tokens/mod.ts";
import { AppError, type ErrorCode } from "../../../../../lib/base/errors/mod.ts";
import type { Project } from "../../../../../lib/fans/directory/mod.ts";
import { type Session, type User, Users } from "../../../../../lib/fans/identity/mod.ts";
import type { SessionTokens } from "../../../../../lib/fans/identity/sessions/session.ts";
import type { Authenticated } from "../../../../../lib/fans/identity/sessions/sessions.ts";
import { Sessions } from "../../../../../lib/fans/identity/sessions/sessions.ts";
import type { Store } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { externalIds, ids, testSecret } from "../../../../support/platform.ts";

export const issuer = "https://id.example";
export const deviceId = "0123abcd-0000-4000-8000-00000000000d";

export const project: Project = {
  id: ids.project,
  spaceId: ids.space,
  organisationId: ids.organisation,
  name: "Club app",
  settings: {},
};
export const otherProject: Project = {
  id: ids.otherProject,
  spaceId: ids.otherSpace,
  organisationId: ids.otherOrganisation,
  name: "Rival app",
  settings: {},
};

/** Opens the stores of two processes that share their data; it may be one store twice. */
export type OpenPair = (clock: () => number) => Promise<readonly [Store, Store]>;

/** A process: its sessions and its tokens. */
export interface Node {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
}

export interface World {
  readonly clock: { now(): number; advance(ms: number): void };
  readonly first: Node;
  readonly second: Node;
  /** The sessions that ended by reuse, as the hook received them. */
  readonly reused: [projectId: string, session: Session][];
  /** Stores a user of a project. */
  user(more?: Partial<User>, projectId?: string): Promise<User>;
  dispose(): Promise<void>;
}

/** Opens two processes over one set of data. */
export async function openWorld(open: OpenPair, random: RandomBytes = systemRandom): Promise<World> {
  const clock = createTestClock();
  const [left, right] = await open(clock.now);
  const reused: World["reused"] = [];
  async function node(store: Store): Promise<Node> {
    const environment = { store, clock: clock.now, random };
    const ring = await createKeyRing({ ...environment, secret: testSecret });
    const tokens = createTokens({ ...environment, ring });
    const users = new Users(store, testSecret);
    const onReuse = (projectId: string, session: Session): void => void reused.push([projectId, session]);
    return { store, tokens, sessions: new Sessions({ ...environment, users, tokens, issuer, onReuse }) };
  }
  const first = await node(left);
  const second = await node(right);
  let users = 0;
  return {
    clock,
    first,
    second,
    reused,
    user(more = {}, projectId = project.id) {
      users += 1;
      return new Users(left, testSecret).create(projectId, sampleUser(users, more));
    },
    async dispose() {
      for (const store of new Set([left, right])) await store[Symbol.asyncDispose]();
    },
  };
}

function sampleUser(number: number, more: Partial<User>): User {
  return {
    ...externalIds.seal(`0f000000-0000-4000-8000-${String(number).padStart(12, "0")}`, `external-${number}`),
    provider: "managedPool",
    username: "Sam",
    signUp: 1_700_000_000,
    loginHistory: [],
    devices: [],
    appProfile: {},
    ...more,
  };
}

/** A request with a bearer token, or without one. */
export function asking(token?: string): Request {
  return new Request("https://id.example/v1/user", {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
}

/** The expected members of an error that a session throws. */
export function withCode(code: ErrorCode): (error: unknown) => boolean {
  return error => {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.code, code);
    return true;
  };
}

/** The claims of a token, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

/** A client with a session: refreshes with the tokens that it got last. */
export class Client {
  readonly #node: Node;
  tokens: SessionTokens;

  constructor(node: Node, tokens: SessionTokens) {
    this.#node = node;
    this.tokens = tokens;
  }

  /** Refreshes and keeps the new tokens; answers the counter that they carry. */
  async refresh(): Promise<number> {
    const { accessToken, refreshToken } = this.tokens;
    const request = asking(accessToken);
    const { tokens } = await this.#node.sessions.refresh(project, { deviceId, refreshToken, request });
    this.tokens = tokens;
    return Number(claimsOf(tokens.refreshToken).ctr);
  }

  /** Uses the access token. */
  async use(): Promise<Authenticated> {
    return await this.#node.sessions.authenticate(asking(this.tokens.accessToken), project);
  }

  /** Another client with the same tokens. */
  copy(node: Node = this.#node): Client {
    return new Client(node, this.tokens);
  }
}

/** Logs a user in and hands the tokens to a client. */
export async function login(node: Node, user: User): Promise<Client> {
  return new Client(node, (await node.sessions.open(project, user, { deviceId })).tokens);
}
