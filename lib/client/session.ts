/**
 * The session of a fan: who signed in on this device, and the tokens that prove it.
 *
 * Tokens are renewed before they expire, and after a 401; by one request, however many calls wait for it. Their lifetime counts from
 * their arrival, so that a wrong clock does not matter. Only a refusal of the renewal ends the session: no lost connection, overloaded
 * server or page of a proxy does.
 */

import type { BodyOf } from "./area.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";
import type { CredentialKinds, Credentials } from "./credentials.ts";
import { type ClientEnvironment, environmentOf } from "./environment.ts";
import { GrandstandError } from "./errors.ts";
import { type IdentityOperations, identity, type Login, type Registration } from "./identity.ts";
import {
  type DeviceState,
  type FanUser,
  type HeldToken,
  isDeviceState,
  isEnding,
  isSimple,
  noToken,
  type SessionProof,
  type SignedIn,
  type SignInAnswer,
  signedIn,
  timed,
  userOf,
} from "./session_state.ts";
import { openStorage, type SessionStorage, StoredValue } from "./storage.ts";

type ProofMember = "externalId" | "deviceId" | "timeStamp" | "signature";
type Entry<R> = R extends { readonly provider: infer P; readonly data: infer D }
  ? { readonly provider: P } & Omit<D, ProofMember> & Partial<Pick<SessionProof, ProofMember>>
  : never;

/** Input of a registration: the provider and its data. The session adds project, device, and an anonymous user's proof. */
export type NewFan = Entry<Registration>;
/** Input of a login: the provider and its data, as for a registration. */
export type FanLogin = Entry<Login>;

/** Options of a session. */
export interface SessionOptions extends Omit<ClientOptions<Record<string, never>>, "areas" | "credentials"> {
  readonly projectId: string;
  /** Space of the tokens. @default that of the project */
  readonly spaceId?: string;
  /** Keeps the session: `() => localStorage`, which may throw, as in sandboxed frames; the session is in memory then. @default memory */
  readonly storage?: SessionStorage | (() => SessionStorage);
  /** Called when a renewal was refused, so that the fan has to sign in again. */
  readonly onEnd?: (reason: GrandstandError, user: FanUser) => void;
  /** Called when a fan signed in (the user) or out (null), here or in another tab with the same `localStorage`. */
  readonly onChange?: ChangeListener;
}

type ChangeListener = (user: FanUser | null) => void;

type TokenKind = "user" | "space";

/** Keeps the session of a fan, and gives calls its tokens. */
export class FanSession implements Credentials {
  /** The project whose fans sign in. */
  readonly projectId: string;
  readonly #options: SessionOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #stored: StoredValue<DeviceState>;
  readonly #identity: Client<{ identity: typeof identity }>["identity"];
  readonly #environment: ClientEnvironment;
  /** Names the session in the storage. */
  readonly #key: string;
  #logOuts = 0;
  readonly #renewals = new Map<TokenKind, Promise<void>>();
  #loading: Promise<void> | null = null;
  #state: DeviceState;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { projectId, onChange } = options;
    this.projectId = projectId;
    if (onChange !== undefined) this.#listeners.add(onChange);
    const storage = openStorage(options.storage);
    this.#key = `grandstand:${projectId}`;
    this.#environment = environmentOf(options);
    this.#state = { deviceId: this.#environment.uniqueId(), session: null };
    this.#stored = new StoredValue(storage, this.#key, isDeviceState);
    this.#identity = createClient({ ...options, areas: { identity } }).identity;
    onOtherTab(storage, this.#key, () => void this.#followTab());
  }

  /** Returns the signed-in user; null if there is none. */
  async user(): Promise<FanUser | null> {
    const session = await this.#session();
    return session === null ? null : userOf(session);
  }

  /** Calls a listener as `onChange` of the options is called. Returns a function that ends this. */
  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the id of this device, for `checkUser` and `checkSocialUser`. */
  async deviceId(): Promise<string> {
    await this.#session();
    return this.#state.deviceId;
  }

  /**
   * Registers a user. Users without passwords are signed in then; others log in, after proving their address where the project asks
   * for it. What an anonymous user has earned goes over to the account.
   *
   * @returns The user; null if a login has to follow.
   * @throws {GrandstandError} Also `aborted`, as {@linkcode FanSession.logIn}.
   */
  async register({ provider, ...data }: NewFan): Promise<FanUser | null> {
    const body = await this.#entry(provider, data, provider === "anonymous");
    const answer = this.#identity.registerUser({ body: body as Registration });
    if (isSimple(provider)) return await this.#enter(provider, answer);
    await answer;
    return null;
  }

  /**
   * Logs a user in, and merges an anonymous user of the session into the account.
   *
   * @throws {GrandstandError} Also `aborted`: the fan logged out before the answer arrived, whose session is ended.
   */
  async logIn({ provider, ...data }: FanLogin): Promise<FanUser> {
    const body = await this.#entry(provider, data, provider !== "noLogin");
    return await this.#enter(provider, this.#identity.logInUser({ body: body as Login }));
  }

  /**
   * Begins a session with the answer to a sign-in, such as that of `checkUser` or `checkSocialUser` for a `deviceId`.
   *
   * @throws {GrandstandError} `bad_answer`: it signs nobody in.
   */
  async adopt(provider: string, answer: SignInAnswer): Promise<FanUser> {
    await this.#session();
    const session = signedIn(provider, answer, { now: this.#environment.clock() });
    await this.#keep(session);
    return userOf(session);
  }

  /** Ends the session: on this device at once, then on the server. @throws {GrandstandError} The server could not be reached. */
  async logOut(scope: "local" | "others" | "global" = "local"): Promise<void> {
    const session = await this.#session();
    if (scope !== "others") {
      this.#logOuts++;
      await this.#keep(null);
    }
    if (session !== null) await this.#endOnServer(session, scope);
  }

  /** Returns the token of a call, renewed where its end is near. @throws {GrandstandError} It could not be renewed. */
  async headers(kinds: CredentialKinds): Promise<Readonly<Record<string, string>>> {
    const kind = kindOf(kinds);
    const session = await this.#session();
    if (kind === null || session === null || !canHave(session, kind)) return {};
    const held = session[kind];
    const now = this.#environment.clock();
    if (held === undefined || now >= held.renewAt) {
      await this.#renew(kind, held).catch(error => {
        // A token that is still valid serves while the platform cannot be reached.
        if (held === undefined || now >= held.expiresAt || isEnding(error)) throw error;
      });
    }
    const token = this.#state.session?.[kind];
    return token === undefined ? {} : bearer(token);
  }

  /** Replaces a token that the server no longer takes. @throws {GrandstandError} It could not be renewed. */
  async renew(kinds: CredentialKinds, refused: Readonly<Record<string, string>>): Promise<boolean> {
    const kind = kindOf(kinds);
    const session = await this.#session();
    if (kind === null || session === null || !canHave(session, kind)) return false;
    const held = session[kind];
    const isReplaced = held !== undefined && bearer(held).authorization !== refused.authorization;
    if (!isReplaced) await this.#renew(kind, held);
    return true;
  }

  /** One renewal serves all who ask for it meanwhile. */
  #renew(kind: TokenKind, stale: HeldToken | undefined): Promise<void> {
    const running = this.#renewals.get(kind);
    if (running !== undefined) return running;
    // Tabs that share a storage share the device; servers with many fans have one for each.
    const name = `${this.#key}:${this.#state.deviceId}:${kind}`;
    const renewal = withLock(name, () => this.#renewOnce(kind, stale)).finally(() =>
      this.#renewals.delete(kind),
    );
    this.#renewals.set(kind, renewal);
    return renewal;
  }

  async #renewOnce(kind: TokenKind, stale: HeldToken | undefined): Promise<void> {
    this.#take((await this.#stored.read()) ?? this.#state);
    const { session } = this.#state;
    // Another tab has renewed it, or the fan has logged out there.
    if (session === null || session[kind]?.token !== stale?.token) return;
    try {
      if (kind === "user") await this.#refresh(session);
      else await this.#exchange(session);
    } catch (error) {
      if (isEnding(error) && this.#state.session?.userId === session.userId) await this.#end(error);
      throw error;
    }
  }

  async #refresh(session: SignedIn): Promise<void> {
    const { provider, refreshToken = "", user } = session;
    const body = {
      ...this.#selector(provider),
      deviceId: this.#state.deviceId,
      refreshToken,
    } as BodyOf<IdentityOperations["refreshUser"]>;
    const headers = user === undefined ? {} : bearer(user);
    const now = this.#environment.clock();
    const answer = await this.#identity.refreshUser({ body }, { headers });
    await this.#keepRenewed(session, current => signedIn(provider, answer, { now, previous: current }));
  }

  /** Gets a space token for the proof of the session, and where that is no longer taken, for a new one. */
  async #exchange(session: SignedIn): Promise<void> {
    try {
      await this.#exchangeProof(session);
    } catch (error) {
      const isStale = error instanceof GrandstandError && error.code === "token_expired";
      const isOver = this.#state.session === null;
      if (isOver || !(isStale || isEnding(error))) throw error;
      if (session.record === undefined) await this.#renew("user", session.user);
      else await this.#proveAgain(session, session.record);
      await this.#exchangeProof(this.#state.session ?? session);
    }
  }

  async #exchangeProof(session: SignedIn): Promise<void> {
    const { record } = session;
    const { projectId, spaceId } = this.#options;
    const token = (await this.headers("u")).authorization?.slice("Bearer ".length) ?? "";
    const before = record === undefined ? this.#state.session : session;
    const askedAt = this.#environment.clock();
    const answer = await this.#identity.issueSpaceToken({
      ...(spaceId === undefined ? {} : { space_id: spaceId }),
      body:
        record === undefined ? { type: "accessToken", token } : { type: "sessionRecord", projectId, record },
    });
    if (typeof answer?.accessToken !== "string") throw noToken();
    const space = timed(answer.accessToken, askedAt, answer.expiresIn * 1_000);
    await this.#keepRenewed(before, current => ({ ...current, space }));
  }

  /** A user without a password gets a new record for the last one. */
  async #proveAgain(session: SignedIn, { externalId, timeStamp, signature }: SessionProof): Promise<void> {
    const { provider } = session;
    const body = await this.#entry(provider, { externalId, timeStamp, signature }, provider !== "noLogin");
    const answer = await this.#identity.logInUser({ body: body as Login }).catch(error => {
      const isUnknown = error instanceof GrandstandError && error.code === "not_found";
      throw isUnknown
        ? new GrandstandError("invalid_credentials", error.message, { ...error, cause: error })
        : error;
    });
    const now = this.#environment.clock();
    await this.#keepRenewed(session, () => signedIn(provider, answer, { now }));
  }

  /** Begins a session with an answer that is under way. */
  async #enter(provider: string, answer: Promise<SignInAnswer>): Promise<FanUser> {
    const logOuts = this.#logOuts;
    const found = await answer;
    if (logOuts === this.#logOuts) return await this.adopt(provider, found);
    await this.#endOnServer(signedIn(provider, found, { now: this.#environment.clock() }), "local");
    throw new GrandstandError("aborted", "The fan has logged out while the login was under way");
  }

  async #endOnServer({ provider, user }: SignedIn, scope: string): Promise<void> {
    if (user === undefined) return;
    const body = { ...this.#selector(provider), scope } as BodyOf<IdentityOperations["logOutUser"]>;
    await this.#identity.logOutUser({ body }, { headers: bearer(user) });
  }

  /** Builds the body of a registration or login. */
  async #entry(provider: string, given: object, hasDevice: boolean): Promise<object> {
    const session = await this.#session();
    const { deviceId } = this.#state;
    const isUpgrade =
      (provider === "managedPool" || provider === "hostedIdp") && session?.provider === "anonymous";
    const { externalId, timeStamp, signature } = session?.record ?? {};
    const data = {
      ...(hasDevice || isUpgrade ? { deviceId } : {}),
      ...(isUpgrade ? { externalId, timeStamp, signature } : {}),
      ...given,
    };
    return { ...this.#selector(provider), data };
  }

  #selector(provider: string) {
    const strategy = isSimple(provider) ? "simplified" : "email";
    return { projectId: this.projectId, strategy, provider };
  }

  async #session(): Promise<SignedIn | null> {
    this.#loading ??= this.#stored.read().then(stored => {
      this.#state = stored ?? this.#state;
    });
    await this.#loading;
    return this.#state.session;
  }

  /** Keeps what a renewal brought, unless the fan has logged out meanwhile, or another one in. */
  async #keepRenewed(before: SignedIn | null, renewed: (current: SignedIn) => SignedIn): Promise<void> {
    const { session } = this.#state;
    if (session === null || session.userId !== before?.userId) return;
    if (session.refreshToken === before.refreshToken) await this.#keep(renewed(session));
  }

  /** Takes up what another tab has done to the session. */
  async #followTab(): Promise<void> {
    await this.#session();
    const before = this.#state;
    const state = (await this.#stored.read()) ?? { ...before, session: null };
    // What this tab has done meanwhile is newer.
    if (this.#state === before) this.#take(state);
  }

  async #keep(session: SignedIn | null): Promise<void> {
    const state = { ...this.#state, session };
    const written = this.#stored.write(state);
    this.#take(state);
    await written;
  }

  #take(state: DeviceState): void {
    const before = this.#state.session;
    this.#state = state;
    const { session } = state;
    const isSame = session?.userId === before?.userId && session?.provider === before?.provider;
    if (isSame) return;
    for (const listener of this.#listeners) listener(session && userOf(session));
  }

  async #end(reason: GrandstandError): Promise<void> {
    const { session } = this.#state;
    if (session === null) return;
    await this.#keep(null);
    this.#options.onEnd?.(reason, userOf(session));
  }
}

function kindOf(kinds: CredentialKinds): TokenKind | null {
  return kinds.includes("s") ? "space" : kinds.includes("u") ? "user" : null;
}

/** Users without passwords have no user tokens. */
function canHave({ record }: SignedIn, kind: TokenKind): boolean {
  return kind === "space" || record === undefined;
}

function bearer({ token }: HeldToken): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Lets one holder of the name at a time run, where the runtime has locks and gives them. */
async function withLock(name: string, run: () => Promise<void>): Promise<void> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  let isHeld = false;
  try {
    await locks?.request(name, () => {
      isHeld = true;
      return run();
    });
  } catch (error) {
    // Sandboxed frames are refused locks.
    if (isHeld) throw error;
  }
  if (!isHeld) await run();
}

/** Runs a task whenever another tab has written the value or cleared the storage. */
function onOtherTab(storage: object, key: string, task: () => void): void {
  // The browser sends the event to the other tabs alone.
  (globalThis as Partial<typeof globalThis>).window?.addEventListener?.("storage", event => {
    const isKey = event.key === null || event.key === key;
    if (isKey && event.storageArea === storage) task();
  });
}
