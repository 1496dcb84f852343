/**
 * Client tokens, which an app carries from the shop on, so that a user without a session can ask for a new password.
 *
 * One token serves all installations of a project's app. It names the project and no user, and proves only that the
 * request comes from the app. A record of the project lists its tokens, so that each can be ended.
 */

import { uuid } from "../../auth/crypto/mod.ts";
import type { Clock, RandomBytes, Tokens } from "../../auth/mod.ts";
import { bearerToken, invalidToken, tokenTtlSecondsMax } from "../../auth/tokens/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import { decide, type Partition, type Store, type Stored, tenantPartition } from "../../storage/mod.ts";
import type { Project } from "../directory/mod.ts";
import { projectAudience } from "./sessions/session.ts";
import { identitySetting, isProviderEnabled } from "./settings.ts";

/** Most client tokens of a project that have not expired, ended ones included. */
const clientTokensMax = 100;

/** Name of the token of the platform's own page. */
const pageTokenName = "/show";
/** Rest of its life with which another one takes its place, in ms. */
const pageTokenMsMin = 86_400_000;
/** Time for which a process knows it, in ms. */
const pageTokenAgeMsMax = 60_000;
const pageTokensMax = 1_000;

/** A client token as it is listed, without the token. Times in Unix ms. */
export interface ClientToken {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Null while it works. */
  readonly endedAt: number | null;
}

const tokenTypes = { client: "ct+jwt", access: "at+jwt" } as const;

const tokensRead = { type: "record", key: "tokens" } as const;

/** A token, and the id by which it is listed. */
export interface PageToken {
  readonly id: string;
  readonly token: string;
}

interface ClientTokensOptions {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly issuer: string;
}

/** The client tokens of all projects. */
export class ClientTokens {
  readonly #options: ClientTokensOptions;
  readonly #ofPages: Cache<PageToken>;

  constructor(options: ClientTokensOptions) {
    this.#options = options;
    const { clock } = options;
    this.#ofPages = new Cache({ entriesMax: pageTokensMax, maxAgeMs: pageTokenAgeMsMax, clock });
  }

  /** Issues a token for the app of a project, like {@linkcode create}. */
  async issue(projectId: string): Promise<string> {
    return (await this.create(projectId)).token;
  }

  /**
   * Issues a token, which works for 366 days or until it is ended.
   *
   * @throws {AppError} `limit_reached`: the project has 100 that have not expired.
   */
  async create(projectId: string, name = ""): Promise<ClientToken & { readonly token: string }> {
    const entry = await this.#enter(projectId, name, () => false);
    return { ...entry, token: await this.#sign(projectId, entry) };
  }

  /**
   * Returns the token of the platform's own page, which it hands to everybody: the same entry in every process, and another one once that
   * was ended, within a minute. Null where the project asks for none.
   *
   * @throws {AppError} `limit_reached`, as {@linkcode create}.
   */
  async ofPage(project: Project): Promise<PageToken | null> {
    const isNeeded =
      identitySetting(project, "recoveryAuth") === "bearer" && isProviderEnabled(project, "managedPool");
    if (!isNeeded) return null;
    return await this.#ofPages.getOrLoad(project.id, async projectId => {
      const now = this.#options.clock();
      const entry = await this.#enter(
        projectId,
        pageTokenName,
        ({ name, endedAt, expiresAt }) =>
          name === pageTokenName && endedAt === null && expiresAt - now > pageTokenMsMin,
      );
      return { value: { id: entry.id, token: await this.#sign(projectId, entry) } };
    });
  }

  /** Returns an entry that serves; a new one where there is none. */
  async #enter(
    projectId: string,
    name: string,
    serves: (entry: ClientToken) => boolean,
  ): Promise<ClientToken> {
    const { store, clock, random } = this.#options;
    const createdAt = clock();
    const expiresAt = createdAt + tokenTtlSecondsMax * 1_000;
    const entry: ClientToken = { id: uuid(random), name, createdAt, expiresAt, endedAt: null };
    return await decide(store, tokensPartition(projectId), {
      reads: [tokensRead],
      apply: ([stored]) => {
        const live = tokensOf(stored, createdAt);
        const found = live.find(serves);
        if (found !== undefined) return { writes: [], answer: found };
        if (live.length >= clientTokensMax) throw tooMany();
        return { writes: [putTokens([...live, entry])], answer: entry };
      },
    });
  }

  /** Signs a token that ends with its entry. */
  #sign(projectId: string, { id, expiresAt }: ClientToken): Promise<string> {
    const { tokens, clock, issuer } = this.#options;
    return tokens.sign({
      typ: tokenTypes.client,
      issuer,
      audience: projectAudience(projectId),
      subject: projectId,
      ttlSeconds: Math.floor((expiresAt - clock()) / 1_000),
      id,
    });
  }

  /** Lists the tokens of a project that have not expired, oldest first. */
  async list(projectId: string): Promise<readonly ClientToken[]> {
    const [stored] = await this.#options.store.read(tokensPartition(projectId), [tokensRead]);
    return tokensOf(stored, this.#options.clock());
  }

  /** Ends a token at once; null if the project has none with this id. */
  async end(projectId: string, id: string): Promise<ClientToken | null> {
    const { store, clock } = this.#options;
    this.#ofPages.delete(projectId);
    return await decide(store, tokensPartition(projectId), {
      reads: [tokensRead],
      apply: ([stored]) => {
        const now = clock();
        const live = tokensOf(stored, now);
        const found = live.find(token => token.id === id);
        if (found === undefined) return { writes: [], answer: null };
        const ended = { ...found, endedAt: found.endedAt ?? now };
        return { writes: [putTokens(live.map(token => (token.id === id ? ended : token)))], answer: ended };
      },
    });
  }

  /**
   * Demands a client token of the project, or an access token of one of its users, which may have expired: a user who
   * forgot the password cannot renew it.
   *
   * @throws {AppError} `missing_token`, `invalid_token`; `token_expired` for a client token.
   */
  async check(request: Request, projectId: string): Promise<void> {
    const { tokens, issuer } = this.#options;
    const token = bearerToken(request.headers.get("authorization"));
    const expected = { issuer, audience: projectAudience(projectId) };
    try {
      const { jti } = await tokens.verify(token, { ...expected, typ: tokenTypes.client });
      const listed = await this.list(projectId);
      if (!listed.some(({ id, endedAt }) => id === jti && endedAt === null)) throw invalidToken("ended");
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid_token") throw error;
      await tokens.verify(token, { ...expected, typ: tokenTypes.access, acceptExpired: true });
    }
  }
}

function tokensOf(stored: Stored | null, now: number): readonly ClientToken[] {
  const listed = stored === null ? [] : (JSON.parse(stored.value) as readonly ClientToken[]);
  return listed.filter(({ expiresAt }) => now < expiresAt);
}

function putTokens(tokens: readonly ClientToken[]) {
  return { type: "put", key: "tokens", value: JSON.stringify(tokens) } as const;
}

function tokensPartition(projectId: string): Partition {
  return tenantPartition({ project: projectId }, "client_tokens");
}

function tooMany(): AppError {
  return new AppError(
    "limit_reached",
    `Cannot issue another client token as the project has ${clientTokensMax} that have not expired`,
  );
}
