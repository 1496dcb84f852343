/**
 * Authoring users and their tokens.
 *
 * A token is `gst_`, its id and a secret. The store has a keyed digest of the secret alone. A verified token stays in memory for
 * less than a second, so that a revocation is in force within one everywhere.
 */

import { bytesToHex } from "@noble/hashes/utils.js";
import {
  base64url,
  constantTimeEqual,
  deriveKeys,
  isKeyedTag,
  type Keys,
  keyedTag,
  uuid,
} from "../../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes } from "../../../auth/mod.ts";
import { bearerToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { canonicalEmail } from "../../../base/text/mod.ts";
import type { Home } from "../../../fans/directory/mod.ts";
import { normaliseEmail } from "../../../fans/identity/lookup_keys.ts";
import type { Guard } from "../../../http/mod.ts";
import { Cache, mapConcurrent } from "../../../storage/background/mod.ts";
import { type Check, decide, type Store } from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import type { Role } from "../../table/mod.ts";

/** Age in ms from which a token is read again. */
const ageMsMax = 900;
const cachedMax = 10_000;
/** Life of a token without an end of its own, in seconds: a year. */
const tokenSeconds = 31_536_000;
/** Least time between two notes of the use of a token, in seconds. */
const useSeconds = 60;
const tokensPerUserMax = 100;
const readsAtOnce = 20;

const tokenShape = /^gst_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$/;
const userKey = "user";
const tokensKey = "tokens";
const tokenKey = "token";
const useKey = "use";
const organisationsKey = "organisations";
const tokenReads = [
  { type: "record", key: tokenKey },
  { type: "record", key: useKey },
] as const;

interface StoredToken extends TokenInfo {
  readonly tag: string;
}

interface CachedAuthor extends Author {
  readonly tag: string;
  /** When it was used last, as far as it is noted, in Unix seconds. */
  used: number;
  /** What a note of its use must find unchanged. */
  readonly checks: readonly Check[];
  /** A secret that was compared with the tag, so that the next request costs no HMAC. */
  verified?: string;
}

interface AuthorsOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** Keeps authoring users and their tokens. */
export class Authors {
  readonly #options: AuthorsOptions;
  readonly #peppers: Keys;
  readonly #emailKeys: Keys;
  readonly #verified: Cache<CachedAuthor | null>;
  /** The owners of tokens, so that both are read at once the next time. */
  readonly #owners = new Cache<string>({ entriesMax: cachedMax });

  constructor(options: AuthorsOptions) {
    this.#options = options;
    this.#peppers = deriveKeys(options.secret, "access_token");
    this.#emailKeys = deriveKeys(options.secret, "author_email");
    this.#verified = new Cache({ entriesMax: cachedMax, maxAgeMs: ageMsMax, clock: options.clock });
  }

  /**
   * Returns the caller of a token.
   *
   * @throws {AppError} `invalid_token`: malformed, unknown, revoked or wrong; `token_expired`.
   */
  async verify(token: string): Promise<Author> {
    const [, id = "", secret = ""] = tokenShape.exec(token) ?? [];
    if (id === "") throw unknownToken();
    const author = await this.#verified.getOrLoad(id, async () => ({ value: await this.#load(id) }));
    const checked = this.#check(author, id, secret);
    if (this.#peppers.length > 1 && author !== null) await this.#tagAnew(author, id, secret);
    if (author !== null) this.#noteUse(author, id);
    return checked;
  }

  /** Notes the use of a token of a person, beside the request that it is used for. */
  #noteUse(author: CachedAuthor, id: string): void {
    const now = Math.floor(this.#options.clock() / 1_000);
    if (author.token.parentId !== undefined || now - author.used < useSeconds) return;
    author.used = now;
    const expireAt = author.token.expires * 1_000;
    const put = { type: "put", key: useKey, value: String(now), expireAt } as const;
    // A token that was revoked meanwhile leaves nothing behind, and another process may have been first.
    this.#options.store.commit(tokenPartition(id), { checks: author.checks, writes: [put] }).catch(() => {});
  }

  /** Tags a token under the first master secret that has a tag under another one, as only its holder can show it. */
  async #tagAnew(author: CachedAuthor, id: string, secret: string): Promise<void> {
    const tag = this.#tagOf(id, secret);
    if (constantTimeEqual(author.tag, tag)) return;
    await decide(this.#options.store, tokenPartition(id), {
      reads: [{ type: "record", key: tokenKey }],
      apply: ([stored]) => {
        const token = stored === null ? null : (JSON.parse(stored.value) as StoredToken);
        if (token === null || constantTimeEqual(token.tag, tag)) return { writes: [], answer: undefined };
        const value = JSON.stringify({ ...token, tag });
        const put = { type: "put", key: tokenKey, value, expireAt: token.expires * 1_000 } as const;
        return { writes: [put], answer: undefined };
      },
    });
  }

  async findOrCreate(address: string, { name = "", operator = false } = {}): Promise<AuthorUser> {
    const { store, clock, random } = this.#options;
    const email = canonicalEmail(address.trim());
    const [partition, ...older] = this.#emailPartitions(email);
    const known = await this.#idIn(older);
    const userId = await decide(store, partition, {
      reads: [{ type: "record", key: userKey }],
      apply: ([stored]) => {
        if (stored !== null) return { writes: [], answer: stored.value };
        const id = known ?? uuid(random);
        return { writes: [{ type: "put", key: userKey, value: id }], answer: id };
      },
    });
    return await decide(store, userPartition(userId), {
      reads: [{ type: "record", key: userKey }],
      apply: ([stored]) => {
        const old = stored === null ? null : (JSON.parse(stored.value) as AuthorUser);
        if (old !== null && (!operator || old.systemRole === "operator")) return { writes: [], answer: old };
        const created = old?.created ?? Math.floor(clock() / 1_000);
        const shown = old?.name ?? (name === "" ? (email.split("@", 1)[0] ?? "") : name);
        const user: AuthorUser = {
          id: userId,
          name: shown,
          email,
          systemRole: operator ? "operator" : "user",
          created,
        };
        return { writes: [{ type: "put", key: userKey, value: JSON.stringify(user) }], answer: user };
      },
    });
  }

  /** Returns the user of an address, or null for an unknown one. */
  async find(email: string): Promise<AuthorUser | null> {
    const id = await this.#idIn(this.#emailPartitions(email));
    return id === null ? null : await this.user(id);
  }

  /** Returns the id of an author in the first of the partitions that has one. */
  async #idIn(partitions: readonly string[]): Promise<string | null> {
    for (const partition of partitions) {
      const [stored] = await this.#options.store.read(partition, [{ type: "record", key: userKey }]);
      if (stored !== null) return stored.value;
    }
    return null;
  }

  /** Returns a user, or null for an unknown id. */
  async user(id: string): Promise<AuthorUser | null> {
    const [stored] = await this.#options.store.read(userPartition(id), [{ type: "record", key: userKey }]);
    return stored === null ? null : (JSON.parse(stored.value) as AuthorUser);
  }

  /**
   * Creates a token and returns it with its text, which cannot be read again.
   *
   * @throws {AppError} `conflict`: the user has {@linkcode tokensPerUserMax} tokens.
   */
  async createToken(wanted: NewToken): Promise<TokenInfo & { readonly token: string }> {
    const { store, clock, random } = this.#options;
    const now = Math.floor(clock() / 1_000);
    const id = bytesToHex(random(16));
    const secret = base64url(random(32));
    const { userId, name, roleCap = null, scopes = null, isLogin = false } = wanted;
    const { parentId, eventId, audience } = wanted;
    const prefix = `gst_${id.slice(0, 8)}`;
    const expires = wanted.expires ?? now + tokenSeconds;
    const info: TokenInfo = {
      id,
      userId,
      name,
      prefix,
      roleCap,
      scopes,
      created: now,
      expires,
      isLogin,
      parentId,
      eventId,
      audience,
    };
    // The list first: a crash leaves an entry without a token, and never a token that no list shows. Those of dialogues are many,
    // and end with the token that made them.
    if (parentId === undefined) await this.#enlist(info);
    const stored: StoredToken = { ...info, tag: this.#tagOf(id, secret) };
    await store.commit(tokenPartition(id), {
      writes: [{ type: "put", key: tokenKey, value: JSON.stringify(stored), expireAt: expires * 1_000 }],
    });
    return { ...info, token: `gst_${id}_${secret}` };
  }

  /** Notes an organisation in which a user has a role somewhere. Roles decide; this says where to look. */
  async addOrganisation(userId: string, organisationId: string): Promise<void> {
    await decide(this.#options.store, userPartition(userId), {
      reads: [{ type: "record", key: organisationsKey }],
      idempotent: true,
      apply: ([stored]) => {
        const ids = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
        const value = JSON.stringify([...ids, organisationId]);
        const writes = ids.includes(organisationId)
          ? []
          : [{ type: "put", key: organisationsKey, value } as const];
        return { writes, answer: undefined };
      },
    });
  }

  /** Returns the organisations in which a user may have a role. */
  async organisations(userId: string): Promise<readonly string[]> {
    const [stored] = await this.#options.store.read(userPartition(userId), [
      { type: "record", key: organisationsKey },
    ]);
    return stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
  }

  /** Lists the live tokens of a user, oldest first. */
  async tokens(userId: string): Promise<readonly TokenInfo[]> {
    const [stored] = await this.#options.store.read(userPartition(userId), [
      { type: "record", key: tokensKey },
    ]);
    const tokens = stored === null ? [] : (JSON.parse(stored.value) as TokenInfo[]);
    return tokens.filter(({ expires }) => expires * 1_000 > this.#options.clock());
  }

  /** Returns when tokens were used last, to the minute, in Unix seconds; null: never. */
  async lastUses(tokens: readonly TokenInfo[]): Promise<readonly (number | null)[]> {
    return await mapConcurrent(tokens, readsAtOnce, async ({ id }) => {
      const [used] = await this.#options.store.read(tokenPartition(id), [{ type: "record", key: useKey }]);
      return used === null ? null : Number(used.value);
    });
  }

  async revokeToken(userId: string, id: string): Promise<boolean> {
    if (!(await this.tokens(userId)).some(token => token.id === id)) return false;
    await this.#options.store.commit(tokenPartition(id), {
      writes: [tokenKey, useKey].map(key => ({ type: "delete", shape: "record", key })),
    });
    this.#verified.delete(id);
    await this.#changeTokens(userId, tokens => tokens.filter(token => token.id !== id));
    return true;
  }

  async #enlist(info: TokenInfo): Promise<void> {
    if (info.isLogin === true) await this.#endOldestLogin(info.userId);
    await this.#changeTokens(info.userId, tokens => {
      const live = tokens.filter(({ expires }) => expires > info.created);
      if (live.length < tokensPerUserMax) return [...live, info];
      throw new AppError(
        "conflict",
        `Cannot create a token as the user has ${tokensPerUserMax}: revoke one first`,
      );
    });
  }

  /** Makes room for the token of another login. */
  async #endOldestLogin(userId: string): Promise<void> {
    const live = await this.tokens(userId);
    const oldest = live.find(({ isLogin }) => isLogin === true);
    if (live.length >= tokensPerUserMax && oldest !== undefined) await this.revokeToken(userId, oldest.id);
  }

  async #changeTokens(
    userId: string,
    change: (tokens: readonly TokenInfo[]) => readonly TokenInfo[],
  ): Promise<void> {
    await decide(this.#options.store, userPartition(userId), {
      reads: [{ type: "record", key: tokensKey }],
      apply: ([stored]) => {
        const tokens = change(stored === null ? [] : (JSON.parse(stored.value) as TokenInfo[]));
        return {
          writes: [{ type: "put", key: tokensKey, value: JSON.stringify(tokens) }],
          answer: undefined,
        };
      },
    });
  }

  async #load(id: string): Promise<CachedAuthor | null> {
    const owner = this.#owners.get(id);
    const [[stored, used], known] = await Promise.all([
      this.#options.store.read(tokenPartition(id), tokenReads),
      owner === undefined ? null : this.user(owner),
    ]);
    if (stored === null) return null;
    const { tag, ...token } = JSON.parse(stored.value) as StoredToken;
    const checks = [
      { key: tokenKey, version: stored.version },
      { key: useKey, version: used?.version ?? null },
    ];
    const [user, isLive] = await Promise.all([
      known ?? this.user(token.userId),
      this.#isLive(token.parentId),
    ]);
    this.#owners.set(id, token.userId);
    return user === null || !isLive ? null : { user, token, tag, used: Number(used?.value ?? 0), checks };
  }

  /** Tests if there is a token, where a token depends on another one. */
  async #isLive(id: string | undefined): Promise<boolean> {
    if (id === undefined) return true;
    const [stored] = await this.#options.store.read(tokenPartition(id), [{ type: "record", key: tokenKey }]);
    return stored !== null;
  }

  #check(author: CachedAuthor | null, id: string, secret: string): Author {
    if (author === null) throw unknownToken();
    if (author.verified === undefined || !constantTimeEqual(author.verified, secret)) {
      if (!isKeyedTag(author.tag, this.#peppers, [id, secret])) throw unknownToken();
      author.verified = secret;
    }
    if (author.token.expires * 1_000 <= this.#options.clock()) {
      throw new AppError("token_expired", "The access token has expired: create another one");
    }
    return author;
  }

  #tagOf(id: string, secret: string): string {
    return keyedTag(this.#peppers[0], [id, secret]);
  }

  /** Returns the partitions that may name the author of an address, the newest first. */
  #emailPartitions(email: string): readonly [string, ...string[]] {
    const [newest, ...older] = this.#emailKeys;
    const partitionOf = (key: Uint8Array) =>
      platformPartition("author_email", keyedTag(key, [normaliseEmail(email.trim())]));
    return [partitionOf(newest), ...older.map(partitionOf)];
  }
}

function userPartition(userId: string): string {
  return platformPartition("author", userId);
}

function tokenPartition(id: string): string {
  return platformPartition("access_token", id);
}

function unknownToken(): AppError {
  return new AppError("invalid_token", "The access token is not valid: log in, or create another one");
}

/** A person who authors. */
export interface AuthorUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly systemRole: "user" | "operator";
  /** Unix seconds. */
  readonly created: number;
}

/** A place where a token works, with everything below. */
export type TokenScope = Home;

/** A token without its secret. Times are Unix seconds. */
export interface TokenInfo {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  /** The beginning of its text. */
  readonly prefix: string;
  /** The most that it may do; null: whatever its owner may. */
  readonly roleCap: Role | null;
  /** Where it works; null: everywhere. */
  readonly scopes: readonly TokenScope[] | null;
  readonly created: number;
  readonly expires: number;
  /** True for the token of a login, of which the oldest ends where a user has too many tokens. */
  readonly isLogin?: boolean;
  /** Id of the token that the token of a dialogue was made with, and ends with. @default none: it is the token of a person */
  readonly parentId?: string | undefined;
  /** The one event that the token of a dialogue reaches, in the project of its scope. @default all of the scope */
  readonly eventId?: string | undefined;
  /** Address of the backend that the token of a dialogue is for. @default any */
  readonly audience?: string | undefined;
}

interface NewToken {
  readonly userId: string;
  readonly name: string;
  readonly roleCap?: Role | null;
  readonly scopes?: readonly TokenScope[] | null;
  /** Unix seconds. @default a year from now */
  readonly expires?: number | null;
  readonly isLogin?: boolean;
  /** Id of the token that makes one for a dialogue, which no list has. */
  readonly parentId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly audience?: string | undefined;
}

/** The caller of a request: a person by one of their tokens. */
export interface Author {
  readonly user: AuthorUser;
  readonly token: TokenInfo;
}

/** Returns where a token works, as the API shows it; null: everywhere. */
export function scopesOf({ scopes, eventId }: TokenInfo) {
  if (eventId !== undefined) return [{ type: "events", id: eventId }];
  return scopes?.map(({ kind, id }) => ({ type: `${kind}s`, id })) ?? null;
}

/** The kinds of tokens: those of persons, and those that backends of workflows get for one dialogue. */
export type TokenKind = "access" | "dialogue";

export function kindOf({ parentId }: TokenInfo): TokenKind {
  return parentId === undefined ? "access" : "dialogue";
}

/**
 * Refuses the tokens of dialogues, for what would outlive them or lead out of them.
 *
 * @throws {AppError} `forbidden`
 */
export function requirePerson({ token }: Author, act: string): void {
  if (kindOf(token) === "access") return;
  throw new AppError(
    "forbidden",
    `Cannot ${act} with the token of a dialogue: it works for one dialogue only`,
  );
}

const schemes = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description: "Access token of an authoring user (`gst_…`).",
  },
};

export function authorGuard(authors: Authors): Guard<Author> {
  return {
    security: [{ schemes }],
    authenticate({ request }) {
      return authors.verify(bearerToken(request.headers.get("authorization")));
    },
  };
}
